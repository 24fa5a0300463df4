//go:build twin

package main

import "sync/atomic"

// Totals are counters that all requests share.
type Totals struct {
	sums [pages]struct{ visits, millis atomic.Int64 }
}

func newTotals() *Totals { return &Totals{} }

// Add counts a visit.
func (t *Totals) Add(v visit) {
	if v.millis > maxMilli {
		return
	}
	t.sums[v.page].visits.Add(1)
	t.sums[v.page].millis.Add(int64(v.millis))
}

// Of returns the total of a page.
func (t *Totals) Of(page int) total {
	return total{t.sums[page].visits.Load(), t.sums[page].millis.Load()}
}
