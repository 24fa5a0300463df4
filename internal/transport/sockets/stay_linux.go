package sockets

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

const (
	// stayTime is how long a feeder that stays waits for more input. A stay begins only if
	// the previous Feed returned within this time.
	stayTime = time.Second
	// stayQuick is how many Feeds in a row that have not declared that they wait end a
	// stay: the loop serves such requests at a lower cost.
	stayQuick = 16
	stayInput = 4 << 10
	// tick is the unit of Conn.fedAt. It wraps around after 18 minutes: then a connection
	// may be kept once in vain.
	tick = time.Second / 60
)

// A stay is a feeder that keeps its connection after Feed has returned: it was fed off the
// loop because it waits for others, and so will be the next Feed. The feeder waits for
// input by itself, in the runtime's poller, as the goroutines of net/http do. So a request
// needs no hand-over to another goroutine and back, and the loop is not woken: it only
// handles events other than input.
//
//	feeder                               loop
//	1. duplicates the descriptor
//	2. asks to stay ───────────────────▶ stops receiving
//	3. waits, reads, feeds, waits …      recalls it: a message, the end, a visit
//	4. gives the connection back ──────▶ arms it again
//
// For the loop the connection is busy the whole time.
type stay struct {
	l    *Loop
	c    *Conn
	h    *lead.Hand
	file *os.File // a duplicate of the descriptor: a goroutine that waits in the poller has to own it
	raw  syscall.RawConn

	called atomic.Bool // the loop wants the connection back
	feeds  atomic.Bool // the feeder reads, or feeds
	until  int64       // the deadline of file, on the clock's scale
	idle   int64       // the end of the stay if nothing arrives
	rests  bool        // counted in Loop.resting
	quick  int         // Feeds in a row that have not declared that they wait
	in     []byte      // input that was read
	err    error       // of the last Feed
	left   bool        // by the last Feed
}

// stay makes the feeder serve the connection as long as that is worthwhile. It reports
// whether the connection still belongs to the transport, and what its last Feed has
// returned.
func (l *Loop) stay(h *lead.Hand, c *Conn) (here bool, err error) {
	unpin(h) // the goroutine that detached it may not have been its own
	s := l.newStay(h, c)
	if s == nil {
		return true, nil
	}
	defer s.leave()
	h.Readable.Prepare()
	l.put(message{kind: askStay, c: c, stay: s})
	if h.Readable.Wait() != nil {
		return true, nil
	}
	h.Release()
	h.Local = s
	for s.next() {
		if !s.feed() {
			return !s.left && c.own&hijacked == 0, s.err
		}
	}
	return true, nil
}

// mayStay reports whether a Feed that has returned off the loop justifies a stay.
func (c *Conn) mayStay(h *lead.Hand) bool {
	now := uint16(clock.Refresh() / int64(tick))
	since := now - c.fedAt
	c.fedAt = now
	return h.Waits && since < uint16(stayTime/tick) && c.clean()
}

// clean reports whether a Feed has left nothing to do except to feed again.
func (c *Conn) clean() bool { return c.own == 0 && c.more() == nil && c.closed.Load() == open }

// newStay returns nil if the process has no descriptors to spare.
func (l *Loop) newStay(h *lead.Hand, c *Conn) *stay {
	fd, ok := c.hold()
	if !ok {
		return nil
	}
	dup, err := sys.DupFD(fd)
	c.letGo(fd)
	if err != nil {
		return nil
	}
	s := &stay{l: l, c: c, h: h, file: os.NewFile(uintptr(dup), "connection")}
	if s.raw, err = s.file.SyscallConn(); err != nil || dup > l.t.maxFiles/2 || !s.extend(clock.Refresh()) {
		s.file.Close()
		return nil
	}
	return s
}

// leave ends the stay for the poller.
func (s *stay) leave() {
	s.wakes()
	s.file.Close() // nothing is lost if this fails: it is a duplicate
	s.h.Local = nil
}

// next waits for input, and reports whether there is some. Otherwise the stay is over:
// nothing has arrived in time, the loop wants the connection back, or the loop has to find
// out why the connection cannot be read.
func (s *stay) next() bool {
	s.in = nil
	now := clock.Refresh()
	s.idle = now + int64(stayTime)
	if d := s.c.deadline.Load(); d != 0 && d < s.idle {
		s.idle = d
	}
	for {
		if late := s.until > s.idle || s.until < s.idle-int64(stayTime/2); late && !s.extend(now) || s.called.Load() {
			return false
		}
		err := s.raw.Read(s.read)
		s.wakes()
		if err == nil {
			return s.in != nil
		}
		if now = clock.Refresh(); !errors.Is(err, os.ErrDeadlineExceeded) || now >= s.idle {
			return false
		}
		s.until = 0
	}
}

// extend moves the deadline to the end of the stay, but not with each request, because that
// is work for the runtime.
func (s *stay) extend(now int64) bool {
	if s.idle == 0 {
		s.idle = now + int64(stayTime)
	}
	s.until = s.idle
	return s.file.SetReadDeadline(time.Now().Add(time.Duration(s.idle-now))) == nil
}

// read reads what has arrived, and reports whether to stop waiting. The loop sets called
// before it checks whether the feeder feeds, so one of them sees the other.
func (s *stay) read(uintptr) bool {
	s.wakes()
	if s.feeds.Store(true); s.called.Load() {
		return true
	}
	in := buf.Get(stayInput)[:stayInput]
	n, errno := s.c.receive(in)
	for errno == syscall.EINTR {
		n, errno = s.c.receive(in)
	}
	if n > 0 {
		s.h.Read += n
		s.in = in[:n]
		return true
	}
	buf.Put(in)
	switch errno {
	case syscall.EAGAIN:
	case 0:
		return true // the end of the stream, which the loop finds again
	default:
		s.c.own |= broken // the loop would not detect it again
		return true
	}
	if s.feeds.Store(false); s.called.Load() {
		return true
	}
	s.rests = true
	s.l.resting.Add(1)
	s.l.publish(s.h)
	return false
}

// wakes is called when the feeder no longer waits.
func (s *stay) wakes() {
	if s.rests {
		s.rests = false
		s.l.resting.Add(-1)
	}
}

// feed feeds what was read, and reports whether to stay.
func (s *stay) feed() bool {
	c, h := s.c, s.h
	h.Waits = false
	s.l.counters.stayed.Add(1)
	if c.leaver() != nil {
		c.leaver().in = s.in
	}
	n, err := c.session.Feed(s.in, &h.Out)
	if c.leaver() != nil && c.hasLeft(h) {
		s.left = true
		buf.Put(s.in)
		return false
	}
	s.err = err
	if !s.l.wrapUp(h, c, s.in, n, err) {
		return false
	}
	buf.Put(s.in)
	if s.quick++; h.Waits {
		s.quick = 0
	}
	return err == nil && c.clean() && s.quick < stayQuick && !s.called.Load()
}

// askStay is the loop's part of the beginning.
func (l *Loop) askStay(c *Conn, s *stay) {
	c.aside().stay = s
	c.flags |= asks
	if c.flags&(closeNow|closeAfter) != 0 || c.came() {
		l.recall(c)
	} else if l.receiver == nil || l.receiver.Direct(c) {
		l.Directed(c)
	}
}

// Directed is called by a driver that receives nothing for a connection any more, when
// Direct has said otherwise.
func (l *Loop) Directed(c *Conn) {
	if c.flags&asks != 0 {
		c.flags &^= asks
		l.disarm(c)
		c.hand.Readable.Send(nil)
	}
}

// recall makes a feeder that stays return the connection.
func (l *Loop) recall(c *Conn) {
	switch s := c.stay(); {
	case s == nil:
	case c.flags&asks != 0:
		c.flags &^= asks
		c.hand.Readable.Send(transport.ErrLost)
	default:
		s.called.Store(true)
		_ = s.file.SetReadDeadline(clock.Past) // it may be closed: then the stay is over
	}
}
