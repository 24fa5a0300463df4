package http2

import (
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// A write deadline bounds the response, not the waits for the client: when it passes, the
// stream is reset, whatever its handler is doing. One alarm is for all streams of a session.

// expect ends the stream if its write deadline has passed, and otherwise sets the alarm for it. s.mu
// is held.
func (st *stream) expect() {
	s, by := st.s, st.writeLimit.by
	switch {
	case by == 0 || st.reset || st.sentEnd:
	case by > clock.Refresh():
		s.due.set(by, s.expire)
	default:
		_ = st.fail(exchange.ErrTimeout)
		s.finish(st)
	}
}

// expire looks at all streams when the alarm rings.
func (s *Session) expire() {
	s.mu.Lock()
	defer s.unlock()
	s.due.at = 0
	if st := s.inline; st != nil && !st.kept {
		st.expect()
	}
	for _, st := range s.streams {
		st.expect()
	}
}

// An alarm calls a function when the first of several times has come. It has one timer, which is
// rarely set anew, so it may ring for a time that no longer matters. The session's mu guards it.
type alarm struct {
	timer *time.Timer
	at    int64 // when it rings, on the clock's scale; 0 is never: its function sets it to 0
}

// covers reports whether the alarm rings at that time, or before.
func (a *alarm) covers(at int64) bool { return a.at != 0 && a.at <= at }

// set makes the alarm call f at that time, or before. f is the same each time.
func (a *alarm) set(at int64, f func()) {
	if a.covers(at) {
		return
	}
	a.at = at
	switch d := time.Duration(at - clock.Refresh()); {
	case a.timer == nil:
		a.timer = time.AfterFunc(d, f)
	default:
		a.timer.Reset(d)
	}
}

// stop makes the alarm ring no more.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
