package sockets

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// A leaver is what a connection has in addition if its session is a [transport.Leaver].
//
// A Feed leaves its connection in one of two ways. In both, the connection returns to the
// loop by the message back, and the hand is marked as Left:
//
//	Leave    Feed's goroutine sends the output, keeps the rest of the input, gives up the
//	         loop if it leads it, and sends the message.
//	letGo    The goroutine that has taken over does the same for it, before anything else.
//
// mu makes a Feed that returns wait for a letGo that is asking its session: so the goroutine
// knows whether the connection is still its own. No lock of the session may be held then, but
// it may be held in Leave: so that does not lock mu.
type leaver struct {
	session transport.Leaver
	call    atomic.Uint64 // number of the last call that began on the loop
	in      []byte        // being fed; nil is the kept rest. It belongs to the feeder
	mu      sync.Mutex
}

// mark is called before a Feed begins.
func (l *Loop) mark(h *lead.Hand, c *Conn, in []byte) {
	l.fed, l.call = c, h.Call()
	if v := c.leaver(); v != nil {
		v.in = in
	}
}

// hasLeft reports, when Feed has returned, whether it has left the connection, which is then
// somebody else's.
func (c *Conn) hasLeft(h *lead.Hand) bool {
	v := c.leaver()
	if !h.Leading() {
		v.mu.Lock()
		left := h.Left.Swap(false)
		v.mu.Unlock()
		if left {
			c.loop.resting.Add(1)
			return true
		}
	}
	v.in = nil
	return false
}

// Leave implements [transport.Conn].
func (c *Conn) Leave(n int) {
	h, l := c.hand, c.loop
	if s, ok := h.Local.(*stay); ok {
		s.leave()
	}
	drained := c.part(h, h, n)
	h.Release()
	c.detach()
	l.publish(h)
	if drained {
		l.put(c.drained())
	}
	l.put(message{kind: back, c: c})
}

// inherit is called by a hand that begins to lead. If it has taken over from a Feed that has
// not returned, it asks the session whether that Feed leaves the connection, or lends its output.
func (l *Loop) inherit(h *lead.Hand) {
	c := l.fed
	if c == nil || l.call != h.Taken() {
		return
	}
	l.fed = nil
	if c.leaver() == nil || !l.letGo(h, c) {
		l.borrow(h, c)
	}
}

// borrow sends the output of a Feed that has not returned, if its session lends it.
func (l *Loop) borrow(h *lead.Hand, c *Conn) {
	s, ok := c.session.(transport.Lender)
	if !ok {
		return
	}
	old := c.hand // if nothing is lent, it may be doing something else by now
	s.Lend(func() {
		if left, _ := c.push(&old.Out, h); left > 0 { // the feeder gets an error again
			c.flags |= unsent
			l.arm(c)
		}
	})
}

// letGo asks the session of a leaver whether its Feed leaves the connection, and reports whether it
// has left.
func (l *Loop) letGo(h *lead.Hand, c *Conn) bool {
	v := c.leaver()
	v.mu.Lock()
	defer v.mu.Unlock()
	old := c.hand // if Left returns false, it may be doing something else by now
	n, ok := v.session.Left(&old.Out)
	if !ok {
		return false
	}
	if c.part(h, old, n) {
		c.later(c.drained())
	}
	old.Release()
	l.publish(old)
	l.batch = slices.Insert(l.batch, l.at, message{kind: back, c: c})
	return true
}

// part sends the output of a Feed that leaves, and keeps what it has not consumed. old is the
// hand of Feed, and h that of the caller. It reports whether the session has to be told
// Drained.
func (c *Conn) part(h, old *lead.Hand, n int) (drained bool) {
	old.Left.Store(true)
	c.loop.resting.Add(-1)
	if old.Out.Len() > 0 && c.own&broken == 0 {
		pending := c.Pending() > 0
		left, err := c.push(&old.Out, h)
		if err != nil {
			c.own |= broken
		}
		drained = pending && left == 0 && err == nil
	}
	old.Out.Release()
	in := c.leaver().in
	if c.leaver().in = nil; in == nil {
		in = c.rest()
	}
	if n < len(in) {
		c.own |= resumed
	}
	if n < len(in) || c.more() != nil {
		c.keep(in, n)
	}
	return drained
}
