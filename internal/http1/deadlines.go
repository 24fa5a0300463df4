package http1

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// A limit bounds the waits of one exchange in one direction. With its zero value,
// StallTimeout bounds them.
type limit struct {
	by    int64 // on the clock's scale; 0 is never
	asked bool  // set by the handler: then nothing else bounds them
}

// over reports whether the time has passed.
func (l *limit) over() bool { return l.by != 0 && clock.Nano() >= l.by }

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
	s.outlive(&w.write)
}

// outlive lets the limit of an answer bound the wait for the client to accept the end of it, which
// may last longer than the exchange.
func (s *Session) outlive(l *limit) {
	if r := s.rare.Load(); r != nil {
		r.by = l.by
	} else if l.by != 0 {
		s.needs().by = l.by
	}
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
	w := s.w
	if w.read = ask(t); w.broken == exchange.ErrTimeout {
		w.broken = nil // as in net/http, reading goes on
	}
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
