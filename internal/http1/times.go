package http1

import (
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// times are what the calls of one feed have taken, in nanoseconds on the clock's scale. A
// stretch is time without a transfer.
type times struct {
	fed     int64 // when the feed began
	began   int64 // when the stretch did: with the feed, after a transfer, or with a call that is told apart
	stretch int64 // the longest one of the call so far
	spent   int64 // all of them
	reads   uint8 // of content, on the loop; no more than fewReads+1
	unknown bool  // the clock was not read around all of them
	often   uint8 // calls, of all that this has served, with more than fewReads
}

// forget drops what was noted of a call.
func (t *times) forget() { t.stretch, t.spent, t.reads, t.unknown = 0, 0, 0, false }

// looks reports whether to read the clock around the next read of content on the loop,
// where no read waits: that is 3 % of an upload which comes in small pieces. So it is
// done for one call in four with more than fewReads, and what the others take is not known.
func (t *times) looks() bool {
	switch {
	case t.reads < fewReads:
		t.reads++
	case t.reads == fewReads:
		t.reads++
		t.unknown = t.often%4 != 0
		t.often++
	}
	return !t.unknown
}

// took notes that a stretch has ended, and that another one begins.
func (t *times) took(end, next int64) {
	t.stretch = max(t.stretch, end-t.began)
	t.spent += end - t.began
	t.began = next
}

// transferred notes that content was received, or output sent, since began, and returns
// how long that took. before is as for waited.
func (s *Session) transferred(before bool, began int64) time.Duration {
	s.waited(before)
	now := clock.Refresh()
	s.w.took(began, now)
	return time.Duration(now - began)
}

// called notes that a call begins. Where more of its content is to come, receiving the
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
	case w.unknown:
		longest = 0
	case w.spent > int64(feedSlow):
		longest = w.spent
	}
	w.forget()
	return time.Duration(longest)
}

// Held implements exchange.Session. One reading of the clock is for a request that came
// alone; of those that come together it is read for each only for a while after all of
// them took long.
func (s *Session) Held() time.Duration {
	w := s.w
	if s.yielded {
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
	// feedSlow is how long a feed may take before calls that come together are told apart,
	// and the stretches of a call before they count together.
	feedSlow = time.Millisecond
	// tellApart is how many calls are then, and after each that alone took as long.
	tellApart = 128
	// fewReads of content are read with an eye on the clock in every call.
	fewReads = 8
)

// waited notes that the loop was given up to wait for the client, which is no
// fault of the handler's. before is what conn.Detached said before the wait.
func (s *Session) waited(before bool) {
	if !before && s.conn.Detached() {
		s.yielded = true
	}
}
