package http1

import (
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// What a connection waits for while none of its session's code runs. Its deadline follows from
// that, and what happens when the deadline passes.
const (
	forExchange = iota // the handler, and whatever it waits for: the deadline is its own
	forNothing         // an answer continues, or the connection is being closed
	forHead            // the first request, or the rest of a head
	forContent         // the rest of unwanted content
	forRequest         // the next request
	forClient          // the client to accept output
)

// awaits is what the connection waits for when all output of the session's calls was pushed.
func (s *Session) awaits() uint8 {
	switch {
	case s.conn.Pending() > 0:
		return forClient
	case s.phase == inHeld || s.phase == inPush || s.phase == inClose:
		return forNothing
	case s.phase == inSkip:
		return forContent
	case !s.used || s.w != nil && s.w.parser.Started():
		return forHead
	}
	return forRequest
}

// allowed is how long the connection may wait for something: 0 means no limit, and a negative
// value that the time is over.
func (s *Session) allowed(what uint8) time.Duration {
	switch what {
	case forHead:
		return max(s.cfg.HeadTimeout(), 0)
	case forContent:
		return s.patience(&s.w.read)
	case forRequest:
		return max(s.cfg.IdleTimeout, 0)
	}
	return 0
}

// retime sets the deadline for what the connection waits for. Every call of the session ends with
// it; queued is the output that the call leaves.
//
// Whether the kernel accepts that output turns out after the call. If it does not, and the client
// takes nothing, nothing may ever happen again. So the deadline is then early, no later than the one
// for the client to accept output, and Expired asks again. Nothing is decided before that.
func (s *Session) retime(queued int) {
	what := s.awaits()
	if what == forClient {
		s.owe(queued)
		return
	}
	if what == s.waits && (queued == 0 || s.early) {
		return // the deadline is running
	}
	if what == forHead && s.cfg.ReadTimeout > 0 {
		s.needs().began = clock.Nano()
	}
	d := s.allowed(what)
	s.waits, s.early = what, false
	if r := s.rare.Load(); r != nil {
		r.until = clock.Nano() + int64(d)
	}
	if look := s.bound(max(s.cfg.StallTimeout, 0)); queued > 0 && look > 0 && (d == 0 || look < d) {
		d, s.early = look, true
	}
	s.conn.SetTimeout(d)
}

// owe starts the time for the client to accept its output, unless it is running: then queued, the
// output of the current call, has to be accepted in that time, too.
func (s *Session) owe(queued int) {
	r := s.needs()
	if s.waits != forClient {
		s.waits, s.early = forClient, false
		r.mark = s.conn.Untaken()
		s.extend(r)
	}
	r.mark += queued
	d := max(s.cfg.StallTimeout, 0)
	if d > 0 { // an exchange may have used the connection's deadline meanwhile
		d = max(time.Duration(r.until-clock.Nano()), 1)
	}
	s.conn.SetTimeout(s.bound(d))
}

func (s *Session) extend(r *rare) { r.until = clock.Nano() + int64(s.cfg.StallTimeout) }

// bound is the time for the client to accept output: d, which may be 0 for no limit, or what is
// left of the time for the last answer.
func (s *Session) bound(d time.Duration) time.Duration {
	if r := s.rare.Load(); r != nil && r.by != 0 {
		if left := max(time.Duration(r.by-clock.Nano()), 1); d == 0 || left < d {
			return left
		}
	}
	return d
}

// count adds output that leaves its queue before the call ends.
func (s *Session) count(queued int) {
	if s.waits == forClient {
		s.needs().mark += queued
	}
}

// Expired implements the transport's contract: the deadline has passed.
func (s *Session) Expired(out *buf.Queue) error {
	err := s.expired(out)
	if err != nil {
		s.retime(out.Len())
	}
	return err
}

func (s *Session) expired(out *buf.Queue) error {
	early := s.early
	s.early = false
	switch what := s.awaits(); {
	case what == forClient && s.overdue():
		return s.giveUp()
	case what == forClient:
		s.owe(0)
		return nil
	case early:
		s.conn.SetTimeout(s.rest(what))
		return nil
	case what == forHead && s.w != nil:
		return s.refuse(out, 408, "request head not complete in time")
	case what == forNothing && s.phase != inClose:
		s.conn.SetTimeout(0)
		return nil
	}
	return s.close()
}

// rest is the time that remains for something after an early deadline.
func (s *Session) rest(what uint8) time.Duration {
	d := s.allowed(what)
	if d <= 0 {
		return d
	}
	if r := s.rare.Load(); r != nil && r.by != 0 {
		return max(time.Duration(r.until-clock.Nano()), 1)
	}
	return max(d-s.cfg.StallTimeout, 1)
}

// overdue decides about a client that has had time to accept its output.
func (s *Session) overdue() bool {
	r := s.needs()
	if r.by != 0 && clock.Nano() >= r.by {
		return true
	}
	if s.waits != forClient {
		return false // its time begins
	}
	s.extend(r)
	return !s.keepsPace(&r.mark)
}

// giveUp cuts the connection of a client that does not accept its output.
func (s *Session) giveUp() error {
	switch s.phase {
	case inPush:
		s.endTurns(exchange.ErrTimeout)
	case inHeld:
		s.lose(transport.ErrLost)
	}
	return s.cut()
}
