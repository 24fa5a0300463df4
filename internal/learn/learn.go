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
	// handler.
	Slow = time.Millisecond * slower

	// after is how many slow calls make a handler one that blocks: a single one may
	// be the garbage collector's, or a page fault's.
	after = 2
	// forget is how many quick calls in a row make it one that does not.
	forget = 1000
	// quick is how long a call may take that could have stayed on the loop.
	quick = 100 * time.Microsecond
)

// A Habit is what is known of one handler. Its zero value is ready; its methods
// may be called by any goroutine.
type Habit struct {
	slow   atomic.Uint64 // calls
	blocks atomic.Bool
	quick  atomic.Int32 // calls off the loop in a row that did not block
}

// Blocks reports whether the handler is to be started off the loop.
func (h *Habit) Blocks() bool { return h.blocks.Load() }

// Slows is how many calls have held up their loop since it was last taken for a
// handler that does not block.
func (h *Habit) Slows() uint64 { return h.slow.Load() }

// Held notes a call that has held its loop for longer than Slow.
func (h *Habit) Held() {
	if h.slow.Add(1) >= after {
		h.quick.Store(0)
		h.blocks.Store(true)
	}
}

// Ran notes how long a call off the loop took, and reports whether the handler
// was taken for one that blocks until now, and is not any more.
func (h *Habit) Ran(d time.Duration) (forgotten bool) {
	if d > quick {
		h.quick.Store(0)
		return false
	}
	if h.quick.Add(1) < forget {
		return false
	}
	h.slow.Store(0)
	return h.blocks.Swap(false)
}
