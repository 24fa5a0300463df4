// Package learn remembers which handlers hold up their event loop, so that they
// are started off it from then on.
//
// A handler is judged by how long its calls have held their loop: that is known when
// they return, and needs nobody who looks meanwhile.
package learn

import (
	"sync/atomic"
	"time"
)

const (
	// Slow is how long a call may hold its loop before it counts against its
	// handler: many times what a hand-over costs.
	Slow = 50 * time.Microsecond * slower

	// within is how many calls of all handlers may lie between two slow ones of a
	// handler that is taken for one that blocks: a single one may be the garbage
	// collector's, or somebody else's who has the processor.
	within = 1024

	// quick is how long a call off the loop takes that could have stayed there. It
	// is less than Slow, so that no handler is taken for one and the other in turn.
	quick = 20 * time.Microsecond
	// forget is how many quick calls in a row make it a handler that does not block,
	// for the first time; each time that it is learned again it takes twice as many.
	forget    = 1000
	forgetMax = 1 << 20
)

// A Habit is what is known of one handler. Its zero value is ready; its methods
// may be called by any goroutine.
type Habit struct {
	slow   atomic.Uint64 // calls
	last   atomic.Uint64 // of them, by the count of all calls, from 1 on; 0 is none
	blocks atomic.Bool
	quick  atomic.Int32 // calls off the loop in a row that did not block
	needs  atomic.Int32 // of these until it is forgotten; 0 is forget
}

// Blocks reports whether the handler is to be started off the loop.
func (h *Habit) Blocks() bool { return h.blocks.Load() }

// Slows is how many calls have held up their loop since it was last taken for a
// handler that does not block.
func (h *Habit) Slows() uint64 { return h.slow.Load() }

// Held notes a call that has held its loop for longer than Slow. calls is how many
// calls of all handlers there have been, more or less.
func (h *Habit) Held(calls uint64) {
	h.slow.Add(1)
	last := h.last.Swap(calls + 1)
	if last == 0 || calls+1-last > within || h.blocks.Load() {
		return
	}
	h.quick.Store(0)
	if h.blocks.CompareAndSwap(false, true) {
		h.needs.Store(min(2*h.needs.Load(), forgetMax))
		if h.needs.Load() == 0 {
			h.needs.Store(forget)
		}
	}
}

// Ran notes how long a call off the loop took, and reports whether the handler
// was taken for one that blocks until now, and is not any more.
func (h *Habit) Ran(d time.Duration) (forgotten bool) {
	if d > quick {
		h.quick.Store(0)
		return false
	}
	if h.quick.Add(1) < h.needs.Load() {
		return false
	}
	h.slow.Store(0)
	h.last.Store(0)
	return h.blocks.Swap(false)
}
