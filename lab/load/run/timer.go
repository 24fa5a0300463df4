package run

// Timer is one entry of Timers. ID and Generation identify its owner, What the action.
type Timer struct {
	Due        int64
	ID         int32
	Generation int32 // distinguishes current entries from those whose owner no longer exists
	What       uint8
}

// Timers is a queue of the timers of a load generator's connections, ordered by time. It has
// no clock; time is nanoseconds on any axis that the caller chooses. The zero value is empty
// and ready for use. It belongs to one goroutine, and allocates only while it grows.
type Timers struct {
	list []Timer
}

// Len returns the number of entries.
func (h *Timers) Len() int { return len(h.list) }

// Next returns when the first entry is due, or false if there is none.
func (h *Timers) Next() (due int64, ok bool) {
	if len(h.list) == 0 {
		return 0, false
	}
	return h.list[0].Due, true
}

// Add adds an entry.
func (h *Timers) Add(e Timer) {
	h.list = append(h.list, e)
	i := len(h.list) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.list[up].Due <= e.Due {
			break
		}
		h.list[i] = h.list[up]
		i = up
	}
	h.list[i] = e
}

// Take removes the first entry if it is due. The order of entries with the same time is
// undefined.
func (h *Timers) Take(now int64) (e Timer, ok bool) {
	if len(h.list) == 0 || h.list[0].Due > now {
		return Timer{}, false
	}
	e = h.list[0]
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	if len(h.list) > 0 {
		h.sink(0, last)
	}
	return e, true
}

// Keep removes the entries for which keep returns false.
func (h *Timers) Keep(keep func(Timer) bool) {
	kept := h.list[:0]
	for _, e := range h.list {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	h.list = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		h.sink(i, kept[i])
	}
}

// sink moves e down from i to its place.
func (h *Timers) sink(i int, e Timer) {
	for {
		down := 2*i + 1
		if down >= len(h.list) {
			break
		}
		if down+1 < len(h.list) && h.list[down+1].Due < h.list[down].Due {
			down++
		}
		if e.Due <= h.list[down].Due {
			break
		}
		h.list[i] = h.list[down]
		i = down
	}
	h.list[i] = e
}
