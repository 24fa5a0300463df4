package tally

import (
	"testing"
	"time"
)

// TestThread counts the time between two turns, without that for which the thread was to sleep.
func TestThread(t *testing.T) {
	const ms = int64(time.Millisecond)
	var thread Thread
	thread.Begin(100*ms, 1000*ms)
	for _, turn := range []struct{ until, now, want int64 }{
		{0, 4 * ms, 0},               // a turn that took long
		{20 * ms, 20 * ms, 0},        // it slept
		{40 * ms, 30 * ms, 0},        // woken earlier, by an answer
		{50 * ms, 54 * ms, 0},        // woken a little late
		{70 * ms, 150 * ms, 80 * ms}, // woken late
		{0, 350 * ms, 200 * ms},      // a turn in which it was not run
		{0, 340 * ms, 0},             // a clock that was read before
		{990 * ms, 2000 * ms, 1010 * ms},
	} {
		if turn.until > 0 {
			thread.Slept(turn.until, turn.now)
		}
		if got := thread.Turn(turn.now); got != turn.want {
			t.Errorf("at %v after a wait until %v: stalled for %v, want %v", time.Duration(turn.now), time.Duration(turn.until), time.Duration(got), time.Duration(turn.want))
		}
	}
	if lost := thread.Take(); lost != 1290*ms || thread.Take() != 0 {
		t.Errorf("lost %v", time.Duration(lost))
	}
	if all := thread.Stalls.Sum(); all.Times != 3 || all.Seconds < 0.2599 || all.Seconds > 0.2601 { // of the window
		t.Errorf("%+v", all)
	}
}
