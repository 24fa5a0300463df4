package compare

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// SchemaName is the value of Comparison.Schema, and SchemaVersion its version: a field is
// never given a new meaning within a version, only added.
const (
	SchemaName    = "redline.compare"
	SchemaVersion = 1
)

// The verdicts on a metric.
const (
	Better  = "better"
	Worse   = "worse"
	None    = "no difference shown"
	Short   = "too short to say" // a run has too few slices
	Unknown = "not known"        // a run does not have the figure
)

// Comparison holds the changes from run A to run B.
type Comparison struct {
	Schema      string   `json:"schema"`  // SchemaName
	Version     int      `json:"version"` // SchemaVersion
	A           Run      `json:"a"`
	B           Run      `json:"b"`
	Differences []string `json:"differences"` // of the requested loads
	Notes       []string `json:"notes"`       // remarks that make the comparison doubtful
	Metrics     []Metric `json:"metrics"`
	Limits      []Judged `json:"limits"`
}

// Run is one of the two runs.
type Run struct {
	File    string  `json:"file"`
	URL     string  `json:"url"`
	Valid   bool    `json:"valid"`   // and nothing disturbed it
	Seconds float64 `json:"seconds"` // of the window
	Slices  int     `json:"slices"`  // of the window, from which intervals are computed
	Block   int     `json:"block"`   // slices that are resampled together
}

// Metric is one figure of both runs. Errors have a difference, because their ratio would be that
// of two small numbers, or undefined; all others have a ratio.
type Metric struct {
	Name       string            `json:"name"`       // rate, a percentile as p99, errors, cpu or rss
	Unit       string            `json:"unit"`       // per_second, us, share, us_per_request or bytes
	A          *float64          `json:"a"`          // null if unknown
	B          *float64          `json:"b"`          // the same
	Ratio      *results.Estimate `json:"ratio"`      // B divided by A; null if undefined
	Difference *results.Estimate `json:"difference"` // B minus A, for errors; null for others
	Interval   bool              `json:"interval"`   // low and high are the ends of a 95 % interval; otherwise both are the value
	Verdict    string            `json:"verdict"`
}

// standard lists the percentiles that are compared by default.
var standard = []float64{50, 90, 95, 99}

// metric defines a Metric. Their order is that of sums.resampled.
type metric struct {
	name, unit string
	higher     bool // higher is better
	of         func(*present.Document) *float64
}

func metrics(percents []float64) []metric {
	list := []metric{{"rate", "per_second", true, func(d *present.Document) *float64 { return &d.RequestsPerSecond }}}
	for _, p := range percents {
		list = append(list, metric{results.PercentileName(p), "us", false, func(d *present.Document) *float64 { return d.Latency.Percentile(p) }})
	}
	return append(list,
		metric{"errors", "share", false, errorShare},
		metric{"cpu", "us_per_request", false, func(d *present.Document) *float64 {
			if d.Server == nil || d.Server.CPU.PerRequestUs <= 0 {
				return nil
			}
			return &d.Server.CPU.PerRequestUs
		}},
		metric{"rss", "bytes", false, meanRSS})
}

// errorShare returns the share of the requests that failed or got no answer.
func errorShare(d *present.Document) *float64 {
	f := d.Figures()
	all := float64(f.Errors + f.Answered)
	if all == 0 {
		return nil
	}
	share := float64(f.Errors) / all
	return &share
}

// meanRSS returns the mean resident set size of the server over the window.
func meanRSS(d *present.Document) *float64 {
	if d.Server == nil || d.Server.Gone() {
		return nil
	}
	sum, n := 0.0, 0.0
	for _, s := range sliced(d) {
		if s.rss > 0 {
			sum, n = sum+s.rss, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= n
	return &sum
}

// resamples is the number of resamples for an interval.
const resamples = stats.DefaultResamples

// Of compares two runs, even of different loads; the result lists their Differences. It depends
// only on the runs: random numbers have a fixed seed. percents are the percentiles of the
// latencies to compare, each above 0 and below 100; none: the defaults.
func Of(a, b *present.Document, percents ...float64) *Comparison {
	if len(percents) == 0 {
		percents = standard
	}
	c := &Comparison{
		Schema: SchemaName, Version: SchemaVersion, Differences: Differences(a, b), Notes: notes(a, b), Metrics: []Metric{}, Limits: []Judged{},
	}
	if c.Differences == nil {
		c.Differences = []string{}
	}
	if c.Notes == nil {
		c.Notes = []string{}
	}
	first, second := sliced(a), sliced(b)
	la, lb := layout(first), layout(second)
	c.A = Run{URL: a.URL, Valid: sound(a), Seconds: a.Seconds, Slices: la.Slices, Block: la.Block}
	c.B = Run{URL: b.URL, Valid: sound(b), Seconds: b.Seconds, Slices: lb.Slices, Block: lb.Block}
	figures := func(i, j []int, out []float64) []float64 {
		if len(i) == 0 || len(j) == 0 {
			return out
		}
		from := len(out)
		out = add(second, j).resampled(percents, out)
		for k, v := range add(first, i).resampled(percents, nil) {
			out[from+k] -= v
		}
		return out
	}
	low, high := stats.CompareSlices(la, lb, figures, stats.Level, resamples, rand.New(rand.NewPCG(1, 2)))
	whole := figures(indexes(len(first)), indexes(len(second)), nil)
	for i, m := range metrics(percents) {
		one := Metric{Name: m.name, Unit: m.unit, A: m.of(a), B: m.of(b), Verdict: Unknown}
		if one.A != nil && one.B != nil {
			ends := [3]float64{math.NaN(), math.NaN(), math.NaN()}
			if i < len(whole) {
				ends = [3]float64{whole[i], low[i], high[i]}
			}
			m.judge(&one, ends, min(la.Slices, lb.Slices) < stats.MinSlices)
		}
		c.Metrics = append(c.Metrics, one)
	}
	return c
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// judge sets the change, interval and verdict of a metric. ends are the change of the slices and
// the ends of its interval. The interval is moved from the change of the slices to that of the
// whole runs, whose figures are more precise.
func (m *metric) judge(one *Metric, ends [3]float64, short bool) {
	known := !math.IsNaN(ends[0]) && !math.IsInf(ends[0], 0) && !math.IsNaN(ends[1])
	one.Interval = known
	one.Verdict = Short
	if !short {
		one.Verdict = Unknown
	}
	below, above := 0.0, 0.0
	if known {
		below, above = min(0, ends[1]-ends[0]), max(0, ends[2]-ends[0])
	}
	if m.unit == "share" {
		change := *one.B - *one.A
		one.Difference = &results.Estimate{Value: change, Low: change + below, High: change + above}
		if known {
			one.Verdict = m.verdict(one.Difference.Low > 0, one.Difference.High < 0)
		}
		return
	}
	if *one.A <= 0 || *one.B <= 0 {
		one.Verdict = Unknown
		return
	}
	ratio := *one.B / *one.A
	one.Ratio = &results.Estimate{Value: ratio, Low: ratio * math.Exp(below), High: ratio * math.Exp(above)}
	if known {
		one.Verdict = m.verdict(one.Ratio.Low > 1+stats.MinFloor, one.Ratio.High < 1/(1+stats.MinFloor))
	}
}

// verdict returns the verdict for a figure that has risen or fallen significantly.
func (m *metric) verdict(rose, fell bool) string {
	switch {
	case !rose && !fell:
		return None
	case rose == m.higher:
		return Better
	}
	return Worse
}

// Metric returns a metric by its name. It panics if there is none.
func (c *Comparison) Metric(name string) Metric {
	for _, m := range c.Metrics {
		if m.Name == name {
			return m
		}
	}
	panic(fmt.Sprintf("compare: no metric %q", name))
}

// Valid reports whether both runs are valid.
func (c *Comparison) Valid() bool { return c.A.Valid && c.B.Valid }
