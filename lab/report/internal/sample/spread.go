package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/results"
)

// spread is an invented latency distribution: a log-normal bulk and a slow mode.
type spread struct {
	median, sigma float64 // of the bulk; microseconds
	tail          float64 // share of the slow mode
}

func newSpread(connections int, rate, tail float64, rng *rand.Rand) spread {
	median := float64(connections) / rate * 1e6 // Little's law: a closed loop
	if connections > 1000 {
		median = 900
	}
	return spread{median: median * (1 + 0.01*rng.NormFloat64()), sigma: 0.18, tail: tail}
}

// steps is the resolution at which a distribution is recorded.
const steps = 400

// normal holds the midpoints of equal parts of the normal distribution.
var normal = func() (z [steps]float64) {
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/steps-1)
	}
	return z
}()

// each calls add with the latencies of n requests in some hundred groups.
func (s spread) each(n uint64, add func(us float64, n uint64)) {
	slow := uint64(float64(n) * s.tail)
	for part, n := range [2]uint64{n - slow, slow} {
		median, sigma := s.median, s.sigma
		if part == 1 {
			median, sigma = s.median*9, 0.45
		}
		var done uint64
		for i := 1; i <= steps; i++ {
			upto := uint64(float64(n) * float64(i) / steps)
			if i == steps {
				upto = n
			}
			if upto > done {
				add(median*math.Exp(sigma*normal[i-1]), upto-done)
			}
			done = upto
		}
	}
}

func (s spread) latency(n uint64) results.Latency {
	h := hdr.New(1, int64(time.Minute), 3)
	s.each(n, func(us float64, n uint64) {
		if err := h.RecordValues(int64(us*1000), int64(n)); err != nil {
			panic(fmt.Sprintf("sample: record %g us: %v", us, err))
		}
	})
	return Latency(h)
}

// Latency returns the distribution of a histogram of nanoseconds. It panics if the
// histogram cannot be encoded: only tests use it.
func Latency(h *hdr.Histogram) results.Latency {
	l, err := results.NewLatency(h)
	if err != nil {
		panic(fmt.Sprintf("sample: %v", err))
	}
	return l
}

// merge adds up the histograms of runs.
func merge(runs []results.Run) results.Latency {
	var parts []results.Latency
	for _, r := range runs {
		parts = append(parts, r.Latency)
	}
	l, err := results.MergeLatency(parts)
	if err != nil {
		panic(fmt.Sprintf("sample: %v", err))
	}
	return l
}

// series returns an invented time series of a run: a second of warm-up, then the window.
// Subjects that allocate have a sawtooth in their memory and occasional slow samples.
func (s spread) series(r *results.Run, rss, allocs float64, rng *rand.Rand) []results.Sample {
	var out []results.Sample
	for t := -1 + tick; t <= window+1e-9; t += tick {
		at, rate, share := s, r.Rate*(1+0.012*rng.NormFloat64()), 1-0.1*math.Exp(-(t+1)*2)
		if allocs > 0 {
			share *= 0.94 + 0.06*math.Mod(t+1, 0.8)/0.8
			if rng.IntN(12) == 0 {
				rate, at.tail, at.median = rate*0.9, s.tail*8, s.median*1.1
			}
		}
		p := results.Sample{
			T: math.Round(t*1000) / 1000, Rate: rate, P50Us: at.median, P99Us: at.median * math.Exp(at.sigma*2.33),
			ServerCPU: min(r.Rate*r.CPU.PerRequestUs*1e-6, 1), RSSBytes: uint64(rss * share * (1 << 20)),
		}
		if r.Runtime != nil {
			p.Goroutines = 70
		}
		var counts [results.HeatBuckets]uint64
		at.each(uint64(rate*tick), func(us float64, n uint64) {
			counts[results.HeatBucket(time.Duration(us*1000))] += n
		})
		for b, n := range counts {
			if n > 0 {
				p.Heat = append(p.Heat, [2]uint64{uint64(b), n})
			}
		}
		out = append(out, p)
	}
	return out
}
