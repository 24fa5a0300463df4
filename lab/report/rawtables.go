package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/results"
)

// A sortable table of the page, and its cells.
type (
	rawTable = web.Table
	rawCell  = web.Cell
)

func word(s string) rawCell { return rawCell{Text: Line(s)} }

func whole[T int | uint64](v T) rawCell { return web.Number(float64(v), fmt.Sprint(v)) }

func plain(v float64) rawCell { return web.Number(v, figure(v)) }

func missing() rawCell { return rawCell{Text: none, Number: true} }

func time0(us *float64) rawCell {
	if us == nil {
		return missing()
	}
	return web.Number(*us, Micros(*us, " "))
}

func yes(v bool) rawCell {
	if v {
		return word("yes")
	}
	return word("no")
}

// percentileTable returns the figures of the latency chart.
func percentileTable(rows []row) rawTable {
	t := rawTable{
		Caption: "Latency by percentile, all blocks merged",
		Heads:   web.Heads("subject", "p50#", "p90#", "p99#", "p99.9#", "p99.99#", "max#", "mean#", "samples#"),
	}
	for _, r := range rows {
		if r.cell == nil || r.cell.Latency.Count == 0 {
			continue
		}
		l := r.cell.Latency
		t.Rows = append(t.Rows, []rawCell{
			word(r.Name), time0(l.P50), time0(l.P90), time0(l.P99), time0(l.P999), time0(l.P9999),
			time0(&l.MaxUs), time0(&l.MeanUs), whole(l.Count),
		})
	}
	return t
}

// blockTable returns the figures of each subject in each block.
func blockTable(f *results.File, load results.Workload, rows []row) rawTable {
	t := rawTable{
		Caption: "Rate, latency and memory in each block",
		Heads:   web.Heads("subject", "block#", "rate /s#", "p50#", "p99#", "p99.9#", "RSS peak#", "CPU µs#"),
	}
	runs := countedRuns(f, load.Name)
	inside := slices.ContainsFunc(runs, func(r results.Run) bool { return r.Runtime != nil })
	if inside {
		t.Caption = "Rate, latency, memory and the Go runtime in each block"
		t.Heads = append(t.Heads, web.Heads("goroutines#", "heap#", "collections#", "GC pause p99#")...)
	}
	for _, r := range rows {
		own := runsOf(runs, r.Name)
		slices.SortStableFunc(own, func(a, b results.Run) int { return a.Block - b.Block })
		for _, run := range own {
			cells := []rawCell{
				word(r.Name), whole(run.Block), web.Number(run.Rate, PerSecond(run.Rate)), time0(run.Latency.P50),
				time0(run.Latency.P99), time0(run.Latency.P999), rss(run.Memory.RSSPeakBytes), plain(run.CPU.PerRequestUs),
			}
			switch v := run.Runtime; {
			case v != nil:
				cells = append(cells, whole(v.Goroutines), rss(v.HeapBytes), whole(v.GCCycles), time0(&v.GCPauseP99Us))
			case inside:
				cells = append(cells, missing(), missing(), missing(), missing())
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// targetTable returns the figures of a scenario's requests, in the order of the runs.
func targetTable(f *results.File, load results.Workload) rawTable {
	t := rawTable{
		Caption: "Requests of the scenario",
		Heads:   web.Heads("target", "right#", "wrong#", "p50#", "p90#", "p99#", "p99.9#", "max#", "checks that failed"),
	}
	for _, run := range countedRuns(f, load.Name) {
		for _, g := range run.Targets {
			var failed []string
			for _, name := range slices.Sorted(maps.Keys(g.Checks)) {
				failed = append(failed, fmt.Sprintf("%d %s", g.Checks[name], name))
			}
			l := g.Latency
			t.Rows = append(t.Rows, []rawCell{
				word(g.Name), whole(g.Requests), whole(g.Failures()), time0(l.P50), time0(l.P90), time0(l.P99), time0(l.P999),
				time0(&l.MaxUs), word(strings.Join(failed, ", ")),
			})
		}
	}
	return t
}

func rss(bytes uint64) rawCell { return web.Number(float64(bytes), Bytes(float64(bytes), " ")) }

// rawTables returns the complete lists of the file.
func rawTables(f *results.File) []rawTable {
	return []rawTable{cellsTable(f), comparisonsTable(f), runsTable(f), gatesTable(f)}
}

// metricText prints a metric in its unit.
func metricText(m results.Metric, v float64) string {
	switch m {
	case results.MetricRate:
		return PerSecond(v)
	case results.MetricP50, results.MetricP99, results.MetricP999, results.MetricStops, results.MetricStop:
		return Micros(v, " ")
	case results.MetricRSS, results.MetricBytes, results.MetricConn:
		return Bytes(v, " ")
	case results.MetricAllocs:
		return count(v)
	case results.MetricGCCPU:
		return Percent(v)
	}
	return figure(v)
}

func cellsTable(f *results.File) rawTable {
	t := rawTable{
		Caption: "Cells: the median over the blocks, with its 95 % interval",
		Heads:   web.Heads("workload", "subject", "metric", "value#", "low#", "high#", "blocks#", "failed#", "gen-bound#"),
	}
	for _, c := range f.Cells {
		for _, m := range metricNames {
			e, ok := c.Metrics[m.Metric]
			if !ok {
				continue
			}
			t.Rows = append(t.Rows, []rawCell{
				word(c.Workload), word(c.Subject), word(string(m.Metric)), web.Number(e.Value, metricText(m.Metric, e.Value)),
				web.Number(e.Low, metricText(m.Metric, e.Low)), web.Number(e.High, metricText(m.Metric, e.High)),
				whole(c.Blocks), whole(c.Failed), whole(c.Bound),
			})
		}
	}
	return t
}

func comparisonsTable(f *results.File) rawTable {
	t := rawTable{
		Caption: "Comparisons with the baseline",
		Heads: web.Heads("workload", "subject", "metric", "verdict", "ratio#", "low#", "high#", "floor#", "p#", "p (Holm)#",
			"blocks#", "usable#", "beside others#", "wider by#", "reason"),
	}
	for _, c := range f.Comparisons {
		ratio := func(v float64) rawCell {
			if !measured(&c) {
				return missing()
			}
			return web.Number(v, strconv.FormatFloat(v, 'f', 3, 64))
		}
		t.Rows = append(t.Rows, []rawCell{
			word(c.Workload), word(c.Subject), word(string(c.Metric)), word(string(c.Verdict)),
			ratio(c.Ratio.Value), ratio(c.Ratio.Low), ratio(c.Ratio.High), web.Number(c.Floor, Percent(c.Floor)),
			web.Number(c.P, strconv.FormatFloat(c.P, 'g', 3, 64)), web.Number(c.PHolm, strconv.FormatFloat(c.PHolm, 'g', 3, 64)),
			whole(c.Blocks), whole(c.Usable), whole(c.Busy), web.Number(c.Widened, Percent(c.Widened)), word(c.Reason),
		})
	}
	return t
}

func runsTable(f *results.File) rawTable {
	t := rawTable{
		Caption: "Runs",
		Heads: web.Heads("run", "order#", "valid", "counted", "rate /s#", "CPU µs#", "server CPU#", "p50#", "p99#", "p99.9#",
			"RSS peak#", "allocs#", "errors#", "generator CPU#", "gen-bound", "steal#", "target /s#", "send lag p99#",
			"memory/connection#", "note"),
	}
	for _, r := range f.Runs {
		if r.Failed != "" {
			row := []rawCell{word(r.ID), whole(r.Order), yes(r.Valid), yes(r.Counted)}
			for range 15 {
				row = append(row, missing())
			}
			t.Rows = append(t.Rows, append(row, word(r.Failed)))
			continue
		}
		errs, allocs, note := uint64(0), missing(), []string{}
		target, lag, each := missing(), missing(), missing()
		if r.Open != nil {
			target, lag = web.Number(r.Open.TargetRate, PerSecond(r.Open.TargetRate)), time0(r.Open.SendLag.P99)
		}
		if b := r.Memory.PerConnectionBytes; b != nil {
			each = web.Number(*b, Bytes(*b, " "))
		}
		for _, n := range r.Errors {
			errs += n
		}
		if r.Runtime != nil {
			allocs = web.Number(r.Runtime.AllocsPerRequest, count(r.Runtime.AllocsPerRequest))
		}
		for _, g := range r.Gates {
			if !g.Passed {
				note = append(note, g.Text)
			}
		}
		t.Rows = append(t.Rows, []rawCell{
			word(r.ID), whole(r.Order), yes(r.Valid), yes(r.Counted), web.Number(r.Rate, PerSecond(r.Rate)),
			plain(r.CPU.PerRequestUs), web.Number(r.CPU.Utilisation, Percent(r.CPU.Utilisation)), time0(r.Latency.P50),
			time0(r.Latency.P99), time0(r.Latency.P999), rss(r.Memory.RSSPeakBytes), allocs, whole(errs),
			web.Number(r.Generator.CPUUtilisation, Percent(r.Generator.CPUUtilisation)), yes(r.Generator.Bound),
			web.Number(r.Generator.StealRatio, Percent(r.Generator.StealRatio)), target, lag, each, word(strings.Join(note, "; ")),
		})
	}
	return t
}

func gatesTable(f *results.File) rawTable {
	t := rawTable{
		Caption: "Gates: all of the comparison, and those that a run failed",
		Heads:   web.Heads("of", "gate", "passed", "value#", "limit#", "meaning if failed"),
	}
	add := func(of string, g results.Gate) {
		t.Rows = append(t.Rows, []rawCell{
			word(of), word(g.Name), yes(g.Passed), web.Number(g.Value, strconv.FormatFloat(g.Value, 'g', 3, 64)),
			web.Number(g.Limit, strconv.FormatFloat(g.Limit, 'g', 3, 64)), word(g.Text),
		})
	}
	for _, g := range f.Gates {
		add("comparison", g)
	}
	for _, r := range f.Runs {
		for _, g := range r.Gates {
			if !g.Passed {
				add(r.ID, g)
			}
		}
	}
	return t
}
