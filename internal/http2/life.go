package http2

import (
	"math"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// stall watches whether the client accepts output.
type stall struct {
	running bool
	by      int64 // when it ends, on the clock's scale
	armed   int64 // what the timer is set for: by, or the same of a block; 0 is something else
	taken   int   // what the client had accepted when the time began
	left    int   // what it had not
	swept   int64 // when streams were last checked, on the clock's scale
}

// taken is how many bytes of the connection's output the client has accepted.
func (s *Session) taken() int {
	return s.written - s.late.Len() - s.out.Len() - s.conn.Untaken()
}

// retime sets the deadline for what the connection waits for.
func (s *Session) retime() {
	switch pending := s.conn.Pending(); {
	case !s.settled:
		// The deadline for the first head is running.
	case s.block.open || pending > 0:
		if s.block.open && s.block.by == 0 {
			s.block.by = deadline(s.cfg.HeadTimeout())
		}
		if pending > 0 && !s.stall.running {
			s.stall.running, s.stall.by = true, deadline(s.cfg.StallTimeout)
			s.stall.taken, s.stall.left = s.taken(), s.conn.Untaken()+s.out.Len()
		}
		s.arm()
	case s.open > 0:
		s.stall.running, s.stall.armed = false, 0
		s.conn.SetTimeout(max(s.cfg.StallTimeout, 0))
	case s.out.Len() > 0: // maybe all of it is accepted at once, and then nobody tells us
		s.stall.running, s.stall.armed = false, 0
		s.conn.SetTimeout(sooner(max(s.cfg.StallTimeout, 0), s.idleLeft()))
	default:
		s.stall.running, s.stall.armed = false, 0
		s.conn.SetTimeout(s.idleLeft())
	}
	s.sweep()
}

// deadline is the time after d, never if d is not positive.
func deadline(d time.Duration) int64 {
	if d <= 0 {
		return math.MaxInt64
	}
	return clock.After(d)
}

// arm sets the timer for either the rest of an open block or the client that is to accept output.
// Both times run at once: neither a frame that is open nor output that is not accepted excuses the
// other.
func (s *Session) arm() {
	by := s.stall.by
	if !s.stallEnds() {
		by = s.block.by
	}
	switch {
	case by == s.stall.armed:
	case by == math.MaxInt64:
		s.conn.SetTimeout(0)
	default:
		s.conn.SetTimeout(max(time.Duration(by-clock.Nano()), 1))
	}
	s.stall.armed = by
}

// stallEnds reports whether the time for the client to accept output ends before that for the rest
// of a block.
func (s *Session) stallEnds() bool {
	return s.stall.running && (!s.block.open || s.stall.by < s.block.by)
}

// idleLeft is how long the connection may still be without an exchange, 0 if for ever. Frames
// like PING do not extend it.
func (s *Session) idleLeft() time.Duration {
	if s.cfg.IdleTimeout <= 0 {
		return 0
	}
	return max(s.cfg.IdleTimeout-time.Duration(clock.Nano()-s.idleSince), 1)
}

// sooner is the shorter one of two times; 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// sweep resets streams that are over but for their output, if their clients have not opened
// their windows for long: their output takes memory. A handler that waits finds out by itself.
func (s *Session) sweep() {
	every := s.cfg.StallTimeout
	if every <= 0 || s.open == 0 {
		return
	}
	now := clock.Nano()
	passed := time.Duration(now - s.stall.swept)
	if passed < every/2 {
		return
	}
	if s.stall.swept == 0 {
		passed = 0
	}
	s.stall.swept = now
	for _, st := range s.streams {
		if !st.handled && st.pushed == nil || st.reset || st.queue.Len() == 0 {
			continue
		}
		st.excuse()
		l := &st.writeLimit
		l.idle += passed
		if l.idle > every {
			_ = st.fail(exchange.ErrTimeout)
			s.finish(st)
		}
	}
}

// Expired implements the transport's contract: the deadline has passed.
func (s *Session) Expired(out *buf.Queue) error {
	s.mu.Lock()
	defer s.unlock()
	s.enter(out)
	switch {
	case s.closed:
		s.out = nil
		if s.conn.Pending() > 0 {
			s.conn.Close(transport.Reset)
		}
		return transport.ErrClosed
	case !s.settled || s.block.open && !s.stallEnds():
		return s.leave(connError{ProtocolError, "head is not complete in time"})
	case s.stall.running && s.overdue():
		s.closed, s.out = true, nil
		s.because(exchange.ErrTimeout)
		s.loseAll()
		s.conn.Close(transport.Reset)
		return nil
	case s.open == 0 && s.conn.Pending() == 0 && s.idleLeft() == 1:
		s.goAway(s.lastID, NoError)
	}
	return s.leave(nil)
}

// overdue decides about a client that has had time to accept its output.
func (s *Session) overdue() bool {
	s.stall.running, s.stall.armed = false, 0
	return s.conn.Untaken() > 0 && s.taken()-s.stall.taken < min(paceBytes, s.stall.left)
}

// Drained implements the transport's contract: everything has been sent.
func (s *Session) Drained() {
	s.mu.Lock()
	defer s.unlock()
	s.unsent, s.stall.running = 0, false
	if s.waiting > 0 || s.late.Len() > 0 {
		s.wake()
	}
	if s.helds > 0 {
		s.tellHelds()
	}
	s.tellCrowds()
}

// tellCrowds wakes handlers that wait for room in the output, if there is any.
func (s *Session) tellCrowds() {
	if s.crowds == 0 || s.budget() <= 0 {
		return
	}
	s.work += len(s.streams)
	for _, st := range s.streams {
		st.notify()
	}
}

// EOF implements the transport's contract: the client has sent its last byte. A client of
// HTTP/2 has no reason to close only one half.
func (s *Session) EOF(_ []byte, out *buf.Queue) error {
	s.mu.Lock()
	defer s.unlock()
	s.out = out
	defer func() { s.out = nil }()
	s.closed = true
	s.loseAll()
	return transport.ErrClosed
}

// Lost implements the transport's contract: the client has gone while a handler runs
// inline.
func (s *Session) Lost(err error) {
	s.mu.Lock()
	defer s.unlock()
	if err == transport.ErrStopped {
		s.because(err)
	}
	s.closed = true
	s.loseAll()
}

// Closed implements the transport's contract: the connection no longer exists.
func (s *Session) Closed(err error) {
	s.mu.Lock()
	if err == transport.ErrStopped {
		s.because(err)
	}
	s.counters.Open.Add(-1)
	s.unpromise()
	s.closed, s.gone = true, true
	s.loseAll()
	s.late.Release()
	if s.block.open {
		buf.Put(s.block.data)
		s.block = block{}
	}
	s.due.stop()
	s.state(exchange.StateClosed)
	s.unlock()
}
