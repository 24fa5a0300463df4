//go:build !twin

package main

// Totals has two goroutines: one leaves out visits that are too long, and one owns the sums.
type Totals struct {
	raw, clean chan visit
	questions  chan question
}

type question struct {
	page   int
	answer chan total
}

func newTotals() *Totals {
	t := &Totals{make(chan visit), make(chan visit), make(chan question)}
	go t.filter()
	go t.count()
	return t
}

func (t *Totals) filter() {
	for v := range t.raw {
		if v.millis <= maxMilli {
			t.clean <- v
		}
	}
}

func (t *Totals) count() {
	var sums [pages]total
	for {
		select {
		case v := <-t.clean:
			sums[v.page].visits++
			sums[v.page].millis += int64(v.millis)
		case q := <-t.questions:
			q.answer <- sums[q.page]
		}
	}
}

// Add counts a visit.
func (t *Totals) Add(v visit) { t.raw <- v }

// Of returns the total of a page.
func (t *Totals) Of(page int) total {
	q := question{page, make(chan total)}
	t.questions <- q
	return <-q.answer
}
