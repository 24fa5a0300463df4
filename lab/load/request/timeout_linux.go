package request

import (
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/tally"
)

// timedOut records that a request, or n of a batch, will not be answered in time: its age is a
// latency, a lower bound. One that is lost with the connection of another one that timed out counts
// as no younger than the timeout, as its user would have waited as long.
func (l *loop) timedOut(x *exchange, targets []*scenario.Target, n int, now int64) {
	if len(targets) > 0 && targets[0].Setup() {
		return
	}
	since := x.sent
	if l.open != nil {
		since = x.arrival.Intended
	}
	age := max(now-since, int64(l.spec.Timeout))
	switch {
	case l.open != nil:
		l.open.TimeOut(&x.arrival, age)
	case l.draining: // the end of the window counts the requests in flight
		return
	default:
		l.rec.TimedOut += uint64(n)
		l.rec.Latency(age, n)
		if l.ramp != nil {
			l.ramp.timedOut(age, n)
		}
	}
	if l.play == nil || l.play.constant != nil {
		return
	}
	for _, t := range targets {
		if l.counted(x, t) {
			tally.Record(l.play.counts[t.Index()].hist, age, 1)
		}
	}
}

// timedOutBatch is timedOut for what is outstanding on a connection of HTTP/1.1.
func (l *loop) timedOutBatch(c *conn, now int64) {
	n := c.asked - c.done
	var targets []*scenario.Target
	if c.turn != nil {
		targets = c.turn.targets[c.done:]
	}
	if n > 0 {
		l.timedOut(&c.exchange, targets, n, now)
	}
}

// timedOut is loop.timedOut for a requester of HTTP/2.
func (m *mux) timedOut(s *requester, now int64) {
	var targets []*scenario.Target
	if s.target != nil {
		targets = []*scenario.Target{s.target}
	}
	m.loop.timedOut(&s.exchange, targets, 1, now)
}

// allTimedOut is timedOut for all that is under way on a connection.
func (m *mux) allTimedOut(now int64) {
	for i := range m.requesters {
		if s := &m.requesters[i]; s.slot >= 0 {
			m.timedOut(s, now)
		}
	}
}

// timedOut counts requests without an answer for the present span.
func (w *rampState) timedOut(age int64, n int) {
	if len(w.ends) > 0 {
		tally.Record(w.spans[w.at].times, age, n)
	}
}
