package cputime

import (
	"testing"
	"time"
)

// A function that waits costs nothing, and one that computes does.
func TestOfThread(t *testing.T) {
	if used := OfThread(func() { time.Sleep(50 * time.Millisecond) }); used < 0 || used >= 50*time.Millisecond {
		t.Errorf("a wait of 50 ms costs %v", used)
	}
	used, rounds := time.Duration(0), 0
	for ; used < time.Millisecond && rounds < 1_000_000; rounds++ {
		used += OfThread(func() {
			for range 1 << 12 {
			}
		})
	}
	if used < time.Millisecond {
		t.Errorf("%d loops cost %v", rounds, used)
	}
}
