package present

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// fillFlows takes the iterations of a scenario's flows, and adds them up.
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

// iterationFigures are what objectives of iterations are held against.
func iterationFigures(f *results.Flow) objective.Iterations {
	return objective.Iterations{Time: f.Time, Aborted: f.Aborted}
}

// flowFigures adds those of single flows to those of targets.
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

// flows is the table of a scenario's flows, if there are several.
func (s *summary) flows(d *Document) {
	if d.Iterations == nil || len(d.Iterations.Flows) < 2 {
		return
	}
	row := func(name string, cells ...string) {
		s.WriteString(text.Pad(text.Snip(report.Line(name), targetWidth, "…"), targetWidth, ' '))
		for _, c := range cells {
			s.WriteString(text.AlignRight.Apply(c, 12))
		}
		s.WriteString("\n")
	}
	row("flow", "completed", "aborted", "p50", "p99")
	for _, f := range d.Iterations.Flows {
		row(f.Name, fmt.Sprint(f.Completed), fmt.Sprint(f.Aborted), report.Quantile(f.Time.P50, " "), report.Quantile(f.Time.P99, " "))
	}
	s.WriteString("\n")
}
