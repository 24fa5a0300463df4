package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// The roles of a subject, as results.Subject.Role has them.
const (
	roleBaseline = "baseline"
	roleTwin     = "twin"
	roleFloor    = "floor"
)

// row is one subject under one workload.
type row struct {
	results.Subject
	lead    lead
	cell    *results.Cell       // nil when it has none
	against *results.Comparison // with the baseline, by the lead; nil when there is none
	limit   float64             // the lead over that of the floor; 0 when unknown
	short   string              // how often it did not reach the rate, and the last time's words; empty: never
	waited  string              // share of the arrivals that found no connection free; empty: unknown
}

// rowsOf returns the subjects of a workload, the best in its lead first and
// those without a measurement last. Subjects that had no part in it are left out.
func rowsOf(f *results.File, w results.Workload) []row { return rowsBy(f, w, leadOf(w)) }

// rowsBy is rowsOf with another lead.
func rowsBy(f *results.File, w results.Workload, lead lead) []row {
	var rows []row
	floor, load := 0.0, w.Name
	for _, s := range f.Subjects {
		r := row{Subject: s, lead: lead, cell: cellOf(f, load, s.Name), against: comparisonOf(f, load, s.Name, lead.metric)}
		if r.cell == nil && !tookPart(f, load, s.Name) {
			continue
		}
		if e, ok := r.metric(lead.metric); ok && s.Role == roleFloor && (floor == 0 || e.Value < floor) {
			floor = e.Value
		}
		r.waited, r.short = waited(f, load, s.Name), shortfall(f, load, r.cell)
		rows = append(rows, r)
	}
	for i := range rows {
		switch e, ok := rows[i].metric(lead.metric); {
		case !ok:
		case rows[i].cell.OverFloor != nil && lead.metric == results.MetricCPU:
			rows[i].limit = rows[i].cell.OverFloor.Value
		case floor > 0 && e.Value > 0:
			rows[i].limit = e.Value / floor
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.rank(), b.rank()) })
	return rows
}

func cellOf(f *results.File, load, subject string) *results.Cell {
	for i, c := range f.Cells {
		if c.Workload == load && c.Subject == subject {
			return &f.Cells[i]
		}
	}
	return nil
}

func comparisonOf(f *results.File, load, subject string, m results.Metric) *results.Comparison {
	for i, c := range f.Comparisons {
		if c.Workload == load && c.Subject == subject && c.Metric == m {
			return &f.Comparisons[i]
		}
	}
	return nil
}

func tookPart(f *results.File, load, subject string) bool {
	return slices.ContainsFunc(f.Runs, func(r results.Run) bool {
		return r.Workload == load && r.Subject == subject
	})
}

// waited is the share of the arrivals of all blocks that found no connection free.
func waited(f *results.File, load, subject string) string {
	var due, waited uint64
	for _, r := range runsOf(countedRuns(f, load), subject) {
		if r.Open != nil {
			due, waited = due+r.Open.Due, waited+r.Open.Waited
		}
	}
	if due == 0 {
		return none
	}
	return Percent(float64(waited) / float64(due))
}

// shortfall says how often a subject did not reach the rate that all get.
func shortfall(f *results.File, load string, cell *results.Cell) string {
	if cell == nil || cell.Short == 0 {
		return ""
	}
	words := ""
	for _, r := range runsOf(f.Runs, cell.Subject) {
		if r.Workload == load && r.Short != "" {
			words = Line(r.Short)
		}
	}
	return fmt.Sprintf("in %s, not counted, the last time: %s", plural(cell.Short, "block"), words)
}

// metric returns a figure of the row's cell, if it has it.
func (r *row) metric(m results.Metric) (results.Estimate, bool) {
	if r.cell == nil {
		return results.Estimate{}, false
	}
	e, ok := r.cell.Metrics[m]
	return e, ok
}

// rank orders rows by the lead, those without it last.
func (r *row) rank() float64 {
	if e, ok := r.metric(r.lead.metric); ok {
		return e.Value
	}
	return math.Inf(1)
}

// measured tells whether the ratio of a comparison means anything.
func measured(c *results.Comparison) bool { return c != nil && c.Ratio.Value > 0 }

// tooSlow is said of a subject that did not reach the rate that all get in half of its
// blocks or more.
const tooSlow = "too slow"

// verdict is what the table says of the row: the verdict by the lead, or what the
// row is when there is nothing to judge.
func (r *row) verdict() string {
	switch {
	case r.cell != nil && r.cell.Short > 0 && r.cell.Short >= r.cell.Blocks:
		return tooSlow
	case r.cell == nil || r.cell.Blocks == 0:
		return "failed"
	case r.Role == roleBaseline:
		return "baseline"
	case r.Role == roleFloor:
		return "limit"
	case r.against == nil || r.against.Verdict == results.NoVerdict:
		return "no verdict"
	default:
		return Line(string(r.against.Verdict))
	}
}

// bound tells whether the generator held the row's rate back in most blocks.
func (r *row) bound() bool { return r.cell != nil && 2*r.cell.Bound > r.cell.Blocks }

// fields are the cells of a row, as printed. The figure and its interval are apart.
type fields struct {
	Subject, Role, Title        string
	Lead, LeadInterval          string
	CPU                         string
	Ratio, RatioInterval        string
	Limit, Verdict, Rate        string
	Bound                       bool
	P50, P99, P999, RSS, Allocs string
	Waited                      string
}

// print turns the row's figures into text; gap stands between figure and unit.
func (r *row) print(gap string) fields {
	out := fields{
		Subject: Line(r.Name), Role: Line(r.Role), Title: Line(r.Title), Verdict: r.verdict(), Bound: r.bound(),
		Waited: r.waited, Lead: none, CPU: none, Ratio: none, Limit: none, Rate: none, P50: none, P99: none, P999: none, RSS: none, Allocs: none,
	}
	if e, ok := r.metric(r.lead.metric); ok {
		out.Lead, out.LeadInterval = r.lead.print(e, gap)
	}
	if e, ok := r.metric(results.MetricCPU); ok {
		out.CPU = figure(e.Value)
	}
	switch {
	case r.Role == roleBaseline:
		out.Ratio = "1"
	case measured(r.against):
		out.Ratio, out.RatioInterval = figure(r.against.Ratio.Value), interval(r.against.Ratio)
	}
	if r.limit > 0 {
		out.Limit = figure(r.limit)
	}
	if e, ok := r.metric(results.MetricRate); ok {
		out.Rate = PerSecond(e.Value)
	}
	if e, ok := r.metric(results.MetricRSS); ok {
		out.RSS = Bytes(e.Value, gap)
	}
	if e, ok := r.metric(results.MetricAllocs); ok {
		out.Allocs = count(e.Value)
	}
	if r.cell != nil {
		l := r.cell.Latency
		out.P50, out.P99, out.P999 = Quantile(l.P50, gap), Quantile(l.P99, gap), Quantile(l.P999, gap)
	}
	return out
}

// describe says what a workload asks for.
func describe(w results.Workload) string {
	parts := []string{strings.TrimSpace(Line(w.Method) + " " + Line(w.Path))}
	if w.HeaderBytes > 0 {
		parts = append(parts, fmt.Sprintf("head of %d bytes", w.HeaderBytes))
	}
	if w.BodyBytes > 0 {
		parts = append(parts, fmt.Sprintf("body of %d bytes", w.BodyBytes))
	}
	parts = append(parts, fmt.Sprintf("%d connections", w.Connections))
	if w.Pipeline > 1 {
		parts = append(parts, fmt.Sprintf("%d in flight on each", w.Pipeline))
	}
	if w.Arrivals != "" {
		parts = append(parts, "arrivals: "+Line(w.Arrivals))
	}
	if w.Varied {
		parts = append(parts, "requests that differ in target and fields")
	}
	if w.Backend != "" {
		parts = append(parts, "backend: "+Line(w.Backend))
	}
	if len(w.NotServed) > 0 {
		parts = append(parts, "not served by "+Line(strings.Join(w.NotServed, ", ")))
	}
	return strings.Join(parts, ", ")
}

// unit is what a workload counts: requests or events.
func unit(w results.Workload) string { return cmp.Or(Line(w.Unit), "request") }

// title is how a workload is called in text.
func title(w results.Workload) string { return cmp.Or(Line(w.Title), Line(w.Name)) }
