package compare

import (
	"math"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// slice holds the counts of a run between two points of its window.
type slice struct {
	seconds, requests, errors, cpu, rss float64
	heat                                [results.HeatBuckets]uint64
}

// sliced divides the window of a run into slices.
func sliced(d *present.Document) (list []slice) {
	last := 0.0
	for i := range d.Series {
		p := &d.Series[i]
		seconds := p.T - last
		if p.T <= 0 || seconds <= 0 {
			continue
		}
		last = p.T
		s := slice{seconds: seconds, requests: p.Rate * seconds, errors: float64(p.Errors), cpu: p.ServerCPU * seconds, rss: float64(p.RSSBytes)}
		for _, h := range p.Heat {
			if h[0] < results.HeatBuckets {
				s.heat[h[0]] += h[1]
			}
		}
		list = append(list, s)
	}
	return list
}

// layout returns the blocks in which slices are resampled: the longest that their rate or their
// latencies need.
func layout(list []slice) stats.Sliced {
	s := stats.Sliced{Slices: len(list), Block: 1}
	for _, of := range []func(*slice) float64{
		func(s *slice) float64 { return s.requests / s.seconds },
		func(s *slice) float64 { return logQuantile(&s.heat, 0.5) },
	} {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = of(&list[i])
		}
		s.Block = max(s.Block, stats.BlockLength(values))
	}
	return s
}

// sums holds the totals of some slices.
type sums struct {
	slice
	n float64
}

func add(list []slice, index []int) *sums {
	t := new(sums)
	for _, i := range index {
		s := &list[i]
		t.seconds += s.seconds
		t.requests += s.requests
		t.errors += s.errors
		t.cpu += s.cpu
		t.rss += s.rss
		t.n++
		for b, n := range s.heat {
			t.heat[b] += n
		}
	}
	return t
}

// resampled returns the figure of each metric, in the order of metrics: for ratios its
// logarithm, for errors the figure itself.
func (t *sums) resampled(percents, out []float64) []float64 {
	out = append(out, math.Log(t.requests/t.seconds))
	for _, p := range percents {
		out = append(out, logQuantile(&t.heat, p/100))
	}
	share := 0.0
	if all := t.errors + t.requests; all > 0 {
		share = t.errors / all
	}
	return append(out, share, math.Log(t.cpu/t.requests), math.Log(t.rss/t.n))
}

// logQuantile returns the logarithm of a quantile of latency counts; NaN without counts.
func logQuantile(heat *[results.HeatBuckets]uint64, q float64) float64 {
	us, ok := results.HeatQuantile(heat, q)
	if !ok {
		return math.NaN()
	}
	return math.Log(us)
}
