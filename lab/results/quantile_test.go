package results

import (
	"fmt"
	"math"
	"strings"
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
	for _, percent := range []float64{90, 95, 97, 50, 75, 2.5, 5, 99} {
		v := l.Percentile(percent)
		if few := percent < 5 || percent > 95; few != (v == nil) || v != nil && math.Abs(*v-2*percent) > 1 {
			t.Errorf("p%v %v", percent, v)
		}
	}
	l.AddPercentiles([]float64{75, 99})
	if p := l.Percentiles; len(p) != 2 || p[0].Percent != 75 || *p[0].Us != *l.Percentile(75) || p[1].Us != nil {
		t.Errorf("percentiles %v", p)
	}
	l.Histogram = "none"
	if v := l.Quantile(0.5); v != nil {
		t.Errorf("p50 %v of a damaged histogram", *v)
	}
}

func TestParsePercentiles(t *testing.T) {
	for text, want := range map[string]string{
		"50,75,95,99.95": "[50 75 95 99.95]", " p99 ,50,99.0": "[50 99]", "0.1,99.9999": "[0.1 99.9999]",
		"": `"" is no percentile`, "50,,99": `"" is no percentile`, "100": "is no percentile", "0": "is no percentile", "pp5": "is no percentile",
		"1e1": "is no percentile", "NaN": "is no percentile", "-5": "is no percentile", "50;99": "is no percentile",
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21": "21 percentiles: write 20 at most",
	} {
		list, err := ParsePercentiles(text)
		if got := fmt.Sprint(list, err); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
