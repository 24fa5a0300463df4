package request

import (
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// crew says which connections of a closed loop take part while their number changes: the
// first ones. The others leave, each after its last answer, and come back in their order.
type crew struct {
	ramp   *arrive.Ramp
	origin int64  // time when the ramp begins; 0: it has not
	want   int    // connections that take part
	away   []bool // connections that do not, and have no socket
}

func newCrew(order *spec.Spec) *crew {
	w := &crew{ramp: order.Ramp, want: order.Ramp.At(0), away: make([]bool, order.Connections)}
	for i := w.want; i < len(w.away); i++ {
		w.away[i] = true
	}
	return w
}

// taking is how many connections are to take part now.
func (l *loop) taking() int {
	if l.crew == nil {
		return l.spec.Connections
	}
	return l.crew.want
}

// leaves reports whether a connection is to end after its last answer.
func (l *loop) leaves(c *conn) bool { return l.crew != nil && l.index(c) >= l.crew.want }

// muster calls connections in, and sends those away that wait for nothing: their users
// think, or the connections are not established yet. The others end in next.
func (l *loop) muster(now int64) {
	w := l.crew
	if l.draining {
		return
	}
	before := w.want
	if w.origin != 0 {
		w.want = w.ramp.At(time.Duration(now - w.origin))
	}
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case i >= w.want && !w.away[i] && c.phase != waiting && !c.waits():
			l.retire(c)
		case i < w.want && w.away[i]:
			w.away[i] = false
			l.retry = append(l.retry, later{c: c, due: now})
		case i >= before && i < w.want && c.mux != nil && c.phase == open: // it had begun to leave
			c.mux.pump(now)
			l.flushFrames(c)
		}
	}
}

// retire ends a connection that waits for nothing, and is not to be replaced.
func (l *loop) retire(c *conn) {
	l.depart(c)
	l.drop(c, 0)
	l.retry = l.retry[:len(l.retry)-1] // where drop has put it
}

// depart takes note that a connection, which has no request under way, does not come back
// before it is called.
func (l *loop) depart(c *conn) {
	l.crew.away[l.index(c)] = true
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

// quit lets a user stop where it is. It begins another iteration when it comes back.
func (l *loop) quit(t *turn) {
	if f := t.user.Within(); f >= 0 {
		l.play.flows[f].aborted++
		t.user.Abort()
	}
	t.within = false
}

// missing reports whether a place that waits for a socket is to have none, and takes note
// of it.
func (l *loop) missing(c *conn) bool {
	if !l.leaves(c) {
		return false
	}
	l.depart(c)
	return true
}
