package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// Values of results.Subject.Role.
const (
	roleBaseline = "baseline"
	roleTwin     = "twin"
	roleFloor    = "floor"
)

// row is one subject under one workload.
type row struct {
	results.Subject
	lead    lead
	cell    *results.Cell       // nil if there is none
	against *results.Comparison // with the baseline, by the lead; nil if there is none
	limit   float64             // ratio of the lead to the floor's; 0 if unknown
	short   string              // how often it did not reach the rate, and the last reason; empty: never
	waited  string              // share of the arrivals that found no free connection; none if unknown
}

// rowsOf returns the subjects of a workload, the best by its lead first and those without
// a measurement last. Subjects without a run are left out.
func rowsOf(f *results.File, w results.Workload) []row { return rowsBy(f, w, leadOf(w)) }

// rowsBy is like rowsOf, with another lead.
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

// waited returns the share of the arrivals of all blocks that found no free connection.
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

// shortfall returns how often a subject did not reach the common rate, and the last reason.
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
	return fmt.Sprintf("not counted in %s; last reason: %s", plural(cell.Short, "block"), words)
}

// metric returns a figure of the row's cell, and whether there is one.
func (r *row) metric(m results.Metric) (results.Estimate, bool) {
	if r.cell == nil {
		return results.Estimate{}, false
	}
	e, ok := r.cell.Metrics[m]
	return e, ok
}

// rank returns the value by which rows are sorted: the lead, or infinity without one.
func (r *row) rank() float64 {
	if e, ok := r.metric(r.lead.metric); ok {
		return e.Value
	}
	return math.Inf(1)
}

// measured reports whether a comparison has a ratio.
func measured(c *results.Comparison) bool { return c != nil && c.Ratio.Value > 0 }

// tooSlow is the verdict on a subject that did not reach the common rate in at least half
// of its blocks.
const tooSlow = "too slow"

// verdict returns the row's verdict by the lead, or its role or state if there is nothing
// to compare.
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

// bound reports whether the generator limited the row's rate in most blocks.
func (r *row) bound() bool { return r.cell != nil && 2*r.cell.Bound > r.cell.Blocks }

// fields holds the printed cells of a row. Figures and intervals are separate.
type fields struct {
	Subject, Role, Title        string
	Lead, LeadInterval          string
	CPU                         string
	Ratio, RatioInterval        string
	Limit, Verdict, Rate        string
	Bound                       bool
	Built                       bool // with a chosen toolchain
	P50, P99, P999, RSS, Allocs string
	Waited                      string
	Noise                       string           // beside an equivalence; or that pairs were measured beside other processes
	Disturbed                   []results.Figure // too few usable runs
	Conn                        string           // memory of a connection
	Cycles, Stops, Stop, GCCPU  string           // of the garbage collector
}

// print returns the row's figures as text; gap separates figure and unit.
func (r *row) print(gap string) fields {
	out := fields{
		Subject: Line(r.Name), Role: Line(r.Role), Title: Line(r.Title), Verdict: r.verdict(), Bound: r.bound(), Built: r.Build != nil,
		Waited: r.waited, Lead: none, CPU: none, Ratio: none, Limit: none, Rate: none, P50: none, P99: none, P999: none, RSS: none, Allocs: none, Conn: none,
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
	switch {
	case r.against == nil || r.Role == roleTwin:
	case r.against.Verdict == results.Equivalent:
		out.Noise = "noise " + Percent(noise(r.against))
	case r.against.Widened > 0:
		out.Noise = "beside others"
	}
	if r.cell != nil {
		out.Disturbed = r.cell.Disturbed
	}
	if r.limit > 0 {
		out.Limit = figure(r.limit)
	}
	if e, ok := r.metric(results.MetricRate); ok {
		out.Rate = PerSecond(e.Value)
	}
	if e, ok := r.metric(results.MetricConn); ok {
		out.Conn = Bytes(e.Value, gap)
	}
	if e, ok := r.metric(results.MetricRSS); ok {
		out.RSS = Bytes(e.Value, gap)
	}
	if e, ok := r.metric(results.MetricAllocs); ok {
		out.Allocs = count(e.Value)
	}
	for _, c := range []struct {
		to     *string
		metric results.Metric
		text   func(float64) string
	}{
		{&out.Cycles, results.MetricCycles, figure},
		{&out.Stops, results.MetricStops, func(v float64) string { return Micros(v, gap) }},
		{&out.Stop, results.MetricStop, func(v float64) string { return Micros(v, gap) }},
		{&out.GCCPU, results.MetricGCCPU, Percent},
	} {
		*c.to = none
		if e, ok := r.metric(c.metric); ok {
			*c.to = c.text(e.Value)
		}
	}
	if r.cell != nil {
		l := r.cell.Latency
		out.P50, out.P99, out.P999 = Quantile(l.P50, gap), Quantile(l.P99, gap), Quantile(l.P999, gap)
	}
	return out
}

// describe returns a description of a workload's requests.
func describe(w results.Workload) string {
	parts := []string{strings.TrimSpace(Line(w.Method) + " " + Line(w.Path))}
	if w.Protocol != "" {
		parts = append(parts, Line(w.Protocol))
	}
	if w.HeaderBytes > 0 {
		parts = append(parts, fmt.Sprintf("head of %d bytes", w.HeaderBytes))
	}
	if w.BodyBytes > 0 {
		parts = append(parts, fmt.Sprintf("body of %d bytes", w.BodyBytes))
	}
	parts = append(parts, fmt.Sprintf("%d connections", w.Connections))
	if w.Streams > 0 {
		parts = append(parts, fmt.Sprintf("%d streams on each", w.Streams))
	}
	if w.Pipeline > 1 {
		parts = append(parts, fmt.Sprintf("%d in flight on each", w.Pipeline))
	}
	if w.Arrivals != "" {
		parts = append(parts, "arrivals: "+Line(w.Arrivals))
	}
	if w.Published != "" {
		parts = append(parts, "published: "+Line(w.Published))
	}
	if w.Varied {
		parts = append(parts, "requests with different targets and fields")
	}
	if w.Backend != "" {
		parts = append(parts, "backend: "+Line(w.Backend))
	}
	if len(w.NotServed) > 0 {
		parts = append(parts, "not served by "+Line(strings.Join(w.NotServed, ", ")))
	}
	return strings.Join(parts, ", ")
}

// unit returns what a workload counts: request or event.
func unit(w results.Workload) string { return cmp.Or(Line(w.Unit), "request") }

// title returns the title of a workload, or its name.
func title(w results.Workload) string { return cmp.Or(Line(w.Title), Line(w.Name)) }
