package tally

import "time"

const (
	// minStall is the time without a turn of a loop from which on its thread counts as stalled:
	// turns take microseconds, and a sleeping thread is woken within a millisecond.
	minStall = int64(5 * time.Millisecond)

	// longStall is that from which on a result names it: five ticks of the kernel's clock.
	longStall = int64(50 * time.Millisecond)
)

// Thread notices when the thread of a generator's loop was not run: it was stopped, or another
// one had its CPU. Times are nanoseconds of the loop's clock. The zero value is ready for use,
// and has run at 0.
type Thread struct {
	Stalls Gaps // of the window, from 50 ms on

	turned int64 // time of the last turn, or until when it was to sleep
	lost   int64 // the sum of all stalls since it was last taken
}

// Turn is called at every turn of the loop, and whenever it matters that the thread ran. It
// returns for how long it was not run since then, or since it was to be woken; 0 if it was.
func (t *Thread) Turn(now int64) (stalled int64) {
	from := t.turned
	t.turned = max(now, from)
	if now-from < minStall {
		return 0
	}
	t.lost += now - from
	if now-from >= longStall {
		t.Stalls.Add(from, now)
	}
	return now - from
}

// Slept is called after a wait that was to end at a time, before Turn.
func (t *Thread) Slept(until, now int64) { t.turned = max(t.turned, min(until, now)) }

// Begin begins a window.
func (t *Thread) Begin(begin, end int64) { t.Stalls = NewGaps(begin, end) }

// Take returns the nanoseconds for which the thread was not run since the last call.
func (t *Thread) Take() (lost int64) {
	lost, t.lost = t.lost, 0
	return lost
}
