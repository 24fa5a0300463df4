//go:build twin

package main

// collector owns the sums. Others reach it through channels.
type collector struct {
	samples   chan []Sample
	questions chan question
}

type question struct {
	name   string
	answer chan int64
}

func newCollector() *collector {
	return &collector{samples: make(chan []Sample, 64), questions: make(chan question)}
}

func (c *collector) run() {
	sums := Sums{}
	for {
		select {
		case list := <-c.samples:
			for _, s := range list {
				sums[s.Name] += s.Value
			}
		case q := <-c.questions:
			q.answer <- sums[q.name]
		}
	}
}

// batch is what one request adds.
type batch struct {
	c    *collector
	list []Sample
}

func (c *collector) begin() *batch { return &batch{c: c, list: make([]Sample, 0, 256)} }

func (b *batch) add(s Sample) { b.list = append(b.list, s) }

func (b *batch) done() { b.c.samples <- b.list }

func (c *collector) sum(name string) int64 {
	q := question{name, make(chan int64)}
	c.questions <- q
	return <-q.answer
}
