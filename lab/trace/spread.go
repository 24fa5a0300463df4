package trace

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms cover a nanosecond to an hour with two digits. A longer time is in the highest
// bucket; its exact value is in max and total.
const (
	longest = int64(3600e9)
	digits  = 2
)

// beyond is how many samples lie above a percentile that is reported.
const beyond = 10

// spread collects a distribution. Its zero value is empty.
type spread struct {
	hist              *hdrhistogram.Histogram
	count, total, max int64
}

func (s *spread) add(ns int64) {
	if s.hist == nil {
		s.hist = hdrhistogram.New(1, longest, digits)
	}
	s.count++
	s.total = sum(s.total, ns)
	s.max = max(s.max, ns)
	_ = s.hist.RecordValue(min(max(ns, 1), longest)) // the value is within the bounds
}

// result returns the distribution.
func (s *spread) result() Spread {
	out := Spread{Count: s.count, TotalNS: s.total, MaxNS: s.max}
	out.P50NS, out.P99NS = s.percentile(50), s.percentile(99)
	return out
}

func (s *spread) percentile(p float64) *int64 {
	if float64(s.count)*(100-p) < 100*beyond {
		return nil
	}
	v := min(s.hist.ValueAtQuantile(p), s.max)
	return &v
}

// sum adds durations. It stays at the largest number where a hostile trace would overflow it.
func sum(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return 1<<63 - 1
}
