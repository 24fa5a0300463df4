package bpf

import (
	"math"
	"testing"
)

// bucketOf is the bucket that the programs count a time in, see tick in program/src/state.h.
func bucketOf(ns uint64) int {
	if ns < 1024 {
		return 0
	}
	log := int(math.Floor(math.Log2(float64(ns))))
	return min(1+(log-10)*4+int(ns>>(log-2)&3), len(Hist{}.Buckets)-1)
}

func TestBounds(t *testing.T) {
	for _, ns := range []uint64{0, 1, 1023, 1024, 1279, 1280, 5000, 1e6, 1e9, 60e9} {
		low, high := bounds(bucketOf(ns))
		if s := float64(ns) / 1e9; s < low || s >= high {
			t.Errorf("%d ns are not from %v to %v s", ns, low, high)
		}
	}
	for i := 1; i < len(Hist{}.Buckets); i++ {
		_, before := bounds(i - 1)
		if low, high := bounds(i); low != before || high <= low || high/low > 1.2500001 {
			t.Errorf("bucket %d: %v to %v, after %v", i, low, high, before)
		}
	}
}

func TestQuantile(t *testing.T) {
	var h Hist
	if h.Quantile(0.5) != 0 || h.Mean() != 0 {
		t.Error("an empty distribution has a quantile")
	}
	for range 99 {
		h.Buckets[bucketOf(10e3)]++
		h.Seconds += 10e-6
	}
	h.Buckets[bucketOf(1e9)]++
	h.Seconds++
	for q, want := range map[float64]float64{0: 10e-6, 0.5: 10e-6, 0.99: 10e-6, 0.995: 1, 1: 1} {
		if got := h.Quantile(q); got < want/1.2 || got > want*1.2 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if n, mean := h.Count(), h.Mean(); n != 100 || math.Abs(mean-0.0100099) > 1e-9 {
		t.Errorf("%d, mean %v", n, mean)
	}
	if d := h.sub(&h); d != (Hist{}) {
		t.Errorf("%+v", d)
	}
}
