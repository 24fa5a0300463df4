package http1

import (
	"math"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
)

// A limit bounds the waits of one exchange in one direction. Its zero value
// leaves them to the StallTimeout.
type limit struct {
	by    int64 // on the clock's scale; 0 is never
	asked bool  // by the handler: then nothing else bounds them
}

// over reports whether the time has passed.
func (l *limit) over() bool { return l.by != 0 && clock.Nano() >= l.by }

// headTimeout is how long a head may take: with a ReadTimeout no longer than the
// whole request.
func (c *Config) headTimeout() time.Duration {
	if c.ReadTimeout > 0 && (c.HeaderTimeout <= 0 || c.ReadTimeout < c.HeaderTimeout) {
		return c.ReadTimeout
	}
	return c.HeaderTimeout
}

// expectHead has the time for a head run.
func (s *Session) expectHead() {
	if s.cfg.ReadTimeout > 0 {
		s.needs().began = clock.Nano()
	}
	s.deadline(s.cfg.headTimeout())
}

// limit sets the limits of an exchange whose head is complete.
func (s *Session) limit(w *work) {
	w.read, w.write = limit{}, limit{}
	if d := s.cfg.ReadTimeout; d > 0 {
		r := s.needs()
		began := r.began
		if r.began = 0; began == 0 {
			began = clock.Nano()
		}
		w.read.by = began + int64(d)
	}
	if d := s.cfg.WriteTimeout; d > 0 {
		w.write.by = clock.Nano() + int64(d)
	}
}

// deadline has the connection expire after d, or never.
func (s *Session) deadline(d time.Duration) { s.conn.SetTimeout(max(d, 0)) }

// owe has the time run in which the client is to take its output. queued is what
// the call in progress leaves.
func (s *Session) owe(queued int) {
	s.owing = true
	s.deadline(s.cfg.StallTimeout)
	switch {
	case s.conn.Pending() > 0:
		s.needs().mark = s.conn.Untaken() + queued
	case s.rare != nil:
		s.rare.mark = unmarked // most likely the kernel takes all of it at once
	}
}

// unmarked is the mark of output of which nobody has asked how much the client's
// system had not taken: that is worth a system call only if the kernel leaves some of
// it for as long as StallTimeout, so that a client may have twice that.
const unmarked = math.MaxInt

// add counts bytes that are to be taken in the time that runs.
func (s *Session) add(queued int) {
	if r := s.rare; r != nil && r.mark != unmarked {
		r.mark += queued
	}
}

// overdue judges the client when that time is over, and gives one that keeps pace
// some more.
func (s *Session) overdue() bool {
	if s.rare == nil {
		s.needs().mark = unmarked
	}
	if !s.keepsPace(&s.rare.mark) {
		return true
	}
	s.deadline(s.cfg.StallTimeout)
	return false
}

// patience is how long one wait for the client may take: 0 is for ever, and less
// is that the time is over.
func (s *Session) patience(l *limit) time.Duration {
	d := max(s.cfg.StallTimeout, 0)
	if l.asked {
		d = 0
	}
	if l.by == 0 {
		return d
	}
	left := time.Duration(l.by - clock.Nano())
	switch {
	case left <= 0:
		return -1
	case d == 0 || left < d:
		return left
	}
	return d
}

// ask is a limit that a handler asks for.
func ask(t time.Time) limit {
	if t.IsZero() {
		return limit{asked: true}
	}
	return limit{by: clock.After(time.Until(t)), asked: true}
}

// SetReadDeadline implements exchange.Session.
func (s *Session) SetReadDeadline(t time.Time) {
	s.w.read = ask(t)
	s.conn.SetTimeout(s.patience(&s.w.read)) // somebody may be waiting
}

// SetWriteDeadline implements exchange.Session.
func (s *Session) SetWriteDeadline(t time.Time) {
	s.w.write = ask(t)
	s.conn.SetWriteTimeout(s.patience(&s.w.write))
}

// Share implements exchange.Session.
func (s *Session) Share(l sync.Locker) { s.w.shared = l }

// Slot implements exchange.Session.
func (s *Session) Slot() *any { return &s.needs().slot }

// Release implements exchange.Session.
func (s *Session) Release() {
	if s.released {
		return
	}
	w := s.w
	if rest := s.in; len(rest) > 0 {
		w.chunk = append(buf.Get(max(len(rest), readAhead)), rest...)
		w.rest = w.chunk
	}
	s.released = true
	s.in = nil
	s.conn.Release()
}
