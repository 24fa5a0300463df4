package http2

import (
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// stall watches whether the client accepts output.
type stall struct {
	running bool
	mark    int   // what it had not accepted when the time began
	swept   int64 // when streams were last checked, on the clock's scale
}

// retime sets the deadline for what the connection waits for.
func (s *Session) retime() {
	pending := s.conn.Pending() + s.out.Len()
	switch {
	case !s.settled || s.block.open:
		// The deadline for a head is running.
	case pending > 0 && s.stall.running:
		// So is that for the client to accept output.
	case pending > 0:
		s.stall.running = s.conn.Pending() > 0
		if s.stall.running {
			s.stall.mark = s.conn.Untaken() + s.out.Len()
		}
		s.conn.SetTimeout(max(s.cfg.StallTimeout, 0))
	case s.open > 0:
		s.stall.running = false
		s.conn.SetTimeout(max(s.cfg.StallTimeout, 0))
		s.sweep()
	default:
		s.stall.running = false
		s.conn.SetTimeout(max(s.cfg.IdleTimeout, 0))
	}
}

// sweep resets streams whose clients have not opened their windows for long: their output
// takes memory. A handler that waits finds out by itself.
func (s *Session) sweep() {
	now := clock.Nano()
	every := s.cfg.StallTimeout
	if every <= 0 || time.Duration(now-s.stall.swept) < every/2 {
		return
	}
	passed := time.Duration(now - s.stall.swept)
	if s.stall.swept == 0 {
		passed = 0
	}
	s.stall.swept = now
	for _, st := range s.streams {
		if !st.handled || st.reset || st.queue.Len() == 0 {
			continue
		}
		if st.writeLimit.idle += passed; st.writeLimit.idle > every {
			_ = s.resetStream(st, Cancel)
			s.finish(st)
		}
	}
}

// Expired implements the transport's contract: the deadline has passed.
func (s *Session) Expired(out *buf.Queue) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(out)
	switch {
	case s.closed:
		s.out = nil
		if s.conn.Pending() > 0 {
			s.conn.Close(transport.Reset)
		}
		return transport.ErrClosed
	case !s.settled || s.block.open:
		return s.leave(connError{ProtocolError, "head is not complete in time"})
	case s.stall.running && s.overdue():
		s.closed, s.out = true, nil
		s.loseAll()
		s.conn.Close(transport.Reset)
		return nil
	case s.open == 0 && s.conn.Pending() == 0:
		s.goAway(s.lastID, NoError)
	}
	s.sweep()
	return s.leave(nil)
}

// overdue decides about a client that has had time to accept its output.
func (s *Session) overdue() bool {
	before, left := s.stall.mark, s.conn.Untaken()
	s.stall.mark, s.stall.running = left, false
	return left > 0 && before-left < min(paceBytes, before)
}

// Drained implements the transport's contract: everything has been sent.
func (s *Session) Drained() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent, s.stall.running = 0, false
	if s.waiting > 0 || s.late.Len() > 0 {
		s.wake()
	}
	for _, st := range s.streams {
		if st.held != nil {
			st.held.tell()
		}
	}
}

// EOF implements the transport's contract: the client has sent its last byte. A client of
// HTTP/2 has no reason to close only one half.
func (s *Session) EOF(_ []byte, out *buf.Queue) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
	defer func() { s.out = nil }()
	s.closed = true
	s.loseAll()
	return transport.ErrClosed
}

// Lost implements the transport's contract: the client has gone while a handler runs
// inline.
func (s *Session) Lost(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.loseAll()
}

// Closed implements the transport's contract: the connection no longer exists.
func (s *Session) Closed(error) {
	s.mu.Lock()
	s.counters.Open.Add(-1)
	s.closed = true
	s.loseAll()
	s.late.Release()
	if s.block.open {
		buf.Put(s.block.data)
		s.block = block{}
	}
	s.mu.Unlock()
	s.state(exchange.StateClosed)
}
