package sockets

import (
	"io"
	"syscall"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// Wants is the set of events that the connection can use now.
func (c *Conn) Wants() (events uint32) {
	f := c.flags
	switch {
	case f&busy != 0:
		if f&waitRead != 0 {
			events |= In
		}
	case f&lingering != 0 && c.sated():
		return RdHup
	case f&lingering != 0:
		return In | RdHup
	case f&(ended|held|closing) == 0 && c.own&paused == 0:
		events |= In
	}
	if f&(unsent|waitWrite) != 0 {
		events |= Out
	}
	if f&lost == 0 && f&closing == 0 {
		events |= RdHup
	}
	return events
}

// arm makes sure that the driver reports what the connection wants.
func (l *Loop) arm(c *Conn) {
	if want := c.Wants(); want&^uint32(c.Watched) != 0 || c.Watched == 0 {
		l.driver.Watch(c, want)
	}
}

// disarm makes sure that an unwanted event is not reported again.
func (l *Loop) disarm(c *Conn) {
	if want := c.Wants(); want != uint32(c.Watched)&^(Hup|Err) {
		l.driver.Watch(c, want)
	}
}

// rare handles all events but input of a connection in its usual state.
func (l *Loop) rare(h *lead.Hand, c *Conn, events uint32) bool {
	gone := events&(Hup|Err) != 0
	switch {
	case c.flags&busy != 0:
		l.whileBusy(h, c, events)
		return true
	case c.flags&lingering != 0 && (gone || c.sated() && events&RdHup != 0):
		return l.drop(h, c, nil)
	case c.flags&lingering != 0:
		return l.discard(h, c)
	case gone && c.Wants()&In == 0:
		// A reset, and no read that would detect it: the session is notified here.
		return l.drop(h, c, transport.ErrLost)
	case events&Out != 0 && c.flags&unsent != 0:
		return l.sendPending(h, c) // input, if any, is reported again
	case events&(In|RdHup|Hup|Err) != 0 && c.Wants()&In != 0:
		return l.read(h, c)
	case events&RdHup != 0 && c.flags&lost == 0 && c.session != nil:
		c.flags |= lost
		c.session.Lost(io.EOF)
	}
	l.disarm(c)
	return true
}

// whileBusy handles events of a connection that is being fed.
func (l *Loop) whileBusy(h *lead.Hand, c *Conn, events uint32) {
	gone := events&(Hup|Err) != 0
	if events&(RdHup|Hup|Err) != 0 {
		l.recall(c)
	}
	if events&(RdHup|Hup|Err) != 0 && c.flags&lost == 0 {
		c.flags |= lost
		err := io.EOF
		if gone {
			err = transport.ErrLost
		}
		c.session.Lost(err)
	}
	// The goroutine that waits reads or writes, and finds out.
	if c.flags&waitRead != 0 && (gone || events&(In|RdHup) != 0) {
		l.endReadWait(c, nil)
	}
	switch {
	case c.flags&waitWrite != 0 && (gone || events&Out != 0):
		l.endWriteWait(c, nil)
	case events&Out != 0 && c.flags&unsent != 0 && !gone:
		l.sendBusy(h, c)
	}
	if gone {
		l.forget(c)
		return
	}
	l.disarm(c)
}

// sendBusy sends output left from before this Feed, or by its Flush.
func (l *Loop) sendBusy(h *lead.Hand, c *Conn) {
	m := c.more()
	m.mu.Lock()
	err := m.send(c, h)
	done := m.out.Len() == 0
	m.mu.Unlock()
	if done || err != nil && err != syscall.EAGAIN {
		c.flags &^= unsent // the feeder gets the error again
	}
	if done && err == nil {
		// The session is notified when its call has returned.
		c.later(c.drained())
	}
}

// drained returns a message that tells the session Drained.
func (c *Conn) drained() message {
	return message{kind: wake, c: c, f: func(*buf.Queue) error {
		if c.Pending() == 0 {
			c.session.Drained()
		}
		return nil
	}}
}

// sendPending sends output left by earlier Feeds.
func (l *Loop) sendPending(h *lead.Hand, c *Conn) bool {
	l.begin(h, c)
	if left, err := c.push(&h.Out, h); err != nil {
		c.own |= broken
	} else if left == 0 && c.closed.Load() == open {
		c.session.Drained()
	}
	return l.end(h, c, nil, 0, nil)
}
