package results

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A quantile of counts lies within the bucket of the true one.
func TestHeatQuantile(t *testing.T) {
	var counts [HeatBuckets]uint64
	if _, ok := HeatQuantile(&counts, 0.5); ok {
		t.Error("a quantile of nothing")
	}
	for us := range 1000 {
		counts[HeatBucket(time.Duration(us)*time.Microsecond)]++
	}
	for _, q := range []float64{0.01, 0.5, 0.95, 0.99, 1} {
		us, ok := HeatQuantile(&counts, q)
		if !ok || math.Abs(us-1000*q) > 0.25*1000*q+1.25 {
			t.Errorf("quantile %v of 0 to 999 µs is %v", q, us)
		}
	}
}

// One that its samples cannot carry is none.
func TestLatencyQuantile(t *testing.T) {
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	for us := range int64(200) {
		if err := h.RecordValue(1000 * (us + 1)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := NewLatency(h)
	if err != nil {
		t.Fatal(err)
	}
	if v := l.Quantile(0.95); v == nil || math.Abs(*v-190) > 1 {
		t.Errorf("p95 %v", v)
	}
	if v := l.Quantile(0.99); v != nil {
		t.Errorf("p99 %v of 200 samples", *v)
	}
	l.Histogram = "none"
	if v := l.Quantile(0.5); v != nil {
		t.Errorf("p50 %v of a damaged histogram", *v)
	}
}
