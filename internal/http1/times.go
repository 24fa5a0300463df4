package http1

import (
	"math/rand/v2"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// times are the durations of the calls of one feed, in nanoseconds on the clock's scale. A
// stretch is time without a transfer.
type times struct {
	fed     int64 // when the feed began
	began   int64 // when the stretch began: with the feed, after a transfer, or with a call that is timed separately
	stretch int64 // the longest stretch of the call so far
	spent   int64 // sum of all stretches
	reads   uint8 // reads of content on the loop, counted up to fewReads+1
	watched bool  // a Watch is named
	unknown bool  // the clock was not read around all of them
}

// forget drops the record of a call.
func (t *times) forget() { t.stretch, t.spent, t.reads, t.unknown = 0, 0, 0, false }

// looks reports whether to read the clock around the next read of content on the loop,
// where no read waits: that costs 3 % of an upload that arrives in small pieces. So it is
// done for one call in four with more than fewReads; the durations of the others are
// unknown.
func (t *times) looks() bool {
	switch {
	case t.reads < fewReads:
		t.reads++
	case t.reads == fewReads:
		t.reads++
		t.unknown = rand.Uint32()%4 != 0 // at random: periodic traffic would always meet the same
	}
	return !t.unknown
}

// took records that a stretch has ended, and that another one begins.
func (t *times) took(end, next int64) {
	t.stretch = max(t.stretch, end-t.began)
	t.spent += end - t.began
	t.began = next
}

// transferred records that content was received, or output sent, since began, and returns
// how long that took. before is as for waited.
func (s *Session) transferred(before bool, began int64) time.Duration {
	s.waited(before)
	now := clock.Refresh()
	s.w.took(began, now)
	return time.Duration(now - began)
}

// called records that a call begins. If more of its content is to arrive, receiving the
// first part was a transfer, too, and a long one if the socket was full.
func (s *Session) called() {
	w := s.w
	w.forget()
	if w.several = !s.first; s.first {
		s.first = false
		w.fed = clock.Nano()
		w.began = w.fed
	}
	if n := w.x.ContentLength; n == exchange.UnknownLength || n > int64(len(s.in)) {
		w.began = clock.Refresh()
	}
}

// Stretch implements exchange.Session.
func (s *Session) Stretch() time.Duration {
	w, now := s.w, clock.Refresh()
	w.took(now, now)
	longest := w.stretch
	switch {
	case w.unknown && !s.conn.Detached(): // a call that was taken over did hold the loop
		longest = 0
	case w.spent > int64(feedSlow):
		longest = w.spent
	}
	w.forget()
	return time.Duration(longest)
}

// Watch implements exchange.Session.
func (s *Session) Watch(w *learn.Watch) {
	if !s.yielded && !s.w.several {
		s.conn.Watch(w)
		s.w.watched = w != nil
	}
}

// Held implements exchange.Session. The clock is read once for a request that arrived
// alone. For requests that arrive together it is read for each one only for a while after
// all of them together took long.
func (s *Session) Held() time.Duration {
	w := s.w
	told := w.watched && s.conn.Watch(nil) == nil
	if w.watched = false; told || s.yielded {
		return 0
	}
	if w.several || len(s.in) > 0 {
		if s.apart == 0 {
			if s.conn.Detached() || len(s.in) == 0 && clock.Refresh()-w.fed > int64(feedSlow) {
				s.apart = tellApart
			}
			return 0
		}
		s.apart--
	}
	held := s.Stretch()
	if s.apart > 0 && held > feedSlow {
		s.apart = tellApart
	}
	return held
}

const (
	// feedSlow is how long a feed may take before calls that arrive together are timed
	// separately, and the sum of a call's stretches before they count together.
	feedSlow = time.Millisecond
	// tellApart is how many calls are then timed, and again after each one that took that
	// long by itself.
	tellApart = 128
	// fewReads is how many reads of content are timed in every call.
	fewReads = 8
)

// waited records that the loop was given up to wait for the client, which is not the
// handler's fault. before is the result of conn.Detached before the wait.
func (s *Session) waited(before bool) {
	if !before && s.conn.Detached() {
		s.yielded = true
	}
}
