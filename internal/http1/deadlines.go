package http1

import (
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
		s.began = clock.Nano()
	}
	s.deadline(s.cfg.headTimeout())
}

// limit sets the limits of an exchange whose head is complete.
func (s *Session) limit(w *work) {
	w.read, w.write = limit{}, limit{}
	if d := s.cfg.ReadTimeout; d > 0 {
		began := s.began
		if s.began = 0; began == 0 {
			began = clock.Nano()
		}
		w.read.by = began + int64(d)
	}
	if d := s.cfg.WriteTimeout; d > 0 {
		w.write.by = clock.Nano() + int64(d)
	}
}

// deadline has the connection expire after d, or never.
func (s *Session) deadline(d time.Duration) {
	if d <= 0 {
		s.conn.SetDeadline(time.Time{})
		return
	}
	s.conn.SetDeadline(clock.Now().Add(d))
}

// await sets the deadline of one wait for the client.
func (s *Session) await(l *limit) {
	by := l.by
	if stall := s.cfg.StallTimeout; stall > 0 && !l.asked {
		if n := clock.Nano() + int64(stall); by == 0 || n < by {
			by = n
		}
	}
	s.conn.SetDeadline(clock.Time(by))
}

// SetReadDeadline implements exchange.Host.
func (s *Session) SetReadDeadline(t time.Time) { s.w.read = limit{by: clock.At(t), asked: true} }

// SetWriteDeadline implements exchange.Host.
func (s *Session) SetWriteDeadline(t time.Time) { s.w.write = limit{by: clock.At(t), asked: true} }

// Share implements exchange.Host.
func (s *Session) Share(l sync.Locker) { s.w.shared = l }

// Slot implements exchange.Host.
func (s *Session) Slot() *any { return &s.slot }

// Release implements exchange.Host.
func (s *Session) Release() {
	if s.released {
		return
	}
	w := s.w
	if rest := s.in[s.off:]; len(rest) > 0 {
		w.chunk = append(buf.Get(max(len(rest), readAhead)), rest...)
		w.rest = w.chunk
	}
	s.released, s.parsed = true, false
	s.in, s.off = nil, 0
}
