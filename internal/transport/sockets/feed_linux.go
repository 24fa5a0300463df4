package sockets

import (
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

const (
	highWater  = 64 << 10 // default for a transport without a setting
	lingerTime = 5 * time.Second
	lingerSize = 256 << 10 // bytes read and dropped after the last answer
	drainTime  = 30 * time.Second
	minRead    = 4 << 10  // minimum room for input after a rest
	maxRead    = 64 << 10 // maximum read after it at once, as much as Input ever holds
)

// fromTimer returns the connection of a timer.
func fromTimer(e *clock.Entry) *Conn { return (*Conn)(unsafe.Pointer(e)) }

// read reads what has arrived and feeds it.
func (l *Loop) read(h *lead.Hand, c *Conn) bool {
	if c.rest() != nil {
		return l.readBehind(h, c)
	}
	in := h.Input()
	n, errno := l.recv(c, in)
	if n <= 0 {
		return l.nothing(h, c, errno)
	}
	h.Read += n
	if n == len(in) {
		h.Filled()
	}
	return l.feed(h, c, in[:n])
}

// recv reads what has arrived, for the leader.
func (l *Loop) recv(c *Conn, p []byte) (int, syscall.Errno) {
	if l.receiver == nil {
		return sys.Recv(int(c.fd), p)
	}
	return l.receiver.Recv(c, p)
}

// readBehind reads new input after what is kept, and feeds both. So the kept input of a
// connection is never more than what its session has been fed and has not consumed: nothing
// is read for a connection that is not being fed. If little is kept, both go to the leader's
// memory, which is larger. Otherwise the size of the connection's own memory is a power of
// two, at most twice that and minRead.
func (l *Loop) readBehind(h *lead.Hand, c *Conn) bool {
	m, in := c.more(), h.Input()
	inside := len(m.rest) <= len(in)/4
	if inside {
		in = in[copy(in, m.rest):]
	} else {
		m.rest = buf.Grow(m.rest, minRead)
		in = m.rest[len(m.rest):min(cap(m.rest), len(m.rest)+maxRead)]
	}
	n, errno := l.recv(c, in)
	if n <= 0 {
		return l.nothing(h, c, errno)
	}
	h.Read += n
	c.flags &^= due
	if inside {
		n += len(m.rest)
		buf.Put(m.rest)
		m.rest = nil
		in = h.Input()
		if n == len(in) {
			h.Filled()
		}
		return l.feed(h, c, in[:n])
	}
	m.rest = m.rest[:len(m.rest)+n]
	return l.feedRest(h, c)
}

// nothing is called when a read has returned no bytes.
func (l *Loop) nothing(h *lead.Hand, c *Conn, errno syscall.Errno) bool {
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		l.arm(c)
		return true
	case errno != 0:
		return l.drop(h, c, transport.ErrLost)
	case c.flags&due != 0:
		// Kept input comes before the end of the stream, which epoll reports again.
		c.flags &^= due
		return l.feedRest(h, c)
	}
	return l.eof(h, c)
}

// feed runs the session's Feed.
func (l *Loop) feed(h *lead.Hand, c *Conn, in []byte) bool {
	l.mark(h, c, in)
	l.begin(h, c)
	n, err := c.session.Feed(in, &h.Out)
	if c.leaver() != nil && c.hasLeft(h) {
		return l.gone(h)
	}
	if n == len(in) && err == nil && c.clean() {
		// The usual case: it leaves an answer, and nothing else has to be done.
		if l.batcher == nil {
			if l.sendWhole(h, c) {
				return l.returned(h, c, nil)
			}
		} else if l.sendBatched(h, c) {
			return l.settle(h, c, nil)
		}
	}
	return l.end(h, c, in, n, err)
}

// sendWhole sends an answer that is in one piece, and reports whether that was possible.
// Otherwise the part that the socket has not accepted is still in the queue.
func (l *Loop) sendWhole(h *lead.Hand, c *Conn) bool {
	b := h.Out.Whole()
	if len(b) == 0 {
		return false
	}
	c.temper(len(b))
	n, _ := sys.Send(int(c.fd), b, false) // the error is returned again later
	h.Sent += n
	h.Out.Discard(n)
	return n == len(b)
}

// sendBatched sends a short answer in one piece together with those of other connections,
// if the hand still leads. Otherwise nothing has changed except that the hand may no longer
// lead.
func (l *Loop) sendBatched(h *lead.Hand, c *Conn) bool {
	b := h.Out.First()
	if len(b) == 0 || len(b) != h.Out.Len() || len(b) > MaxBatch || !h.End() {
		return false
	}
	// The hand leads: from here on it owns the loop.
	if l.batcher.Send(c, b) {
		h.Sent += len(b)
	} else if _, err := c.push(&h.Out, h); err != nil {
		c.own |= broken
	}
	h.Out.Reset()
	return true
}

// feedRest is feed with the kept input. It holds no pointer to it meanwhile, because the
// session may release it.
func (l *Loop) feedRest(h *lead.Hand, c *Conn) bool {
	l.mark(h, c, nil)
	l.begin(h, c)
	n, err := c.session.Feed(c.more().rest, &h.Out)
	if c.leaver() != nil && c.hasLeft(h) {
		return l.gone(h)
	}
	return l.end(h, c, c.rest(), n, err)
}

// eof tells the session that no more input will arrive.
func (l *Loop) eof(h *lead.Hand, c *Conn) bool {
	c.flags |= ended | lost
	rest := c.rest()
	l.begin(h, c)
	err := c.session.EOF(rest, &h.Out)
	return l.end(h, c, rest, len(rest), err)
}

// begin is called before any code of the session: from here on the loop may be taken away.
func (l *Loop) begin(h *lead.Hand, c *Conn) {
	c.flags |= busy
	c.hand = h
	l.feeds++
	if v := c.leaver(); v != nil {
		v.call.Store(h.Call())
	}
	l.yield(h, c)
}

// yield is begin for code of the session that has nothing to send.
func (l *Loop) yield(h *lead.Hand, c *Conn) {
	if l.batcher != nil {
		l.batcher.Begin(c)
	}
	l.enter(h)
}

// enter begins foreign code.
func (l *Loop) enter(h *lead.Hand) {
	if !h.Begin() {
		unpin(h)
	}
}

// end is called after it. It returns the connection to the loop.
func (l *Loop) end(h *lead.Hand, c *Conn, in []byte, n int, err error) bool {
	if !l.wrapUp(h, c, in, n, err) {
		return l.gone(h)
	}
	return l.returned(h, c, err)
}

// wrapUp sends the output of the session, and keeps what it has not consumed. It reports
// whether the connection still belongs to the transport.
func (l *Loop) wrapUp(h *lead.Hand, c *Conn, in []byte, n int, err error) bool {
	if c.own&hijacked != 0 {
		h.Out.Reset()
		c.free()
		return false
	}
	if h.Out.Len() > 0 && c.own&broken == 0 && c.closed.Load() != severed {
		tell := err == nil && (in == nil || c.Pending() > 0)
		if left, e := c.push(&h.Out, h); e != nil {
			c.own |= broken
		} else if tell && left == 0 && c.closed.Load() == open {
			c.session.Drained()
		}
	}
	h.Out.Reset()
	if n < len(in) || c.more() != nil {
		if n < len(in) && err != nil {
			c.own |= linger
		}
		c.keep(in, n)
	}
	if err != nil && err != transport.ErrClosed {
		c.own |= linger
	}
	return true
}

// gone ends a call in which the connection has left the transport.
func (l *Loop) gone(h *lead.Hand) bool {
	h.Waits = false
	leads := h.End()
	if !leads {
		l.publish(h)
	}
	return leads
}

// returned gives the connection back to the loop after its session has returned, unless the
// feeder stays for the next input.
func (l *Loop) returned(h *lead.Hand, c *Conn, err error) bool {
	if h.End() {
		return l.settle(h, c, err)
	}
	if err == nil && c.mayStay(h) {
		var here bool
		if here, err = l.stay(h, c); !here {
			return l.gone(h)
		}
	}
	h.Waits = false
	l.publish(h)
	l.put(message{kind: back, c: c, err: err})
	return false
}

// settle takes back a connection whose session has returned.
func (l *Loop) settle(h *lead.Hand, c *Conn, err error) bool {
	l.feeds--
	c.hand = nil
	c.flags &^= busy
	if err == nil && (c.Usual() && c.Watched&usual == usual || c.onlyPushed()) {
		// The common cases: everything consumed, everything sent.
		l.schedule(c, c.deadline.Load())
		return true
	}
	return l.resolve(h, c, err)
}

// onlyPushed is like Usual for a connection that is written by turns, and not read.
func (c *Conn) onlyPushed() bool {
	return c.flags == 0 && c.own == paused && c.more() == nil && c.Watched&RdHup != 0
}

// resolve decides what happens next with a connection that is not being fed.
func (l *Loop) resolve(h *lead.Hand, c *Conn, err error) bool {
	c.flags &^= making
	switch {
	case c.flags&closeNow != 0 && l.quitting:
		return l.drop(h, c, transport.ErrStopped)
	case c.flags&closeNow != 0:
		return l.cut(h, c)
	case c.own&broken != 0:
		return l.drop(h, c, transport.ErrLost)
	case c.flags&closing != 0 && err != nil:
		sys.Reset(int(c.fd)) // requested by Expired
		return l.drop(h, c, transport.ErrDeadline)
	}
	pending := c.Pending()
	if pending > 0 {
		c.flags |= unsent
	} else {
		c.flags &^= unsent
	}
	if err != nil || c.flags&(closeAfter|closing) != 0 {
		return l.finish(h, c)
	}
	if c.came() {
		l.batch = slices.Insert(l.batch, l.at, c.meanwhile.came...)
	}
	c.meanwhile = nil
	if pending > l.t.config.HighWater {
		c.flags |= held
	} else if pending <= l.t.config.HighWater/2 {
		c.flags &^= held
	}
	if c.rest() != nil {
		if pending > 0 || c.own&lagged != 0 {
			c.flags |= again
		}
		if may := c.own&paused == 0 && c.flags&(held|ended) == 0; may && (c.own&resumed != 0 || c.flags&due != 0 || pending == 0 && c.flags&again != 0) {
			c.flags = c.flags&^again | due
			l.put(message{kind: feedRest, c: c})
		}
	}
	c.own &^= resumed | lagged
	c.trim()
	l.schedule(c, c.deadline.Load())
	l.arm(c)
	return true
}
