package suite

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// A metric reads one figure of a run.
type metric struct {
	name    results.Metric
	of      func(*results.Run) (float64, bool)
	figure  results.Figure // that gates may spoil; empty: only wrong answers do
	kind    string         // of its margin
	verdict bool           // compared with the baseline
	higher  bool           // higher is better
	chosen  bool           // set by the schedule in an open loop, so not a property of the subject
}

// answered returns a figure that exists only if there were requests.
func answered(r *results.Run, v float64) (float64, bool) { return v, r.Requests > 0 }

func optional(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

var metrics = []metric{
	{
		name: results.MetricCPU, figure: results.FigureCPU, kind: kindCPU, verdict: true,
		of: func(r *results.Run) (float64, bool) { return answered(r, r.CPU.PerRequestUs) },
	},
	{
		name: results.MetricRate, figure: results.FigureRate, kind: kindRate, verdict: true, higher: true, chosen: true,
		of: func(r *results.Run) (float64, bool) { return answered(r, r.Rate) },
	},
	{
		name: results.MetricP50, figure: results.FigureLatency,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P50) },
	},
	{
		name: results.MetricP99, figure: results.FigureLatency, kind: kindLatency, verdict: true,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P99) },
	},
	{
		name: results.MetricP999, figure: results.FigureLatency,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P999) },
	},
	{
		name: results.MetricRSS, kind: kindMemory, verdict: true,
		of: func(r *results.Run) (float64, bool) { return float64(r.Memory.RSSPeakBytes), true },
	},
	{
		name: results.MetricConn, kind: kindMemory, verdict: true,
		of: func(r *results.Run) (float64, bool) { return optional(r.Memory.PerConnectionBytes) },
	},
	{
		name: results.MetricAllocs,
		of: func(r *results.Run) (float64, bool) {
			if r.Runtime == nil {
				return 0, false
			}
			return answered(r, r.Runtime.AllocsPerRequest)
		},
	},
	{
		name: results.MetricBytes,
		of: func(r *results.Run) (float64, bool) {
			if r.Runtime == nil {
				return 0, false
			}
			return answered(r, r.Runtime.BytesPerRequest)
		},
	},
	{name: results.MetricCycles, figure: results.FigureRate, of: collected(func(c *results.Collector) *float64 { return &c.PerSecond })},
	{name: results.MetricStops, figure: results.FigureRate, of: collected(func(c *results.Collector) *float64 { return c.StoppedUsPerSecond })},
	{name: results.MetricStop, figure: results.FigureLatency, of: collected(func(c *results.Collector) *float64 { return c.StoppedUsPerCycle })},
	{name: results.MetricGCCPU, figure: results.FigureCPU, of: collected(func(c *results.Collector) *float64 { return c.CPURatio })},
}

// collected returns a function for a figure of the garbage collector, which exists if it was read.
func collected(of func(*results.Collector) *float64) func(*results.Run) (float64, bool) {
	return func(r *results.Run) (float64, bool) {
		if r.Collector == nil || r.Collector.Absent != "" {
			return 0, false
		}
		return optional(of(r.Collector))
	}
}

// conclude sets what follows from the runs: headroom, cells, comparisons and the gates
// of the whole comparison.
func conclude(f *results.File, seed uint64) error {
	headroom(f)
	f.Cells, f.Comparisons = nil, nil
	for _, w := range f.Workloads {
		for _, s := range f.Subjects {
			cell, err := newCell(f, w.Name, s.Name, seed)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.Name, s.Name, err)
			}
			if err := overFloor(f, &cell, seed); err != nil {
				return fmt.Errorf("%s, %s: %w", w.Name, s.Name, err)
			}
			if cell.Blocks+cell.Failed+cell.Short > 0 {
				f.Cells = append(f.Cells, cell)
			}
		}
		for _, m := range metrics {
			if !m.verdict || m.chosen && (w.Arrivals != "" || w.Published != "") {
				continue
			}
			rows, err := compare(f, &w, m, seed)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.Name, m.name, err)
			}
			f.Comparisons = append(f.Comparisons, rows...)
		}
	}
	f.Gates = overall(f)
	return nil
}

// headroom sets for every run the ratio of the floor's rate in the same block to its own.
func headroom(f *results.File) {
	type key struct {
		workload string
		block    int
	}
	floor := map[key]float64{}
	for _, s := range f.Subjects {
		for _, r := range f.Runs {
			if s.Role == roleFloor && r.Subject == s.Name && r.Failed == "" {
				floor[key{r.Workload, r.Block}] = r.Rate
			}
		}
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		if rate, ok := floor[key{r.Workload, r.Block}]; ok && r.Rate > 0 {
			h := rate / r.Rate
			r.Generator.Headroom = &h
		}
	}
}

// counted returns the counted runs of a cell by block.
func counted(f *results.File, workload, subject string) map[int]*results.Run {
	runs := map[int]*results.Run{}
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Counted && r.Workload == workload && r.Subject == subject {
			runs[r.Block] = r
		}
	}
	return runs
}

// usable returns the runs, in the order of their blocks, of which no gate spoils a figure. If they
// are too few for an interval, it returns all of them, and reports that.
func usable(runs map[int]*results.Run, figure results.Figure) (list []*results.Run, enough bool) {
	var all []*results.Run
	for _, block := range slices.Sorted(maps.Keys(runs)) {
		r := runs[block]
		all = append(all, r)
		if len(results.Spoilers(r.Gates, figure)) == 0 {
			list = append(list, r)
		}
	}
	if len(list) < min(leastRuns, len(all)) {
		return all, false
	}
	return list, true
}

func newCell(f *results.File, workload, subject string, seed uint64) (results.Cell, error) {
	c := results.Cell{Workload: workload, Subject: subject, Metrics: map[results.Metric]results.Estimate{}}
	for _, r := range f.Runs {
		if r.Workload == workload && r.Subject == subject {
			if r.Failed != "" {
				c.Failed++
			}
			if r.Short != "" {
				c.Short++
			}
		}
	}
	runs := counted(f, workload, subject)
	c.Blocks = len(runs)
	for _, r := range runs {
		if r.Generator.Bound {
			c.Bound++
		}
	}
	for _, m := range metrics {
		list, enough := usable(runs, m.figure)
		var values []float64
		for _, r := range list {
			if v, ok := m.of(r); ok {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		if !enough && m.figure != "" && !slices.Contains(c.Disturbed, m.figure) {
			c.Disturbed = append(c.Disturbed, m.figure)
		}
		low, high := stats.Bootstrap(values, stats.Median, stats.Level, stats.DefaultResamples, rand.New(rand.NewPCG(seed, 0)))
		c.Metrics[m.name] = results.Estimate{Value: stats.Median(values), Low: low, High: high}
	}
	var latencies []results.Latency
	list, _ := usable(runs, results.FigureLatency)
	for _, r := range list {
		latencies = append(latencies, r.Latency)
	}
	var err error
	c.Latency, err = results.MergeLatency(latencies)
	return c, err
}

// overFloor sets the cell's ratio to the floor. Like the ratio to the baseline it is taken
// block by block, so that changes in the machine's speed cancel out.
func overFloor(f *results.File, c *results.Cell, seed uint64) error {
	for _, s := range f.Subjects {
		if s.Role != roleFloor {
			continue
		}
		p, err := pairsOf(c.Subject, metrics[0], counted(f, c.Workload, c.Subject), counted(f, c.Workload, s.Name))
		if err != nil {
			return err
		}
		logs := p.logs
		if len(logs) == 0 {
			logs = p.all
		}
		if len(logs) > 0 {
			ratio := stats.Ratio(logs, seed)
			c.OverFloor = &ratio
		}
	}
	return nil
}
