package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tailSamples is how many samples must be beyond a quantile for it to be reported: with
// fewer it depends on a handful of requests.
const tailSamples = 10

// Carries reports whether count samples are enough for the quantile q (0 to 1): ten have to
// be beyond it, or below it for one under the median.
func Carries(count uint64, q float64) bool {
	return float64(count)*min(q, 1-q) >= tailSamples-1e-8
}

// maxPercentile is the highest percentile that can be named: it takes ten million samples.
const maxPercentile = 99.9999

// A Percentile is a percentile of a Latency.
type Percentile struct {
	Percent float64  `json:"percent"` // above 0 and below 100
	Us      *float64 `json:"us"`      // nil: the samples cannot carry it
}

// PercentileName returns the name of a percentile, as p99.95.
func PercentileName(percent float64) string {
	return "p" + strconv.FormatFloat(percent, 'f', -1, 64)
}

// ParsePercentile reads the name of a percentile, as p99.95, and returns 99.95; false if it
// is none, or not one from above 0 to 99.9999.
func ParsePercentile(name string) (percent float64, ok bool) {
	digits, is := strings.CutPrefix(name, "p")
	if !is || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || percent <= 0 || percent > maxPercentile {
		return 0, false
	}
	return percent, true
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
		P50: us(0.5), P90: us(0.9), P95: us(0.95), P99: us(0.99), P999: us(0.999), P9999: us(0.9999),
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

// maxPercentiles bounds how many can be asked for.
const maxPercentiles = 20

// ParsePercentiles reads a list such as 50,95,p99.95, and returns the percentiles in order.
// Its errors say what to write instead.
func ParsePercentiles(list string) (percents []float64, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		percent, ok := ParsePercentile("p" + strings.TrimPrefix(name, "p"))
		if !ok {
			return nil, fmt.Errorf("%q is no percentile: write numbers above 0, up to %v, as 50,95,99.95", name, maxPercentile)
		}
		percents = append(percents, percent)
	}
	slices.Sort(percents)
	if percents = slices.Compact(percents); len(percents) > maxPercentiles {
		return nil, fmt.Errorf("these are %d percentiles: write %d at most", len(percents), maxPercentiles)
	}
	return percents, nil
}

// stored returns one of the percentiles that every Latency has, which files of before p95
// was one may lack.
func (l *Latency) stored(percent float64) *float64 {
	switch percent {
	case 50:
		return l.P50
	case 90:
		return l.P90
	case 95:
		return l.P95
	case 99:
		return l.P99
	case 99.9:
		return l.P999
	case 99.99:
		return l.P9999
	}
	return nil
}

// Percentile returns a percentile (above 0 and below 100) in microseconds; nil when the
// samples cannot carry it, or the histogram cannot be read.
func (l Latency) Percentile(percent float64) *float64 {
	if us := l.stored(percent); us != nil {
		return us
	}
	for _, p := range l.Percentiles {
		if p.Percent == percent && p.Us != nil {
			return p.Us
		}
	}
	return l.Quantile(percent / 100)
}

// AddPercentiles puts percentiles into l beside those that it always has. It replaces those
// of an earlier call.
func (l *Latency) AddPercentiles(percents []float64) {
	l.Percentiles = nil
	for _, p := range percents {
		l.Percentiles = append(l.Percentiles, Percentile{p, l.Percentile(p)})
	}
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
