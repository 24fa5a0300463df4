package results

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tailSamples is how many samples must be beyond a quantile for it to be reported: with
// fewer it depends on a handful of requests.
const tailSamples = 10

// Carries reports whether count samples are enough for the quantile q (0 to 1).
func Carries(count uint64, q float64) bool {
	return float64(count)*(1-q) >= tailSamples-1e-6
}

// NewLatency summarises a histogram of nanoseconds.
func NewLatency(h *hdrhistogram.Histogram) (Latency, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("encode histogram: %w", err)
	}
	return summary(h, string(encoded)), nil
}

// summary returns the Latency of a histogram whose encoded form is known.
func summary(h *hdrhistogram.Histogram, encoded string) Latency {
	count := uint64(h.TotalCount())
	us := func(q float64) *float64 {
		if !Carries(count, q) {
			return nil
		}
		v := float64(h.ValueAtQuantile(q*100)) / 1e3
		return &v
	}
	return Latency{
		Count: count, MeanUs: h.Mean() / 1e3, MaxUs: float64(h.Max()) / 1e3,
		P50: us(0.5), P90: us(0.9), P99: us(0.99), P999: us(0.999), P9999: us(0.9999),
		Histogram: encoded,
	}
}

// ParseLatency summarises an encoded histogram of nanoseconds.
func ParseLatency(encoded string) (Latency, error) {
	h, err := Latency{Histogram: encoded}.Decode()
	if err != nil {
		return Latency{}, err
	}
	return summary(h, encoded), nil
}

// Quantile reads a quantile (0 to 1) from the histogram, in microseconds; nil when the
// samples cannot carry it, or the histogram cannot be read.
func (l Latency) Quantile(q float64) *float64 {
	if !Carries(l.Count, q) {
		return nil
	}
	h, err := l.Decode()
	if err != nil {
		return nil
	}
	us := float64(h.ValueAtQuantile(100*q)) / 1e3
	return &us
}

// Decode returns the histogram that l was made from, in nanoseconds.
func (l Latency) Decode() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(l.Histogram))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return h, nil
}

// MergeLatency returns the distribution of all samples: histograms are merged, quantiles
// are never averaged.
func MergeLatency(parts []Latency) (Latency, error) {
	var sum *hdrhistogram.Histogram
	for _, p := range parts {
		h, err := p.Decode()
		if err != nil {
			return Latency{}, err
		}
		if sum == nil {
			sum = h
			continue
		}
		if lost := sum.Merge(h); lost > 0 {
			return Latency{}, fmt.Errorf("merge histograms: %d samples are outside of the range", lost)
		}
	}
	if sum == nil {
		return Latency{}, nil
	}
	return NewLatency(sum)
}
