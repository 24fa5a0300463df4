// Package learn remembers which handlers hold up their event loop, so that they
// are started off it from then on.
package learn

import (
	"sync/atomic"
	"time"
)

const (
	// after is how many times a handler is late until it counts as one that
	// blocks: one may be the garbage collector's, or a page fault's.
	after = 2
	// forget is how many quick runs in a row make it one that does not.
	forget = 1000
	// quick is how long a run may take that could have stayed on the loop.
	quick = 100 * time.Microsecond
)

// A Habit is what is known of one handler. Its zero value is ready; its methods
// may be called by any goroutine.
type Habit struct {
	lates  atomic.Uint64
	blocks atomic.Bool
	quick  atomic.Int32 // runs off the loop in a row that did not block
}

// Blocks reports whether the handler is to be started off the loop.
func (h *Habit) Blocks() bool { return h.blocks.Load() }

// Lates is how many times the handler was late since it was last taken for one
// that does not block.
func (h *Habit) Lates() uint64 { return h.lates.Load() }

// Late notes that a run held up its loop until that was taken over.
func (h *Habit) Late() {
	if h.lates.Add(1) >= after {
		h.quick.Store(0)
		h.blocks.Store(true)
	}
}

// Ran notes how long a run off the loop took, and reports whether the handler
// was taken for one that blocks until now, and is not any more.
func (h *Habit) Ran(d time.Duration) (forgotten bool) {
	if d > quick {
		h.quick.Store(0)
		return false
	}
	if h.quick.Add(1) < forget {
		return false
	}
	h.lates.Store(0)
	return h.blocks.Swap(false)
}
