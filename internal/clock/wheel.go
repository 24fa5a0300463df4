package clock

import "time"

const (
	// Slot is the precision of a [Wheel].
	Slot = 50 * time.Millisecond
	// slots is a power of two; entries beyond the length of the wheel wait in its last slot
	// and are put back.
	slots = 512
)

// A Wheel holds timer entries by the slot of time in which they are due. It belongs to one
// loop and is not safe for concurrent use. The zero value is ready.
type Wheel struct {
	heads [slots]*Entry
	tick  int64 // slot that Pop works on
	first int64 // no entry is in an earlier slot, from tick on
	n     int
}

// An Entry is a timer, to be embedded in the object that it times. The zero value is in no
// wheel.
type Entry struct {
	next *Entry
	prev **Entry // the pointer to this entry; nil if it is in no wheel
	due  int64
}

// Set reports whether the entry is in a wheel.
func (e *Entry) Set() bool { return e.prev != nil }

// Due is the time the entry was last added for, on the scale of [Nano].
func (e *Entry) Due() int64 { return e.due }

// Len is the number of entries in the wheel.
func (w *Wheel) Len() int { return w.n }

// Add puts an entry into the wheel, or moves it, to be popped at due or up to one [Slot]
// after it. now is the current time.
func (w *Wheel) Add(e *Entry, due, now int64) {
	w.Remove(e)
	if w.n == 0 {
		w.tick = max(w.tick, now/int64(Slot)) // no entry remains to be popped before that
		w.first = w.tick + slots
	}
	at := min(max(due/int64(Slot)+1, w.tick), w.tick+slots-1)
	w.first = min(w.first, at)
	head := &w.heads[at&(slots-1)]
	e.next, e.prev, e.due = *head, head, due
	if e.next != nil {
		e.next.prev = &e.next
	}
	*head = e
	w.n++
}

// Remove takes an entry out of the wheel, if it is in the wheel.
func (w *Wheel) Remove(e *Entry) {
	if e.prev == nil {
		return
	}
	*e.prev = e.next
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
	w.n--
}

// Pop removes and returns one entry whose slot has come, or nil if there is none at the
// time now. The wheel is consistent between calls: handling an entry may add and remove
// others, and may never return.
func (w *Wheel) Pop(now int64) *Entry {
	end := now / int64(Slot)
	for ; w.n > 0 && w.tick <= end; w.tick++ {
		if e := w.heads[w.tick&(slots-1)]; e != nil {
			w.Remove(e)
			return e
		}
	}
	return nil
}

// Due reports whether Pop may find something at the time now. It costs a comparison.
func (w *Wheel) Due(now int64) bool { return w.n > 0 && w.tick <= now/int64(Slot) }

// Next is the time at which Pop is worth calling again; 0 is never.
func (w *Wheel) Next() int64 {
	if w.n == 0 {
		return 0
	}
	for w.first = max(w.first, w.tick); w.heads[w.first&(slots-1)] == nil; w.first++ {
	}
	return w.first * int64(Slot)
}
