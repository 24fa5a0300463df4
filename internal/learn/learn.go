// Package learn remembers which handlers hold up their event loop, so that they
// are started off it from then on.
//
// A handler is judged by how long its calls take, between what they receive and send:
// that is known when they return, and needs nobody who looks meanwhile. Single calls say little: the garbage
// collector, a page fault or another process makes a quick one long. So what counts
// is their share.
package learn

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// Slow is how long a call may take before after of them make their handler one
	// that blocks, however many quick ones come between.
	Slow  = slower * time.Millisecond
	after = 2

	// long is from when a call is better off the loop, where it costs some
	// microseconds more: most of the latest window calls of a handler are, if most
	// of them make it one that blocks. Calls of less than short could stay.
	long   = slower * 50 * time.Microsecond
	short  = slower * 40 * time.Microsecond
	window = 16
	most   = 12

	// forget is how many calls off the loop are looked at together: when fewer than
	// few of them are not short, the handler does not block any more.
	forget = 256
	few    = forget / 4

	// A handler that is forgotten was long on the loop only. So long doubles for it each
	// time, doublings times at most, until it is seen to block off the loop, too, or
	// has not been forgotten for calm.
	doublings = 4
	calm      = time.Minute
)

// A Habit is what is known of one handler. Its zero value is ready; its methods
// may be called by any goroutine. Calls at the same time may lose a count.
type Habit struct {
	slow   atomic.Uint64 // calls
	recent atomic.Uint32 // the latest calls on the loop, a bit each: 1 is a long one
	ran    atomic.Uint32 // calls off the loop, and in the upper half those of them not short
	blocks atomic.Bool
	flaps  atomic.Uint32 // see doubled
	calm   atomic.Int64  // until when that is of late, in nanoseconds of Unix time
}

// Blocks reports whether the handler is to be started off the loop.
func (h *Habit) Blocks() bool { return h.blocks.Load() }

// Slows is how many calls have held up their loop for more than Slow since the
// handler was last taken for one that does not block.
func (h *Habit) Slows() uint64 { return h.slow.Load() }

// Held notes how long a call on the loop took; 0 is not known. It reports whether
// that has made the handler one that blocks.
func (h *Habit) Held(d time.Duration) (learned bool) {
	recent := h.recent.Load()
	if d < long && (recent == 0 || d == 0) {
		return false // the usual case writes nothing
	}
	recent = recent << 1 & (1<<window - 1)
	if d >= h.long() {
		recent |= 1
	}
	h.recent.Store(recent)
	if d > Slow && h.slow.Add(1) >= after || bits.OnesCount32(recent) >= most {
		return h.learn()
	}
	return false
}

// long is from when a call of this handler counts as a long one.
func (h *Habit) long() time.Duration { return long << min(h.doubled(), doublings) }

// doubled is how often the handler was forgotten of late.
func (h *Habit) doubled() uint32 {
	if h.calm.Load() < time.Now().UnixNano() {
		return 0
	}
	return h.flaps.Load()
}

// learn takes the handler for one that blocks, and reports whether that is news.
func (h *Habit) learn() bool {
	if h.blocks.Load() {
		return false
	}
	h.ran.Store(0)
	return h.blocks.CompareAndSwap(false, true)
}

// Ran notes how long a call off the loop took; 0 is not known. It reports whether the handler
// was taken for one that blocks until now, and is not any more.
func (h *Habit) Ran(d time.Duration) (forgotten bool) {
	if d == 0 {
		return false
	}
	one := uint32(1)
	if d >= short {
		one |= 1 << 16
	}
	n := h.ran.Add(one)
	if n&0xffff < forget {
		return false
	}
	h.ran.Store(0)
	if n>>16 >= few {
		h.flaps.Store(0)
		return false
	}
	h.flaps.Store(h.doubled() + 1)
	h.calm.Store(time.Now().Add(calm).UnixNano())
	h.slow.Store(0)
	h.recent.Store(0)
	return h.blocks.Swap(false)
}
