package watch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/stats"
)

// Summary is what a watch saw.
type Summary struct {
	End     string             `json:"end"` // time, interrupted or gone
	Seconds float64            `json:"seconds"`
	Samples int                `json:"samples"`
	Due     int                `json:"samples_due"` // in this time; fewer were taken if redline was preempted
	Figures map[string]Range   `json:"figures"`
	Marks   []MarkSummary      `json:"marks"`
	Missing []Missing          `json:"missing"`
	Totals  map[string]float64 `json:"totals"` // of counters, since the watch began
}

// Range describes the values of a figure.
type Range struct {
	Min     float64 `json:"min"`
	Median  float64 `json:"median"` // of every second value, every fourth and so on, if there are very many
	Max     float64 `json:"max"`
	Last    float64 `json:"last"`
	Samples int     `json:"samples"`     // in which it was read
	Due     int     `json:"samples_due"` // in which it should have been read; 0: unknown
}

// sparse reports whether fewer than half of the samples that were due were taken: they do not
// describe the whole time.
func sparse(samples, due int) bool { return 2*samples < due-1 }

// Sparse reports whether the figures may not be those of the whole time.
func (s *Summary) Sparse() bool { return sparse(s.Samples, s.Due) }

// Taken describes the samples.
func (s *Summary) Taken() string {
	if !s.Sparse() {
		return fmt.Sprintf("%d samples in %.1f s", s.Samples, s.Seconds)
	}
	return fmt.Sprintf("%d of %d samples in %.1f s: redline did not get the CPU in time, and the figures are of these moments only", s.Samples, s.Due, s.Seconds)
}

// Sparse reports whether the figure may be that of a few moments only.
func (r *Range) Sparse() bool { return sparse(r.Samples, r.Due) }

// MarkSummary is what became of a mark.
type MarkSummary struct {
	Mark    string   `json:"mark"`
	Limit   float64  `json:"limit"`
	Unit    string   `json:"unit"`
	Times   int      `json:"times"`             // evaluations that crossed it, one a second
	First   float64  `json:"first,omitempty"`   // seconds since the watch began
	Worst   float64  `json:"worst,omitempty"`   // value
	Missing []string `json:"missing,omitempty"` // figures, without which it was not evaluated
}

// mostValues bounds the values that are kept of a figure.
const mostValues = 1 << 15

// kept are the values of a figure.
type kept struct {
	values []float64
	stride int // one of so many is kept
	Range
	every time.Duration // between two readings
}

func (k *kept) add(v float64) {
	if k.Samples == 0 {
		k.Min, k.Max, k.stride = v, v, 1
	}
	k.Min, k.Max, k.Last = min(k.Min, v), max(k.Max, v), v
	if k.Samples%k.stride == 0 {
		k.values = append(k.values, v)
	}
	k.Samples++
	if len(k.values) >= mostValues {
		for i := range len(k.values) / 2 {
			k.values[i] = k.values[2*i]
		}
		k.values, k.stride = k.values[:len(k.values)/2], k.stride*2
	}
}

// collector makes the summary.
type collector struct {
	marks   []MarkSummary
	figures map[string]*kept
	missing []Missing
	samples int
	seconds float64
	totals  map[string]float64
}

func newCollector(marks []Mark) collector {
	c := collector{figures: map[string]*kept{}, totals: map[string]float64{}}
	for _, m := range marks {
		c.marks = append(c.marks, MarkSummary{Mark: m.Name, Limit: m.Limit, Unit: m.Unit})
	}
	return c
}

func (c *collector) add(s *Sample, paces map[string]time.Duration) {
	c.samples++
	c.seconds = s.T
	maps.Copy(c.totals, s.Totals)
	for f, v := range s.Values {
		if c.figures[f] == nil {
			c.figures[f] = &kept{}
		}
		c.figures[f].add(v)
		c.figures[f].every = paces[f]
	}
}

// crossed counts a mark, and reports whether it is the first time.
func (c *collector) crossed(x Crossed) (first bool) {
	i := slices.IndexFunc(c.marks, func(m MarkSummary) bool { return m.Mark == x.Mark })
	m := &c.marks[i]
	if first = m.Times == 0; first {
		m.First, m.Worst = x.T, x.Value
	}
	m.Times++
	if x.below {
		m.Worst = min(m.Worst, x.Value)
	} else {
		m.Worst = max(m.Worst, x.Value)
	}
	return first
}

// due returns how many samples there are in a time, the first at its begin.
func due(seconds float64, every time.Duration) int {
	if every <= 0 {
		return 0
	}
	return int(seconds/every.Seconds()+1.0/4) + 1 // the last one may be a little early
}

// conclude returns the summary of a watch of so many seconds.
func (c *collector) conclude(end string, seconds float64, every time.Duration, idle map[string][]string) Summary {
	s := Summary{
		End: end, Seconds: seconds, Samples: c.samples, Due: max(c.samples, due(seconds, every)), Figures: map[string]Range{}, Marks: slices.Clone(c.marks),
		Missing: append([]Missing{}, c.missing...), Totals: maps.Clone(c.totals),
	}
	for i := range s.Marks {
		s.Marks[i].Missing = idle[s.Marks[i].Mark]
	}
	for f, k := range c.figures {
		k.Median = stats.Median(k.values)
		s.Figures[f] = k.Range
		if one := s.Figures[f]; k.every > 0 {
			one.Due = max(one.Samples, due(seconds, k.every))
			s.Figures[f] = one
		}
	}
	return s
}
