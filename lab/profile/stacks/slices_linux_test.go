package stacks

import (
	"testing"
	"time"
)

// Samples name the part of the window in which they were taken, and none is lost by it.
func TestSlices(t *testing.T) {
	x := start(t, goProgram(t), "work")
	const parts = 4
	seen := map[int64]bool{}
	takeUntil(t, Options{PIDs: []int{x.pid}, Slices: parts}, func(q *asked) bool {
		for _, s := range q.p.Sample {
			at := s.NumLabel["slice"]
			if len(at) != 1 || at[0] < 0 || at[0] >= parts {
				t.Fatalf("a sample has the labels %v", s.NumLabel)
			}
			seen[at[0]] = true
		}
		return len(seen) == parts
	})
}

// The parts of a window are equal; what comes late or early belongs to the last or first.
func TestSlice(t *testing.T) {
	s := &session{opts: Options{For: time.Second, Slices: 10}, began: 5e9}
	for at, want := range map[uint64]uint16{5e9: 1, 5e9 + 1e8 - 1: 1, 5e9 + 1e8: 2, 5e9 + 999e6: 10, 7e9: 10, 4e9: 1} {
		if got := s.slice(at); got != want {
			t.Errorf("%d is in part %d, want %d", at, got, want)
		}
	}
	s.opts.Slices = 0
	if got := s.slice(5e9); got != 0 {
		t.Errorf("part %d without parts", got)
	}
}

// When there are very many stacks, parts are given up before stacks are.
func TestSlicesFull(t *testing.T) {
	s, sp := newSamples(), &space{number: 1}
	const stacks = maxStacks/2 - 100
	for round := range 2 {
		for i := range stacks {
			s.add(place{space: sp, slice: uint16(round + 1), user: []uint64{uint64(i), 7}}, 1, 1)
		}
	}
	if s.folded != 0 || s.missing != 0 || s.total != 2*stacks {
		t.Errorf("%d of %d samples have lost their stack, %d are missing", s.folded, s.total, s.missing)
	}
	told := 0
	for _, b := range s.buckets {
		if b.slice > 0 {
			told++
		}
	}
	if told != maxStacks/2 {
		t.Errorf("%d stacks tell their part, want %d", told, maxStacks/2)
	}
}
