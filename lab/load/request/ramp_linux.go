package request

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// rampState holds which connections of a closed loop are active while their number changes:
// the first ones. The others end, each after its last answer, and return in their order.
type rampState struct {
	plan   *arrive.Ramp
	origin int64  // time when the ramp begins; 0: it has not
	want   int    // active connections
	away   []bool // inactive connections, which have no socket

	ends  []int64 // of the spans; empty before the window and after it
	spans []rampSpan
	at    int    // the present span
	mark  uint64 // failures when it began
}

// rampSpan counts the answers in a part of the ramp.
type rampSpan struct {
	requests, errors uint64
	times            *hdrhistogram.Histogram
}

func newRampState(order *spec.Spec) *rampState {
	w := &rampState{plan: order.Ramp, want: order.Ramp.At(0), away: make([]bool, order.Connections)}
	for i := w.want; i < len(w.away); i++ {
		w.away[i] = true
	}
	return w
}

// begin begins the ramp, and the window.
func (w *rampState) begin(begin, end int64, failures uint64) {
	w.origin, w.mark = begin, failures
	for _, s := range w.plan.Spans(time.Duration(end - begin)) {
		w.ends = append(w.ends, begin+int64(s.To))
		w.spans = append(w.spans, rampSpan{times: hdrhistogram.New(1, tally.MaxLatency, 2)})
	}
}

// advance closes the spans that are over.
func (w *rampState) advance(now int64, failures uint64) {
	for w.at < len(w.ends)-1 && now >= w.ends[w.at] {
		w.spans[w.at].errors, w.mark = failures-w.mark, failures
		w.at++
	}
}

// rightInRamp counts n right answers for the present span.
func (l *loop) rightInRamp(now, latency int64, n int) {
	w := l.ramp
	if len(w.ends) == 0 {
		return
	}
	if now >= w.ends[w.at] {
		w.advance(now, l.rec.Failures())
	}
	w.spans[w.at].requests += uint64(n)
	tally.Record(w.spans[w.at].times, latency, n)
}

// result ends the window and returns the counts.
func (w *rampState) result(failures uint64) (list []spec.RampStep, err error) {
	w.spans[w.at].errors = failures - w.mark
	w.ends = nil
	for i := range w.spans {
		s := &w.spans[i]
		step := spec.RampStep{Requests: s.requests, Errors: s.errors}
		if step.Histogram, err = tally.Encode(s.times); err != nil {
			return nil, err
		}
		list = append(list, step)
	}
	return list, nil
}

// taking returns how many connections are to be active now.
func (l *loop) taking() int {
	if l.ramp == nil {
		return min(l.made, l.spec.Connections)
	}
	return l.ramp.want
}

// leaves reports whether a connection is to end after its last answer.
func (l *loop) leaves(c *conn) bool { return l.ramp != nil && l.index(c) >= l.ramp.want }

// adjust activates connections, and ends surplus ones that wait for no answer: their users
// think, or the connections are not established yet. The others end in next.
func (l *loop) adjust(now int64) {
	w := l.ramp
	if l.draining {
		return
	}
	before := w.want
	if w.origin != 0 {
		w.want = w.plan.At(time.Duration(now - w.origin))
		w.advance(now, l.rec.Failures())
	}
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case i >= w.want && !w.away[i] && c.phase != waiting && !c.waits():
			l.retire(c)
		case i < w.want && w.away[i]:
			w.away[i] = false
			l.retry = append(l.retry, later{c: c, due: now})
		case i >= before && i < w.want && c.mux != nil && c.phase == open: // it had begun to end
			c.mux.pump(now)
			l.flushFrames(c)
		}
	}
}

// retire ends a connection that waits for no answer, without replacement.
func (l *loop) retire(c *conn) {
	l.depart(c)
	l.drop(c, 0)
	l.retry = l.retry[:len(l.retry)-1] // appended by drop
}

// depart marks a connection without a request under way as inactive, until adjust
// activates it.
func (l *loop) depart(c *conn) {
	l.ramp.away[l.index(c)] = true
	switch {
	case l.play == nil:
	case c.mux == nil:
		l.quit(c.turn)
	default:
		for i := range c.mux.requesters {
			l.quit(c.mux.requesters[i].turn)
		}
	}
}

// quit aborts a user's iteration. It begins another one when it returns.
func (l *loop) quit(t *turn) {
	if f := t.user.Within(); f >= 0 {
		l.play.flows[f].aborted++
		t.user.Abort()
	}
	t.within = false
}

// missing reports whether a place that waits for a socket is inactive, and marks it so.
func (l *loop) missing(c *conn) bool {
	if !l.leaves(c) || c.owes() {
		return false
	}
	l.depart(c)
	return true
}
