package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/results"
)

// maxTargets is the maximum length of the table of targets; the JSON has all.
const maxTargets = 500

func word(s string) web.Cell { return web.Cell{Text: report.Line(s)} }

// long returns a cell whose text may wrap.
func long(s string) web.Cell { return web.Cell{Text: report.Line(s), Class: "wrap"} }

func whole[T int | uint64](v T) web.Cell { return web.Number(float64(v), fmt.Sprint(v)) }

func missing() web.Cell { return web.Cell{Text: "–", Number: true} }

func micros(us *float64) web.Cell {
	if us == nil {
		return missing()
	}
	return web.Number(*us, report.Micros(*us, " "))
}

// latencies returns the cells of a distribution; those of an empty one are missing.
func latencies(l results.Latency, percents []float64) []web.Cell {
	if l.Count == 0 {
		return slices.Repeat([]web.Cell{missing()}, len(percents)+2)
	}
	cells := []web.Cell{micros(&l.MeanUs)}
	for _, p := range percents {
		cells = append(cells, micros(l.Percentile(p)))
	}
	return append(cells, micros(&l.MaxUs))
}

// latencyHeads returns the heads of the cells of latencies.
func latencyHeads(percents []float64) []string {
	heads := []string{"mean#"}
	for _, p := range percents {
		heads = append(heads, results.PercentileName(p)+"#")
	}
	return append(heads, "max#")
}

// thresholds returns the table of thresholds and their results.
func thresholds(d *present.Document) web.Table {
	t := web.Table{Caption: "Thresholds", Heads: web.Heads("threshold", "verdict", "result")}
	for _, j := range d.Thresholds {
		kept := web.Cell{Text: "kept", Class: "kept"}
		switch {
		case j.Undecided != "":
			kept = word("undecided")
		case !j.Kept:
			kept = web.Cell{Text: "BROKEN", Class: "broken"}
		}
		_, why, found := strings.Cut(j.Why, ": ")
		if !found {
			why = j.Why
		}
		t.Rows = append(t.Rows, []web.Cell{word(j.Objective), kept, long(why)})
	}
	return t
}

func percentiles(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Latencies of the window. A percentile needs ten samples beyond it.",
		Heads:   web.Heads(slices.Concat([]string{"latency"}, latencyHeads(d.Percents()), []string{"samples#"})...),
	}
	for _, l := range distributions(d) {
		if l.latency.Count > 0 {
			t.Rows = append(t.Rows, append(append([]web.Cell{word(l.name)}, latencies(l.latency, d.Percents())...), whole(l.latency.Count)))
		}
	}
	return t
}

// steps returns the table of the runs of a search, in order.
func steps(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Steps of the search, in order",
		Heads:   web.Heads("step#", "phase", "rate /s#", "p50#", "p99#", "verdict", "why"),
	}
	if d.Search == nil {
		return t
	}
	for i, s := range d.Search.Trials {
		verdict := word(string(s.Verdict))
		if s.Verdict == "kept" {
			verdict.Class = "kept"
		} else {
			verdict.Class = "broken"
		}
		t.Rows = append(t.Rows, []web.Cell{
			whole(i + 1), word(s.Phase), web.Number(s.Rate, report.PerSecond(s.Rate)), micros(s.P50), micros(s.P99), verdict, long(s.Why),
		})
	}
	return t
}

// stages returns the table of the steps of an open loop with stages.
func stages(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Steps of the arrivals. Due, failed and unfinished are arrivals of a step; the achieved rate counts answers received in it, and CPU is the server's.",
		Heads: web.Heads(slices.Concat([]string{"step", "rate", "asked /s#", "achieved /s#", "CPU#"}, latencyHeads(d.Percents())[1:],
			[]string{"due#", "failed#", "unfinished#"})...),
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		cpu := missing()
		if s.ServerCPU != nil {
			cpu = web.Number(*s.ServerCPU, fmt.Sprintf("%.2f", *s.ServerCPU))
		}
		row := append([]web.Cell{
			word(s.Time()), word(s.Rates()), web.Number(s.Asked, report.PerSecond(s.Asked)), web.Number(s.Achieved, report.PerSecond(s.Achieved)), cpu,
		}, latencies(s.Latency, d.Percents())[1:]...) // without the mean: the table is as wide as the page
		t.Rows = append(t.Rows, append(row, whole(s.Due), whole(s.Failed), whole(s.Unfinished)))
	}
	return t
}

// targets returns the table of a scenario's requests. If there are more than maxTargets, those
// with the most failures come first.
func targets(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Requests of the scenario",
		Heads:   web.Heads(slices.Concat([]string{"target", "right#", "wrong#", "rate /s#"}, latencyHeads(d.Percents()), []string{"checks that failed"})...),
	}
	list := d.Targets
	if len(list) > maxTargets {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b results.Target) int {
			return cmp.Or(cmp.Compare(b.Failures(), a.Failures()), cmp.Compare(b.Requests, a.Requests))
		})
		t.Caption += fmt.Sprintf("; %d more with fewer errors or requests are in the JSON", len(list)-maxTargets)
		list = list[:maxTargets]
	}
	for _, g := range list {
		var failed []string
		for _, name := range slices.Sorted(maps.Keys(g.Checks)) {
			failed = append(failed, fmt.Sprintf("%d %s", g.Checks[name], name))
		}
		rate := missing()
		if !g.Setup && d.Seconds > 0 {
			perSecond := float64(g.Requests) / d.Seconds
			rate = web.Number(perSecond, report.PerSecond(perSecond))
		}
		row := append([]web.Cell{word(g.Name), whole(g.Requests), whole(g.Failures()), rate}, latencies(g.Latency, d.Percents())...)
		t.Rows = append(t.Rows, append(row, long(strings.Join(failed, ", "))))
	}
	if d.NoTarget > 0 {
		row := append([]web.Cell{word("no target"), missing(), whole(d.NoTarget), missing()}, latencies(results.Latency{}, d.Percents())...)
		t.Rows = append(t.Rows, append(row, long("")))
	}
	return t
}

// flows returns the table of the iterations of a scenario's flows.
func flows(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Iterations: each is one pass of a user through a flow, from its first request to the last answer",
		Heads:   web.Heads(slices.Concat([]string{"flow", "completed#", "aborted#", "under way at the end#", "rate /s#"}, latencyHeads(d.Percents()), []string{"p50 without think time#", "p95 without think time#"})...),
	}
	if d.Iterations == nil {
		return t
	}
	for _, f := range d.Iterations.Flows {
		rate := missing()
		if d.Seconds > 0 {
			perSecond := float64(f.Completed) / d.Seconds
			rate = web.Number(perSecond, report.PerSecond(perSecond))
		}
		row := append([]web.Cell{word(f.Name), whole(f.Completed), whole(f.Aborted), whole(f.Unfinished), rate}, latencies(f.Time, d.Percents())...)
		t.Rows = append(t.Rows, append(row, micros(f.WithoutThink.P50), micros(f.WithoutThink.Quantile(0.95))))
	}
	return t
}

// ramp returns the table of the steps of a ramp.
func ramp(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Steps of the ramp",
		Heads:   web.Heads(slices.Concat([]string{"step", "connections", "right#", "errors#", "rate /s#"}, latencyHeads(d.Percents()))...),
	}
	for i := range d.RampSteps {
		s := &d.RampSteps[i]
		t.Rows = append(t.Rows, append([]web.Cell{
			word(s.Time()), word(s.Connections()), whole(s.Requests), whole(s.Errors), web.Number(s.RequestsPerSecond, report.PerSecond(s.RequestsPerSecond)),
		}, latencies(s.Latency, d.Percents())...))
	}
	return t
}

// tags returns the table of the sums of the targets by tag.
func tags(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Requests by tag",
		Heads:   web.Heads(slices.Concat([]string{"tag", "value", "right#", "wrong#", "rate /s#"}, latencyHeads(d.Percents()))...),
	}
	for _, g := range d.Tags[:min(len(d.Tags), maxTargets)] {
		rate := missing()
		if d.Seconds > 0 {
			perSecond := float64(g.Requests) / d.Seconds
			rate = web.Number(perSecond, report.PerSecond(perSecond))
		}
		t.Rows = append(t.Rows, append([]web.Cell{word(g.Name), word(g.Value), whole(g.Requests), whole(g.Errors), rate}, latencies(g.Latency, d.Percents())...))
	}
	if n := len(d.Tags) - maxTargets; n > 0 {
		t.Caption += fmt.Sprintf("; %d more are in the JSON", n)
	}
	return t
}

// workers returns the table of several generators.
func workers(d *present.Document) web.Table {
	t := web.Table{
		Caption: "Generators; the figures are their sum",
		Heads: web.Heads("worker#", "host", "process#", "connections#", unit(d)+"s#", "share#", "rate /s#", "errors#", "CPU#", "send lag p99#",
			"clock#", "began late#", "lost"),
	}
	for _, w := range d.Workers {
		share, cpu := missing(), missing()
		if d.Requests > 0 {
			part := float64(w.Requests) / float64(d.Requests)
			share = web.Number(part, report.Percent(part))
		}
		if w.Lost == "" {
			cpu = web.Number(w.CPUUtilisation, report.Percent(w.CPUUtilisation))
		}
		t.Rows = append(t.Rows, []web.Cell{
			whole(w.Index), word(w.Host), whole(w.PID), whole(w.Connections), whole(w.Requests), share,
			web.Number(w.RequestsPerSecond, report.PerSecond(w.RequestsPerSecond)), whole(results.CountErrors(w.Errors)), cpu, micros(w.SendLagP99),
			web.Number(w.Clock.OffsetMs, fmt.Sprintf("%+.2f ± %.2f ms", w.Clock.OffsetMs, w.Clock.UncertaintyMs)),
			web.Number(w.Clock.LateMs, fmt.Sprintf("%.2f ms", w.Clock.LateMs)), long(w.Lost),
		})
	}
	return t
}

// gates returns the table of all gates, with their values and limits.
func gates(d *present.Document) web.Table {
	t := web.Table{Caption: "Gates: checks of the run's validity", Heads: web.Heads("gate", "passed", "value#", "limit#")}
	for _, g := range d.Gates {
		passed := web.Cell{Text: "yes", Class: "kept"}
		switch {
		case !g.Passed && g.Disturbance:
			passed = web.Cell{Text: "disturbed", Class: "broken"}
		case !g.Passed:
			passed = web.Cell{Text: "no", Class: "broken"}
		}
		value, limit := present.GateFigures(g)
		t.Rows = append(t.Rows, []web.Cell{word(g.Name), passed, web.Number(g.Value, value), web.Number(g.Limit, limit)})
	}
	return t
}

// profiles returns the table of the profiles of the window.
func profiles(d *present.Document) web.Table {
	t := web.Table{Caption: "Profiles of the window", Heads: web.Heads("kind", "file", "top function")}
	for _, p := range d.Profiles {
		var top []string
		for _, f := range p.Top {
			top = append(top, fmt.Sprintf("%s %s", report.Percent(f.Flat), f.Name))
		}
		file := p.File
		if p.Missing != "" {
			file = "missing: " + p.Missing
		}
		t.Rows = append(t.Rows, []web.Cell{word(p.Kind), long(file), long(strings.Join(top, ", "))})
	}
	return t
}
