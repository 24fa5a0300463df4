package sockets

import (
	"syscall"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// finish closes a connection in good order, as its session wants: when everything
// is sent, and so that the peer gets to see it.
//
// A socket that is closed with input unread answers with a reset, which may
// overtake the last answer on its way to the peer's program. So, unless the peer
// has ended or all is in order, only the writing side is shut, and what still
// comes is read and dropped for a while.
func (l *Loop) finish(h *lead.Hand, c *Conn) bool {
	l.submit(c)
	c.closed.CompareAndSwap(open, finished)
	l.dropWakes(c)
	if c.Pending() > 0 {
		c.flags |= closing | unsent
		if c.deadline.Load() == 0 {
			c.deadline.Store(l.now + int64(drainTime))
		}
		l.schedule(c, c.deadline.Load())
		l.arm(c)
		return true
	}
	if c.flags&ended != 0 || c.own&linger == 0 && c.rest() == nil && !l.driver.Unread(c) {
		return l.drop(h, c, nil)
	}
	if sys.ShutWrite(int(c.fd)) != 0 {
		return l.drop(h, c, nil)
	}
	s := c.session
	c.session = nil
	c.flags = lingering
	c.deadline.Store(l.now + int64(lingerTime))
	l.schedule(c, c.deadline.Load())
	l.arm(c)
	h.Begin()
	s.Closed(nil)
	return h.End()
}

// discard reads what comes from a connection that has been answered.
func (l *Loop) discard(h *lead.Hand, c *Conn) bool {
	in := h.Input()
	n, errno := l.recv(c, in)
	if errno == syscall.EAGAIN || errno == syscall.EINTR {
		l.arm(c)
		return true
	}
	if errno != 0 || n == 0 {
		return l.drop(h, c, nil)
	}
	c.need().dropped += n
	l.disarm(c)
	return true
}

// sated reports whether as much was read and dropped as ever will be: the peer has
// the rest of lingerTime to take its answer, which a reset would destroy.
func (c *Conn) sated() bool { return c.more != nil && c.more.dropped >= lingerSize }

// drop closes a connection at once. Nobody may be feeding.
func (l *Loop) drop(h *lead.Hand, c *Conn, err error) bool {
	l.remove(c)
	l.shut(c)
	s := c.session
	c.session = nil
	if s == nil {
		return true
	}
	h.Begin()
	s.Closed(err)
	return h.End()
}

// remove takes a connection out of the loop.
func (l *Loop) remove(c *Conn) {
	l.submit(c)
	l.wheel.Remove(&c.timer)
	l.dropWakes(c)
	if l.conns[c.fd] == c {
		l.conns[c.fd] = nil
		l.count--
	}
	if c.flags&busy != 0 {
		l.feeds--
		l.driver.Forget(c)
	}
	l.t.left()
}

// shut closes the descriptor and lets go of all memory.
func (l *Loop) shut(c *Conn) {
	l.mu.Lock()
	c.closed.Store(dead)
	l.mu.Unlock()
	l.release(c)
	c.free()
}

// free lets go of what the connection holds.
func (c *Conn) free() {
	if m := c.more; m != nil {
		buf.Put(m.rest)
		m.rest, m.unread = nil, nil
		m.dropped = 0
		m.out.Reset()
		c.trim()
	}
}

func (l *Loop) dropWakes(c *Conn) {
	if w := c.wakes; w != nil {
		c.wakes = nil
		for _, m := range w.list {
			m.drop()
		}
	}
}

// exited is called by a hand that ends within a session's code.
func (l *Loop) exited(h *lead.Hand) {
	l.publish(h)
	if !l.put(message{kind: exited, hand: h}) {
		l.abandon(l.fedBy(h)) // the loop has ended: its table does not change any more
	}
}

// fedBy returns the connection whose session a hand serves, nil if there is none.
func (l *Loop) fedBy(h *lead.Hand) *Conn {
	for _, c := range l.conns {
		if c != nil && c.hand == h && c.closed.Load() != dead {
			return c
		}
	}
	return nil
}

// cut closes a connection, if there is one, whose session will never return.
func (l *Loop) cut(h *lead.Hand, c *Conn) bool {
	if c == nil {
		return true
	}
	l.endWaits(c, transport.ErrLost)
	l.feeds--
	c.hand = nil
	c.flags &^= busy
	sys.Reset(int(c.fd))
	return l.drop(h, c, transport.ErrExited)
}

// abandon closes a connection, if there is one, whose loop has ended while it was
// busy.
func (l *Loop) abandon(c *Conn) {
	if c == nil {
		return
	}
	l.mu.Lock()
	c.closed.Store(dead)
	sys.Close(int(c.fd))
	l.mu.Unlock()
	c.free()
	l.t.left()
	if c.session != nil {
		c.session.Closed(transport.ErrStopped)
	}
}

// quit ends the loop. Connections that are being fed are told, and closed when
// Feed returns.
func (l *Loop) quit(h *lead.Hand) bool {
	if l.swept == 0 {
		l.driver.Stop()
	}
	for l.swept < len(l.conns) {
		c := l.conns[l.swept]
		l.swept++
		if c == nil {
			continue
		}
		if c.flags&busy == 0 {
			if !l.drop(h, c, transport.ErrStopped) {
				return false
			}
			continue
		}
		sys.ShutBoth(int(c.fd)) // if it fails, it is not connected any more
		c.flags |= closeNow
		l.dropWakes(c)
		if c.flags&lost == 0 && c.made { // otherwise it knows, or is being made
			c.flags |= lost
			c.session.Lost(transport.ErrStopped)
		}
		l.endWaits(c, transport.ErrLost)
	}
	return true
}

// stop is the end of the loop.
func (l *Loop) stop(h *lead.Hand) {
	for _, ln := range l.listeners {
		l.closeListener(ln)
	}
	l.listeners = nil
	l.driver.Close()
	for _, m := range l.stops {
		m.drop()
	}
	// From here on nobody can reach the loop; feeders close what is theirs.
	for _, m := range append(l.batch[l.at:], l.inbox.Close()...) {
		switch m.kind {
		case back:
			l.abandon(m.c)
		case exited:
			l.abandon(l.fedBy(m.hand))
		default:
			m.drop()
		}
	}
	l.batch, l.at = nil, 0
	if err := l.bell.Close(); err != nil {
		l.t.log("close loop", err)
	}
	l.t.ended(l.failure)
	h.Done()
}
