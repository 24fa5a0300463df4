package suite

import (
	"fmt"
	"math/rand/v2"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// A metric reads one figure of a run.
type metric struct {
	name    results.Metric
	of      func(*results.Run) (float64, bool)
	verdict bool // compared with the baseline
	higher  bool // higher is better
	chosen  bool // set by the schedule in an open loop, so not a property of the subject
	rate    bool // not a property of the subject when the generator was the bottleneck
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
		name: results.MetricCPU, verdict: true,
		of: func(r *results.Run) (float64, bool) { return answered(r, r.CPU.PerRequestUs) },
	},
	{
		name: results.MetricRate, verdict: true, higher: true, rate: true, chosen: true,
		of: func(r *results.Run) (float64, bool) { return answered(r, r.Rate) },
	},
	{
		name: results.MetricP50, rate: true,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P50) },
	},
	{
		name: results.MetricP99, verdict: true, rate: true,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P99) },
	},
	{
		name: results.MetricP999, rate: true,
		of: func(r *results.Run) (float64, bool) { return optional(r.Latency.P999) },
	},
	{
		name: results.MetricRSS, verdict: true,
		of: func(r *results.Run) (float64, bool) { return float64(r.Memory.RSSPeakBytes), true },
	},
	{
		name: results.MetricConn, verdict: true,
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
	{name: results.MetricCycles, of: collected(func(c *results.Collector) *float64 { return &c.PerSecond })},
	{name: results.MetricStops, of: collected(func(c *results.Collector) *float64 { return c.StoppedUsPerSecond })},
	{name: results.MetricStop, of: collected(func(c *results.Collector) *float64 { return c.StoppedUsPerCycle })},
	{name: results.MetricGCCPU, of: collected(func(c *results.Collector) *float64 { return c.CPURatio })},
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
			rows, err := compare(f, w.Name, m, seed)
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
		workload       string
		block, attempt int
	}
	floor := map[key]float64{}
	for _, s := range f.Subjects {
		for _, r := range f.Runs {
			if s.Role == roleFloor && r.Subject == s.Name && r.Failed == "" {
				floor[key{r.Workload, r.Block, r.Attempt}] = r.Rate
			}
		}
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		if rate, ok := floor[key{r.Workload, r.Block, r.Attempt}]; ok && r.Rate > 0 {
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

func newCell(f *results.File, workload, subject string, seed uint64) (results.Cell, error) {
	c := results.Cell{Workload: workload, Subject: subject, Metrics: map[results.Metric]results.Estimate{}}
	for _, r := range f.Runs {
		if r.Workload == workload && r.Subject == subject && r.Failed != "" {
			c.Failed++
		}
	}
	c.Short = shortBlocks(f, workload, subject)
	runs := counted(f, workload, subject)
	var latencies []results.Latency
	values := map[results.Metric][]float64{}
	for block := 1; block <= f.Config.Blocks; block++ {
		r := runs[block]
		if r == nil {
			continue
		}
		c.Blocks++
		if r.Generator.Bound {
			c.Bound++
		}
		latencies = append(latencies, r.Latency)
		for _, m := range metrics {
			if v, ok := m.of(r); ok {
				values[m.name] = append(values[m.name], v)
			}
		}
	}
	for name, v := range values {
		low, high := stats.Bootstrap(v, stats.Median, stats.Level, stats.DefaultResamples, rand.New(rand.NewPCG(seed, 0)))
		c.Metrics[name] = results.Estimate{Value: stats.Median(v), Low: low, High: high}
	}
	var err error
	c.Latency, err = results.MergeLatency(latencies)
	return c, err
}

// shortBlocks returns the number of blocks in which the subject did not reach the rate.
// The last attempt at a block decides.
func shortBlocks(f *results.File, workload, subject string) (n int) {
	last := map[int]*results.Run{}
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Workload == workload && r.Subject == subject && (last[r.Block] == nil || r.Attempt > last[r.Block].Attempt) {
			last[r.Block] = r
		}
	}
	for _, r := range last {
		if r.Short != "" {
			n++
		}
	}
	return n
}

// overFloor sets the cell's ratio to the floor. Like the ratio to the baseline it is taken
// block by block, so that changes in the machine's speed cancel out.
func overFloor(f *results.File, c *results.Cell, seed uint64) error {
	for _, s := range f.Subjects {
		if s.Role != roleFloor {
			continue
		}
		logs, err := pair(f.Config.Blocks, metrics[0], counted(f, c.Workload, c.Subject), counted(f, c.Workload, s.Name))
		if err != nil {
			return err
		}
		if len(logs) > 0 {
			ratio := stats.Ratio(logs, seed)
			c.OverFloor = &ratio
		}
	}
	return nil
}

// compare compares every subject with the baseline in one metric.
func compare(f *results.File, workload string, m metric, seed uint64) ([]results.Comparison, error) {
	baseline := counted(f, workload, f.Config.Baseline)
	var family []stats.Series
	var twin []float64
	var twinName string
	for _, s := range f.Subjects {
		logs, err := pair(f.Config.Blocks, m, counted(f, workload, s.Name), baseline)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		switch {
		case s.Role == roleTwin:
			twin, twinName = logs, s.Name
		case s.Role != roleBaseline && len(logs) > 0:
			family = append(family, stats.Series{Name: s.Name, LogRatios: logs})
		}
	}
	if len(baseline) == 0 {
		return nil, nil
	}
	aa, outcomes := stats.Family(twin, family, stats.Options{HigherIsBetter: m.higher, Seed: seed})
	row := results.Comparison{Workload: workload, Baseline: f.Config.Baseline, Metric: m.name}
	var rows []results.Comparison
	if aa.Blocks > 0 {
		rows = append(rows, twinRow(row, twinName, aa))
	}
	for _, o := range outcomes {
		row := row
		row.Subject, row.Blocks, row.Ratio = o.Name, o.Blocks, o.Ratio
		row.P, row.PHolm, row.Floor = o.P, o.PHolm, o.Floor
		row.Verdict, row.Reason = o.Verdict, o.Reason
		if m.rate && (bound(counted(f, workload, o.Name)) || bound(baseline)) {
			row.Verdict, row.Reason = results.NoVerdict, "the generator's core was saturated and the server's was not"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// twinRow returns the A/A comparison. It is never reported as a difference: the others
// have to exceed it.
func twinRow(row results.Comparison, name string, aa stats.AA) results.Comparison {
	row.Subject, row.Blocks, row.Ratio = name, aa.Blocks, aa.Ratio
	row.P, row.PHolm, row.Floor = aa.P, aa.P, max(stats.MinFloor, aa.Spread)
	row.Verdict = results.Equivalent
	if !aa.Agrees && aa.Spread > stats.MinFloor {
		row.Verdict = results.Inconclusive
		row.Reason = fmt.Sprintf("the baseline differs from itself by up to %.1f %%: the noise floor covers it", 100*aa.Spread)
	}
	return row
}

// pair returns the log ratios of the blocks in which both sides were measured.
func pair(blocks int, m metric, subject, baseline map[int]*results.Run) ([]float64, error) {
	var a, b []float64
	for block := 1; block <= blocks; block++ {
		s, base := subject[block], baseline[block]
		if s == nil || base == nil {
			continue
		}
		x, ok := m.of(s)
		y, also := m.of(base)
		if ok && also && x > 0 && y > 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	return stats.LogRatios(a, b)
}

// bound reports whether most of the runs were bound by the generator.
func bound(runs map[int]*results.Run) bool {
	n := 0
	for _, r := range runs {
		if r.Generator.Bound {
			n++
		}
	}
	return 2*n > len(runs)
}
