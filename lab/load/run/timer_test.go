package run

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Compares the heap with a sorted list, with entries that are added, taken and removed in
// random order.
func TestTimers(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var h Timers
		var want []int64
		for range 2000 {
			switch rng.IntN(4) {
			case 0, 1:
				due := rng.Int64N(1000)
				h.Add(Timer{Due: due, ID: int32(due)})
				want = append(want, due)
				slices.Sort(want)
			case 2:
				now := rng.Int64N(1000)
				e, ok := h.Take(now)
				if wantOK := len(want) > 0 && want[0] <= now; ok != wantOK || ok && (e.Due != want[0] || e.ID != int32(want[0])) {
					t.Fatalf("seed %d: took %+v, %v at %d of %v", seed, e, ok, now, want)
				}
				if ok {
					want = want[1:]
				}
			case 3:
				if rng.IntN(50) == 0 {
					h.Keep(func(e Timer) bool { return e.Due%3 != 0 })
					want = slices.DeleteFunc(want, func(due int64) bool { return due%3 == 0 })
				}
			}
			next, ok := h.Next()
			if h.Len() != len(want) || ok != (len(want) > 0) || ok && next != want[0] {
				t.Fatalf("seed %d: next %d, %v with %d entries, want %v", seed, next, ok, h.Len(), want)
			}
		}
	}
}

func TestTimersAllocates(t *testing.T) {
	var h Timers
	fill := func() {
		for i := range int64(100) {
			h.Add(Timer{Due: -i})
		}
		for h.Len() > 0 {
			h.Take(0)
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
