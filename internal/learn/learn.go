// Package learn remembers which handlers hold their event loop, so that their later calls
// start off it.
//
// A handler is judged by the duration of its calls between receiving and sending: this is
// known when they return, and needs no observer in between. Single calls say little,
// because the garbage collector, a page fault or another process can make a quick call
// long. So the share of long calls counts.
package learn

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// Slow is how long a call may take; after this many longer calls the handler counts as
	// one that blocks, however many quick ones come between.
	Slow  = slower * time.Millisecond
	after = 2

	// long is the duration from which a call is better off the loop, where it costs some
	// microseconds more. A handler counts as one that blocks if most of its latest window
	// calls are long. Calls of less than short could stay on the loop.
	long   = slower * 50 * time.Microsecond
	short  = slower * 40 * time.Microsecond
	window = 16
	most   = 12

	// forget is how many calls off the loop are evaluated together: if fewer than few of
	// them are not short, the handler no longer counts as one that blocks.
	forget = 256
	few    = forget / 4

	// A handler that is forgotten when hardly a call off the loop was long, since it was
	// learned, was long only on the loop. So long doubles for it each time, at most doublings
	// times, until it is seen to block off the loop, too, or has not been forgotten for calm.
	hardly    = forget / 16
	doublings = 4
	calm      = time.Minute
)

// A Habit is what is known about one handler. Its zero value is ready; any goroutine may
// call its methods. Concurrent calls may lose a count.
type Habit struct {
	slow   atomic.Uint64 // calls
	recent atomic.Uint32 // the latest calls on the loop, one bit each: 1 is a long one
	ran    atomic.Uint32 // calls off the loop, and in the upper half those that were not short
	blocks atomic.Bool
	out    atomic.Int32  // calls off the loop that have not returned
	stuck  atomic.Int32  // what out was when calls off the loop were last evaluated
	found  atomic.Bool   // by Shapes, for a request since the shapes last had to make room
	proven atomic.Bool   // it has blocked off the loop since it was learned
	flaps  atomic.Uint32 // see doubled
	calm   atomic.Int64  // until when flaps counts, in nanoseconds since begun
}

// begun is the origin of a monotonic clock.
var begun = time.Now()

// Blocks reports whether the handler should start off the loop.
func (h *Habit) Blocks() bool { return h.blocks.Load() }

// Slows is how many calls have held their loop for more than Slow since the handler was
// last considered not to block.
func (h *Habit) Slows() uint64 { return h.slow.Load() }

// Held records how long a call on the loop took; 0 means unknown. It reports whether the
// handler now counts as one that blocks because of it.
func (h *Habit) Held(d time.Duration) (learned bool) {
	recent := h.recent.Load()
	isLong := d >= long && d >= h.long()
	if !isLong && (recent == 0 || d == 0) {
		return false // the usual case writes nothing
	}
	recent = recent << 1 & (1<<window - 1)
	if isLong {
		recent |= 1
	}
	h.recent.Store(recent)
	if d > Slow && h.slow.Add(1) >= after || bits.OnesCount32(recent) >= most {
		return h.learn()
	}
	return false
}

// Overran records that a call, which may never return, has held its loop until it was taken
// over. Such a call is not to be recorded by Held as well.
func (h *Habit) Overran() { h.Held(Slow + 1) }

// long is the duration from which a call of this handler counts as long.
func (h *Habit) long() time.Duration { return long << min(h.doubled(), doublings) }

// doubled is how often the handler was forgotten recently.
func (h *Habit) doubled() uint32 {
	n := h.flaps.Load()
	if n > 0 && h.calm.Load() < int64(time.Since(begun)) {
		return 0
	}
	return n
}

// learn marks the handler as one that blocks, and reports whether that is new.
func (h *Habit) learn() bool {
	if h.blocks.Load() {
		return false
	}
	h.ran.Store(0)
	h.stuck.Store(h.out.Load())
	h.proven.Store(false)
	return h.blocks.CompareAndSwap(false, true)
}

// Begin records that a call off the loop begins. Ran has to follow it.
func (h *Habit) Begin() { h.out.Add(1) }

// Ran records that a call off the loop has returned, and how long it took; 0 means unknown. It
// reports whether the handler counted as one that blocks until now, and no longer does.
// Calls that do not return count, too: by how many more of them there are than when calls were
// last evaluated.
func (h *Habit) Ran(d time.Duration) (forgotten bool) {
	out := h.out.Add(-1)
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
	stuck := max(0, out-h.stuck.Swap(out))
	if n>>16+uint32(stuck) >= few {
		h.proven.Store(true)
		h.flaps.Store(0)
		return false
	}
	if n>>16 < hardly && !h.proven.Load() {
		h.calm.Store(int64(time.Since(begun) + calm))
		h.flaps.Store(h.doubled() + 1)
	}
	h.slow.Store(0)
	h.recent.Store(0)
	return h.blocks.Swap(false)
}
