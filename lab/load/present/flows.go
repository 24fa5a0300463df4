package present

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// fillFlows adds the iterations of a scenario's flows, and their sum.
func (d *Document) fillFlows(r *spec.Result) (err error) {
	if len(r.Flows) == 0 {
		return nil
	}
	all := &results.Iterations{}
	var times, waits []results.Latency
	for _, f := range r.Flows {
		into := results.Flow{Name: f.Name, Completed: f.Completed, Aborted: f.Aborted, Unfinished: f.Unfinished}
		if into.Time, err = results.ParseLatency(f.Histogram); err != nil {
			return fmt.Errorf("flow %q: %w", f.Name, err)
		}
		if into.WithoutThink, err = results.ParseLatency(f.Waited); err != nil {
			return fmt.Errorf("flow %q: %w", f.Name, err)
		}
		all.Completed += f.Completed
		all.Aborted += f.Aborted
		all.Unfinished += f.Unfinished
		all.Flows, times, waits = append(all.Flows, into), append(times, into.Time), append(waits, into.WithoutThink)
	}
	if all.Time, err = results.MergeLatency(times); err != nil {
		return fmt.Errorf("iterations: %w", err)
	}
	if all.WithoutThink, err = results.MergeLatency(waits); err != nil {
		return fmt.Errorf("iterations: %w", err)
	}
	d.Iterations = all
	return nil
}

// iterationFigures returns the figures that objectives of iterations are compared with.
func iterationFigures(f *results.Flow) objective.Iterations {
	return objective.Iterations{Time: f.Time, Aborted: f.Aborted}
}

// flowFigures adds the figures of single flows to those of targets.
func (d *Document) flowFigures(all map[string]objective.Figures) {
	if d.Iterations == nil {
		return
	}
	for i := range d.Iterations.Flows {
		f := &d.Iterations.Flows[i]
		figures := all[f.Name]
		figures.Iterations = iterationFigures(f)
		all[f.Name] = figures
	}
}

// fillTags adds up the targets with the same tag. Histograms are merged without loss.
func (d *Document) fillTags() (err error) {
	type key struct{ name, value string }
	of := map[key][]results.Target{}
	for _, t := range d.Targets {
		for name, value := range t.Tags {
			if !t.Setup {
				of[key{name, value}] = append(of[key{name, value}], t)
			}
		}
	}
	for k, list := range of {
		sum := results.Tag{Name: k.name, Value: k.value}
		var parts []results.Latency
		for _, t := range list {
			sum.Requests += t.Requests
			sum.Errors += t.Failures()
			parts = append(parts, t.Latency)
		}
		if sum.Latency, err = results.MergeLatency(parts); err != nil {
			return fmt.Errorf("tag %s=%s: %w", k.name, k.value, err)
		}
		d.Tags = append(d.Tags, sum)
	}
	slices.SortFunc(d.Tags, func(a, b results.Tag) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return nil
}

// tagFigures adds the figures for objectives of tags to those of targets, unless a target has
// the same name.
func (d *Document) tagFigures(all map[string]objective.Figures) {
	for _, t := range d.Tags {
		if _, is := all[t.Name+"="+t.Value]; !is {
			failed := t.Errors + d.unassigned(t.Requests+t.Errors)
			all[t.Name+"="+t.Value] = objective.Figures{Latency: t.Latency, Rate: float64(t.Requests) / d.Seconds, Answered: t.Requests, Errors: failed, Lost: failed, Bounds: t.Latency.Count - min(t.Requests, t.Latency.Count)}
		}
	}
}

// grid returns a table whose first column is a name, as wide as in the table of targets.
func grid(first string, heads ...string) *screen.Table {
	const cell = 12
	columns := []screen.Column{{Head: first, Width: targetWidth + cell*(4-len(heads))}}
	for _, head := range heads {
		columns = append(columns, screen.Column{Head: head, Width: cell})
	}
	return screen.NewTable(columns...)
}

// rows writes a table; left is the number of rows that are omitted.
func (s *summary) rows(table *screen.Table, left int) {
	s.WriteString(table.Print(s.screen))
	if left > 0 {
		s.line("", fmt.Sprintf("and %d more, see --json", left))
	}
	s.WriteString("\n")
}

// tags writes the table of the sums by tag.
func (s *summary) tags(d *Document) {
	if len(d.Tags) == 0 {
		return
	}
	table := grid("tag", "requests", "errors", "p50", "p95", "p99")
	for _, t := range d.Tags[:min(len(d.Tags), targetRows)] {
		table.Row(screen.Snip(report.Line(t.Name+"="+t.Value), targetWidth-12), fmt.Sprint(t.Requests), s.failed(t.Errors),
			report.Quantile(t.Latency.P50, " "), report.Quantile(t.Latency.Quantile(0.95), " "), report.Quantile(t.Latency.P99, " "))
	}
	s.rows(table, len(d.Tags)-targetRows)
}

// flows writes the table of a scenario's flows, if there are several.
func (s *summary) flows(d *Document) {
	if d.Iterations == nil || len(d.Iterations.Flows) < 2 {
		return
	}
	list := d.Iterations.Flows
	table := grid("flow", "completed", "aborted", "p50", "p99")
	for _, f := range list[:min(len(list), targetRows)] {
		table.Row(screen.Snip(report.Line(f.Name), targetWidth), fmt.Sprint(f.Completed), s.failed(f.Aborted),
			report.Quantile(f.Time.P50, " "), report.Quantile(f.Time.P99, " "))
	}
	s.rows(table, len(list)-targetRows)
}
