package epoll

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
func (l *loop) finish(h *lead.Hand, c *conn) bool {
	c.closed.CompareAndSwap(open, finished)
	l.dropWakes(c)
	if c.Pending() > 0 {
		c.flags |= closing | unsent
		if c.deadline.Load() == 0 {
			c.deadline.Store(l.now + int64(drainTime))
		}
		l.schedule(c)
		l.arm(c)
		return true
	}
	if c.flags&ended != 0 || c.own&linger == 0 && c.rest() == nil && sys.Unread(int(c.fd)) == 0 {
		return l.drop(h, c, nil)
	}
	if sys.ShutWrite(int(c.fd)) != 0 {
		return l.drop(h, c, nil)
	}
	s := c.session
	c.session = nil
	c.flags = c.flags&known | lingering
	c.deadline.Store(l.now + int64(lingerTime))
	l.schedule(c)
	l.arm(c)
	h.Begin()
	s.Closed(nil)
	return h.End()
}

// discard reads what comes from a connection that has been answered.
func (l *loop) discard(h *lead.Hand, c *conn) bool {
	in := h.Input()
	n, errno := sys.Recv(int(c.fd), in)
	if errno == syscall.EAGAIN || errno == syscall.EINTR {
		return true
	}
	m := c.need()
	if m.dropped += n; errno == 0 && n > 0 && m.dropped < lingerSize {
		return true
	}
	return l.drop(h, c, nil)
}

// drop closes a connection at once. Nobody may be feeding.
func (l *loop) drop(h *lead.Hand, c *conn, err error) bool {
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
func (l *loop) remove(c *conn) {
	l.wheel.Remove(&c.timer)
	l.dropWakes(c)
	if l.conns[c.fd] == c {
		l.conns[c.fd] = nil
		l.count--
	}
	if c.flags&busy != 0 {
		l.feeds--
		l.forget(c)
	}
	l.t.left()
}

// shut closes the descriptor and lets go of all memory.
func (l *loop) shut(c *conn) {
	l.mu.Lock()
	c.closed.Store(dead)
	sys.Close(int(c.fd))
	l.mu.Unlock()
	if m := c.more; m != nil {
		buf.Put(m.rest)
		m.rest, m.unread = nil, nil
		m.dropped = 0
		m.out.Reset()
		c.trim()
	}
}

func (l *loop) dropWakes(c *conn) {
	if w := c.wakes; w != nil {
		c.wakes = nil
		for _, m := range w.list {
			m.drop()
		}
	}
}

// abandon closes a connection whose loop has ended while it was busy.
func (l *loop) abandon(c *conn) {
	l.shut(c)
	l.t.left()
	c.session.Closed(transport.ErrStopped)
}

// quit ends the loop. Connections that are being fed are told, and closed when
// Feed returns.
func (l *loop) quit(h *lead.Hand) bool {
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
		if c.flags&lost == 0 {
			c.flags |= lost
			c.session.Lost(transport.ErrStopped)
		}
		if c.flags&(waitRead|waitWrite) != 0 {
			l.signal(c, transport.ErrLost)
		}
	}
	for _, ln := range l.listeners {
		l.closeListener(ln)
	}
	l.listeners = nil
	// From here on nobody can reach the loop; feeders close what is theirs.
	for _, m := range append(l.batch[l.at:], l.inbox.Close()...) {
		if m.kind == back {
			l.abandon(m.c)
		} else {
			m.drop()
		}
	}
	l.batch, l.at = nil, 0
	if err := l.bell.Close(); err != nil {
		l.t.log("close loop", err)
	}
	l.t.ended(l.failure)
	h.Done()
	return false
}
