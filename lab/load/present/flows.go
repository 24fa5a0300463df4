package present

import (
	"cmp"
	"fmt"
	"slices"

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

// fillTags adds up the targets with the same tag. Histograms are merged, which is exact.
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

// tagFigures adds what objectives of tags are held against to that of targets, unless a
// target has the name.
func (d *Document) tagFigures(all map[string]objective.Figures) {
	for _, t := range d.Tags {
		if _, is := all[t.Name+"="+t.Value]; !is {
			all[t.Name+"="+t.Value] = objective.Figures{Latency: t.Latency, Rate: float64(t.Requests) / d.Seconds, Answered: t.Requests, Errors: t.Errors, Lost: t.Errors}
		}
	}
}

// named writes a row of a table whose first column is a name, as wide as that of targets.
func (s *summary) named(name string, cells ...string) {
	width := targetWidth + 12*(4-len(cells))
	s.WriteString(text.Pad(text.Snip(report.Line(name), width, "…"), width, ' '))
	for _, c := range cells {
		s.WriteString(text.AlignRight.Apply(c, 12))
	}
	s.WriteString("\n")
}

// tags is the table of the sums by tag.
func (s *summary) tags(d *Document) {
	if len(d.Tags) == 0 {
		return
	}
	s.named("tag", "requests", "errors", "p50", "p95", "p99")
	for _, t := range d.Tags[:min(len(d.Tags), targetRows)] {
		s.named(t.Name+"="+t.Value, fmt.Sprint(t.Requests), fmt.Sprint(t.Errors),
			report.Quantile(t.Latency.P50, " "), report.Quantile(t.Latency.Quantile(0.95), " "), report.Quantile(t.Latency.P99, " "))
	}
	if n := len(d.Tags) - targetRows; n > 0 {
		s.WriteString(fmt.Sprintf("and %d more, which --json has\n", n))
	}
	s.WriteString("\n")
}

// flows is the table of a scenario's flows, if there are several.
func (s *summary) flows(d *Document) {
	if d.Iterations == nil || len(d.Iterations.Flows) < 2 {
		return
	}
	s.named("flow", "completed", "aborted", "p50", "p99")
	for _, f := range d.Iterations.Flows {
		s.named(f.Name, fmt.Sprint(f.Completed), fmt.Sprint(f.Aborted), report.Quantile(f.Time.P50, " "), report.Quantile(f.Time.P99, " "))
	}
	s.WriteString("\n")
}
