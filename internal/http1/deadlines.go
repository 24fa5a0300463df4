package http1

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
)

// A limit bounds the waits of one exchange in one direction. With its zero value,
// StallTimeout bounds them.
type limit struct {
	by    int64 // on the clock's scale; 0 is never
	asked bool  // set by the handler: then nothing else bounds them
}

// over reports whether the time has passed.
func (l *limit) over() bool { return l.by != 0 && clock.Nano() >= l.by }

// expectHead starts the timeout for a head.
func (s *Session) expectHead() {
	if s.cfg.ReadTimeout > 0 {
		s.needs().began = clock.Nano()
	}
	s.deadline(s.cfg.HeadTimeout())
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

// deadline makes the connection expire after d, or never.
func (s *Session) deadline(d time.Duration) { s.conn.SetTimeout(max(d, 0)) }

// owe starts the timeout for the client to accept its output. queued is the output of the
// current call.
func (s *Session) owe(queued int) {
	s.owing = true
	s.deadline(s.cfg.StallTimeout)
	if s.conn.Pending() > 0 {
		s.needs().mark = s.conn.Untaken() + queued
	} else if r := s.rare.Load(); r != nil {
		r.mark = unmarked // most likely the kernel accepts all of it at once
	}
}

// unmarked is the mark of output for which the untaken amount of the client's system has
// not been queried: that is worth a system call only if the kernel does not accept all of
// it within StallTimeout, so a client may have twice that.
const unmarked = math.MaxInt

// add counts bytes that have to be accepted within the running timeout.
func (s *Session) add(queued int) {
	if r := s.rare.Load(); r != nil && r.mark != unmarked {
		r.mark += queued
	}
}

// overdue decides about the client when that time is over, and gives one that keeps pace
// more time.
func (s *Session) overdue() bool {
	if !s.keepsPace(&s.needs().mark) {
		return true
	}
	s.deadline(s.cfg.StallTimeout)
	return false
}

// patience is how long one wait for the client may take: 0 means no limit, and a negative
// value that the time is over.
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

// ask is a limit that a handler sets.
func ask(t time.Time) limit {
	if t.IsZero() {
		return limit{asked: true}
	}
	return limit{by: clock.After(time.Until(t)), asked: true}
}

// SetReadDeadline implements exchange.Session.
func (s *Session) SetReadDeadline(t time.Time) {
	s.w.read = ask(t)
	s.conn.SetTimeout(s.patience(&s.w.read)) // a goroutine may be waiting
}

// SetWriteDeadline implements exchange.Session.
func (s *Session) SetWriteDeadline(t time.Time) {
	s.w.write = ask(t)
	s.conn.SetWriteTimeout(s.patience(&s.w.write))
}

// Share implements exchange.Session.
func (s *Session) Share(l sync.Locker) { s.w.shared = l }

// Slot implements exchange.Session.
func (s *Session) Slot() *atomic.Value { return &s.needs().slot }

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
