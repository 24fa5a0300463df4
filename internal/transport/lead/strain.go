package lead

import (
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/clock"
)

const (
	// often is how many takeovers in a row a loop bears, and recovery the time after which it
	// bears one more.
	often    = 4
	recovery = int64(250 * time.Millisecond)
	// soon is how long after a takeover a call may return without a strain to the loop: on a
	// busy machine quick calls are taken over, too, because they have no processor.
	soon = int64(50 * time.Millisecond)
	// rare is how many calls there are on a loop between two such takeovers if quick calls are what
	// they meet. Calls that always take that long are a strain if they are more.
	rare = 1000
	// pardons is how many of them in a row are no strain all the same, and pardon the time after which
	// one more is none.
	pardons = 4
	pardon  = int64(500 * time.Millisecond)
)

// A strain bounds the takeovers of one loop, each of which has held it up for some
// milliseconds: whatever calls do not return, and however many different ones, most of them
// do not hold the loop. It is the generic cell rate algorithm.
type strain struct {
	recovery int64        // nanoseconds
	due      int64        // when the loop bears another takeover, on the clock's scale; under crew.mu
	until    atomic.Int64 // due if that is to come, or was not long ago; otherwise 0
	pardoned int64        // as due, for takeovers that are uncounted; under crew.mu
}

func (s *strain) init(recovery int64) {
	s.recovery, s.due = recovery, -often*recovery // the clock may have started just now
	s.pardoned = -pardons * pardon
}

// add counts a takeover, and forgive uncounts one: if they are rare, or have not been forgiven often
// lately. crew.mu is held.
func (s *strain) add(now int64) {
	s.set(max(s.due, now-(often-1)*s.recovery)+s.recovery, now)
}

func (s *strain) forgive(now int64, rare bool) {
	switch {
	case rare:
	case s.pardoned > now:
		return
	default:
		s.pardoned = max(s.pardoned, now-(pardons-1)*pardon) + pardon
	}
	s.set(s.due-s.recovery, now)
}

func (s *strain) set(due, now int64) {
	if s.due = due; due <= now {
		due = 0
	}
	s.until.Store(due)
}

// lasts reports whether foreign code must not hold the loop now.
func (s *strain) lasts() bool {
	until := s.until.Load()
	if clock.Nano() < until {
		return true
	}
	s.until.CompareAndSwap(until, 0)
	return false
}
