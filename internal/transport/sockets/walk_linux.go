package sockets

import (
	"slices"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// A job is a function that the loop runs for code outside of any connection. It belongs to
// the leader, except for the functions.
type job struct {
	next func() (transport.Turned, bool) // of Walk
	over bool                            // next has said that there are no more
	f    func()                          // of Later
	at   int64                           // when it is due, on the clock's scale
	nth  uint64                          // in its agenda
	hand *lead.Hand                      // runs its function
}

// turned is the input of a turn: there is none, and not as in the calls after which a session
// is told Drained in any case.
var turned = []byte{}

var (
	_ transport.Loop   = (*Loop)(nil)
	_ transport.Looped = (*Conn)(nil)
	_ transport.Acked  = (*Conn)(nil)
)

// Turn implements [transport.Looped].
func (c *Conn) Turn() bool {
	return c.closed.Load() == open && c.loop.put(message{kind: turn, c: c})
}

// Loop implements [transport.Looped].
func (c *Conn) Loop() transport.Loop { return c.loop }

// At implements [transport.Looped].
func (c *Conn) At() transport.Turned { return c }

// Walk implements [transport.Loop].
func (l *Loop) Walk(next func() (transport.Turned, bool)) bool {
	return l.put(message{kind: walkAll, job: &job{next: next}})
}

// Later implements [transport.Loop].
func (l *Loop) Later(d time.Duration, f func()) bool {
	return l.put(message{kind: runLater, job: &job{f: f, at: clock.Refresh() + int64(max(d, 0))}})
}

// turn runs the session's Turn, now or when its Feed has returned.
func (l *Loop) turn(h *lead.Hand, c *Conn) bool {
	if c.closed.Load() != open {
		return true
	}
	if c.flags&busy != 0 {
		l.turnLater(c)
		return true
	}
	s, ok := c.session.(transport.Turner)
	if !ok {
		return true
	}
	l.begin(h, c)
	err := s.Turn(&h.Out)
	if err == nil && c.own&^paused == 0 && c.more() == nil {
		// The usual case, as in feed.
		if l.batcher == nil {
			if l.sendWhole(h, c) {
				return l.returned(h, c, nil)
			}
		} else if l.sendBatched(h, c) {
			return l.settle(h, c, nil)
		}
	}
	return l.end(h, c, turned, 0, err)
}

// turnLater stores one turn until the connection is no longer busy.
func (l *Loop) turnLater(c *Conn) {
	if c.came() && slices.ContainsFunc(c.meanwhile.came, func(m message) bool { return m.kind == turn }) {
		return
	}
	c.later(message{kind: turn, c: c})
	l.recall(c)
}

// walk takes turns for the first of the walks until it is time for other events. It reports
// whether the hand still leads.
//
// next is foreign code, as Turn is. While a hand that has been deposed runs it, or a function of
// Later, nobody else continues the walk.
func (l *Loop) walk(h *lead.Hand) bool {
	for n := 1; l.walking(); n++ {
		w := l.walks[0]
		l.begins(h, w)
		at, more := w.next()
		c, here := at.(*Conn)
		if here = here && c.loop == l; !here && at != nil {
			at.Turn() // false: it is gone
		}
		if !h.End() {
			if here {
				c.Turn()
			}
			w.over = !more
			l.put(message{kind: jobReturned, job: w})
			return false
		}
		l.running = nil
		if !more {
			l.endWalk()
		}
		if here && !l.turn(h, c) {
			return false
		}
		if l.spent(n) {
			return true
		}
	}
	return true
}

// begins notes that a hand runs the function of a job. Until running is nil again, no other function
// is called: if the hand loses the lead, it says by jobReturned that it has returned.
func (l *Loop) begins(h *lead.Hand, j *job) {
	l.running, j.hand = j, h
	l.enter(h)
}

// jobReturned lets the other functions go on, and ends a walk that is over.
func (l *Loop) jobReturned(j *job) {
	if l.running = nil; j.over {
		l.endWalk()
	}
}

// endWalk ends the first walk.
func (l *Loop) endWalk() {
	l.walks[0] = nil
	if l.walks = l.walks[1:]; len(l.walks) == 0 {
		l.walks = nil
	}
}

// walking reports whether there are turns of walks to be taken.
func (l *Loop) walking() bool { return len(l.walks) > 0 && l.running == nil && !l.quitting }

// nextJob is the function that is due next, nil if there is none, or none can be called yet.
func (l *Loop) nextJob() *job {
	if l.running != nil {
		return nil
	}
	return l.jobs.first()
}

// runJobs runs the functions that are due, as many as there is time for. It reports whether the
// hand still leads.
func (l *Loop) runJobs(h *lead.Hand) bool {
	ran := 0
	for j := l.nextJob(); j != nil && j.at <= l.now; j = l.nextJob() {
		if ran > 0 && l.spent(ran) {
			l.left = true
			return true
		}
		ran++
		l.jobs.take()
		l.begins(h, j)
		j.f()
		if !h.End() {
			l.put(message{kind: jobReturned, job: j})
			return false
		}
		l.running = nil
	}
	return true
}

// wakeBy is when the loop has something to do without an event, 0 if never, or if it does not
// wait because the round has left something.
func (l *Loop) wakeBy() int64 {
	if l.left {
		return 0
	}
	by := l.wheel.Next()
	if j := l.nextJob(); j != nil && (by == 0 || j.at < by) {
		by = j.at
	}
	return by
}
