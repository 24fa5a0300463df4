package epoll

import (
	"io"
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
	highWater  = 256 << 10 // bytes unsent from which a connection is not read
	lowWater   = 64 << 10  // and down to which it is not
	lingerTime = time.Second
	lingerSize = 256 << 10 // bytes read and dropped after the last answer
	drainTime  = 30 * time.Second
	minRead    = 4 << 10 // room for input behind a rest
)

// fromTimer returns the connection of a timer.
func fromTimer(e *clock.Entry) *conn { return (*conn)(unsafe.Pointer(e)) }

// read reads what has arrived and feeds it.
func (l *loop) read(h *lead.Hand, c *conn) bool {
	in := h.Input()
	rest := c.rest()
	if rest != nil {
		rest = buf.Grow(rest, max(minRead, len(rest)))
		c.more.rest = rest
		in = rest[len(rest):cap(rest)]
	}
	n, errno := sys.Recv(int(c.fd), in)
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return true
	case errno != 0:
		return l.drop(h, c, transport.ErrLost)
	case n == 0:
		return l.eof(h, c)
	}
	of(h).read += n
	if rest != nil {
		c.more.rest = rest[:len(rest)+n]
		return l.feed(h, c, c.more.rest)
	}
	if n == len(in) {
		h.Filled()
	}
	return l.feed(h, c, in[:n])
}

// feed runs the session's Feed.
func (l *loop) feed(h *lead.Hand, c *conn, in []byte) bool {
	l.begin(h, c)
	n, err := c.session.Feed(in, &h.Out)
	return l.end(h, c, in, n, err)
}

// eof tells the session that nothing more will come.
func (l *loop) eof(h *lead.Hand, c *conn) bool {
	c.flags |= ended | lost
	rest := c.rest()
	l.begin(h, c)
	err := c.session.EOF(rest, &h.Out)
	return l.end(h, c, rest, len(rest), err)
}

// begin is called before any code of the session: from here on the loop may be
// taken away.
func (l *loop) begin(h *lead.Hand, c *conn) {
	c.flags |= busy
	c.hand = h
	l.feeds++
	h.Begin()
}

// end is called after it. It sends what the session has left, and gives the
// connection back to the loop.
func (l *loop) end(h *lead.Hand, c *conn, in []byte, n int, err error) bool {
	if c.own&hijacked != 0 {
		h.Out.Reset()
		return h.End()
	}
	if h.Out.Len() > 0 && c.own&broken == 0 {
		if _, e := c.push(&h.Out, of(h)); e != nil {
			c.own |= broken
		}
	}
	h.Out.Reset()
	if n < len(in) || c.more != nil {
		if n < len(in) && err != nil {
			c.own |= linger
		}
		c.keep(in, n)
	}
	if err != nil && err != transport.ErrClosed {
		c.own |= linger
	}
	if h.End() {
		return l.settle(h, c, err)
	}
	of(h).publish()
	if !l.put(message{kind: back, c: c, err: err}) {
		l.abandon(c)
	}
	return false
}

// settle takes a connection back whose session has returned.
func (l *loop) settle(h *lead.Hand, c *conn, err error) bool {
	l.feeds--
	c.hand = nil
	c.flags &^= busy
	if err == nil && c.flags == known && c.own == 0 && c.more == nil {
		// The common case: everything consumed, everything sent.
		l.schedule(c)
		return true
	}
	return l.resolve(h, c, err)
}

// resolve decides how it goes on with a connection that nobody feeds.
func (l *loop) resolve(h *lead.Hand, c *conn, err error) bool {
	if c.own&broken != 0 || c.flags&closeNow != 0 {
		why := transport.ErrLost
		if c.flags&closeNow != 0 {
			why = nil
		}
		return l.drop(h, c, why)
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
	if c.wakes != nil {
		l.batch = slices.Insert(l.batch, l.at, c.wakes.list...)
		c.wakes = nil
	}
	if pending > highWater {
		c.flags |= held
	} else if pending <= lowWater {
		c.flags &^= held
	}
	if c.rest() != nil {
		if pending > 0 {
			c.flags |= again
		}
		if may := c.own&paused == 0 && c.flags&(held|ended) == 0; may && (c.own&resumed != 0 || pending == 0 && c.flags&again != 0) {
			c.flags &^= again
			l.put(message{kind: feedRest, c: c})
		}
	}
	c.own &^= resumed
	c.trim()
	l.schedule(c)
	l.arm(c)
	return true
}

// wants is the set of events that the connection can use now.
func (c *conn) wants() (events uint32) {
	f := c.flags
	switch {
	case f&busy != 0:
		if f&waitRead != 0 {
			events |= sys.In
		}
	case f&lingering != 0:
		return sys.In | sys.RdHup
	case f&(ended|held|closing) == 0 && c.own&paused == 0:
		events |= sys.In
	}
	if f&(unsent|waitWrite) != 0 {
		events |= sys.Out
	}
	if f&lost == 0 && f&closing == 0 {
		events |= sys.RdHup
	}
	return events
}

// arm makes sure that epoll reports what the connection wants.
func (l *loop) arm(c *conn) {
	want := c.wants()
	if c.flags&known == 0 {
		c.flags |= known
		c.armed = want
		if errno := l.poll.Add(int(c.fd), want, c.gen); errno != 0 {
			c.flags |= closeNow
			l.put(message{kind: closeHard, c: c})
			l.t.log("register connection", errno)
		}
		return
	}
	if want&^c.armed != 0 {
		l.modify(c, want)
	}
}

// disarm makes epoll report nothing but what the connection wants.
func (l *loop) disarm(c *conn) {
	if want := c.wants(); want != c.armed && c.flags&known != 0 {
		l.modify(c, want)
	}
}

func (l *loop) modify(c *conn, want uint32) {
	c.armed = want
	if errno := l.poll.Mod(int(c.fd), want, c.gen); errno != 0 {
		l.t.log("change interest in a connection", errno)
	}
}

// forget makes epoll report nothing at all. arm takes it back.
func (l *loop) forget(c *conn) {
	if c.flags&known != 0 {
		c.flags &^= known
		c.armed = 0
		l.poll.Del(int(c.fd)) // it was known: there is nothing to fail
	}
}

// rare handles all events but input of a connection in its usual state.
func (l *loop) rare(h *lead.Hand, c *conn, events uint32) bool {
	gone := events&(sys.Hup|sys.Err) != 0
	switch {
	case c.flags&busy != 0:
		l.whileBusy(h, c, events)
		return true
	case c.flags&lingering != 0:
		return l.discard(h, c)
	case gone && c.wants()&sys.In == 0:
		// A reset, and no reading that would find out: told here.
		return l.drop(h, c, transport.ErrLost)
	case events&sys.Out != 0 && c.flags&unsent != 0:
		return l.sendPending(h, c) // input, if any, is reported again
	case events&(sys.In|sys.RdHup|sys.Hup|sys.Err) != 0 && c.wants()&sys.In != 0:
		return l.read(h, c)
	case events&sys.RdHup != 0 && c.flags&lost == 0 && c.session != nil:
		c.flags |= lost
		c.session.Lost(io.EOF)
	}
	l.disarm(c)
	return true
}

// whileBusy handles events of a connection that is being fed.
func (l *loop) whileBusy(h *lead.Hand, c *conn, events uint32) {
	gone := events&(sys.Hup|sys.Err) != 0
	if events&(sys.RdHup|sys.Hup|sys.Err) != 0 && c.flags&lost == 0 {
		c.flags |= lost
		err := io.EOF
		if gone {
			err = transport.ErrLost
		}
		c.session.Lost(err)
	}
	switch {
	case c.flags&waitRead != 0 && (gone || events&(sys.In|sys.RdHup) != 0),
		c.flags&waitWrite != 0 && (gone || events&sys.Out != 0):
		l.signal(c, nil) // it reads or writes, and finds out
	case events&sys.Out != 0 && c.flags&unsent != 0 && !gone:
		l.sendBusy(h, c)
	}
	if gone {
		l.forget(c)
		return
	}
	l.disarm(c)
}

// sendBusy sends what was left before this Feed, or by its Flush.
func (l *loop) sendBusy(h *lead.Hand, c *conn) {
	m, s := c.more, of(h)
	m.mu.Lock()
	n, err := transmit(int(c.fd), &m.out, s.vec)
	s.sent += n
	done := m.out.Len() == 0
	m.mu.Unlock()
	if done || err != nil && err != syscall.EAGAIN {
		c.flags &^= unsent // an error comes again, to the feeder
	}
}

// sendPending sends what was left by earlier Feeds.
func (l *loop) sendPending(h *lead.Hand, c *conn) bool {
	l.begin(h, c)
	if _, err := c.push(&h.Out, of(h)); err != nil {
		c.own |= broken
	}
	return l.end(h, c, nil, 0, nil)
}
