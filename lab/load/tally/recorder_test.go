package tally

import (
	"math"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/results"
)

func TestFineBuckets(t *testing.T) {
	for ns := int64(1); ns < 60e9; ns += 1 + ns/97 {
		b := fineBucket(ns)
		if got, want := heatOf(b), results.HeatBucket(time.Duration(ns)); got != want {
			t.Fatalf("%d ns: heat bucket %d, want %d", ns, got, want)
		}
		us := float64(ns) / 1000
		if us < fineFloor(b) || us >= fineFloor(b+1)+1e-9 {
			t.Fatalf("%d ns: in bucket %d from %v to %v us", ns, b, fineFloor(b), fineFloor(b+1))
		}
	}
}

func TestTake(t *testing.T) {
	r := NewRecorder()
	for us := int64(1); us <= 1000; us++ {
		r.Latency(us*1000, 2)
	}
	p50, p99, heat := r.Take()
	if math.Abs(p50-500) > 35 || math.Abs(p99-990) > 65 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
	var sum uint64
	for i, h := range heat {
		sum += h[1]
		if h[1] == 0 || i > 0 && h[0] <= heat[i-1][0] {
			t.Errorf("heat entry %d is %v after %v", i, h, heat[max(i-1, 0)])
		}
	}
	if sum != 2000 || r.Hist.TotalCount() != 2000 {
		t.Errorf("%d in the heat, %d in the histogram, want 2000", sum, r.Hist.TotalCount())
	}
	if p50, p99, heat = r.Take(); p50 != 0 || p99 != 0 || len(heat) != 0 {
		t.Errorf("an empty tick has %v %v %v", p50, p99, heat)
	}
	r.Latency(-5, 1)
	r.Latency(math.MaxInt64, 1)
	if r.Hist.TotalCount() != 2002 || r.fine.total() != 2 {
		t.Error("latencies out of range are lost")
	}
}

func TestLatencyAllocates(t *testing.T) {
	r := NewRecorder()
	if n := testing.AllocsPerRun(100, func() { r.Latency(12345, 16) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
