package request

import (
	"slices"

	"github.com/redline-go/redline/lab/load/spec"
)

// ages sets the quantiles of a tick in which nothing was answered to those of the ages of the requests
// that wait: lower bounds of their latencies. Without any they remain 0.
func (l *loop) ages(t *spec.Tick, now int64) {
	var list []int64
	add := func(x *exchange) {
		since := x.sent
		if l.open != nil && x.arrival.Pending {
			since = x.arrival.Intended
		}
		list = append(list, now-since)
	}
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case c.phase != open:
		case c.mux != nil:
			for i := range c.mux.requesters {
				if s := &c.mux.requesters[i]; s.slot >= 0 {
					add(&s.exchange)
				}
			}
		case c.busy():
			add(&c.exchange)
		}
	}
	if l.open != nil {
		if oldest, ok := l.open.queue.Oldest(now); ok {
			list = append(list, now-oldest)
		}
	}
	if len(list) == 0 {
		return
	}
	slices.Sort(list)
	at := func(q float64) float64 { return float64(list[min(int(q*float64(len(list))), len(list)-1)]) / 1e3 }
	t.P50, t.P95, t.P99 = at(0.5), at(0.95), at(0.99)
}
