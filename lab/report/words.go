package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// notice is a note or warning that is shown before all figures.
type notice struct {
	Word string // INVALID, PARTIAL, NOTE or Gate
	Text string
}

func (n notice) String() string { return n.Word + ": " + n.Text }

// notices returns the notices of the file, the most severe first.
func notices(f *results.File) []notice {
	var out []notice
	for _, g := range f.Gates {
		if !g.Passed {
			out = append(out, notice{"INVALID", fmt.Sprintf("%s (gate %s)", Line(g.Text), Line(g.Name))})
		}
	}
	if f.Partial != "" {
		out = append(out, notice{"PARTIAL", Line(f.Partial)})
	}
	for _, n := range f.Notes {
		out = append(out, notice{"NOTE", Line(n)})
	}
	if c := f.Ceiling; c != nil {
		out = append(out, notice{"NOTE", ceilingText(c)})
	}
	if c := f.CeilingTLS; c != nil {
		out = append(out, notice{"NOTE", "over TLS, " + ceilingText(c)})
	}
	return append(out, gateNotices(f.Runs)...)
}

// ceilingText describes the rate of which the rates of workloads are a share.
func ceilingText(c *results.Ceiling) string {
	text := fmt.Sprintf("the rates are shares of the maximum rate of %s: %s per second in a closed loop of %s",
		Line(c.Subject), PerSecond(c.Rate), plural(c.Connections, "connection"))
	if c.Bound {
		text += ", bound by the generator"
	}
	for _, g := range c.Gates {
		if !g.Passed {
			text += fmt.Sprintf("; gate %s failed: %s", Line(g.Name), Line(g.Text))
		}
	}
	return text
}

// gateNotices summarises the gates that runs failed, one notice per gate.
func gateNotices(runs []results.Run) []notice {
	type tally struct {
		name, first, text string
		runs, counted     int
	}
	var tallies []*tally
	for _, r := range runs {
		if r.Short != "" {
			continue // reported with its workload
		}
		for _, g := range r.Gates {
			if g.Passed {
				continue
			}
			i := slices.IndexFunc(tallies, func(t *tally) bool { return t.name == g.Name })
			if i < 0 {
				i = len(tallies)
				tallies = append(tallies, &tally{name: g.Name, first: r.ID, text: g.Text})
			}
			tallies[i].runs++
			if r.Counted {
				tallies[i].counted++
			}
		}
	}
	var out []notice
	for _, t := range tallies {
		counted := "not counted"
		if t.counted > 0 {
			counted = fmt.Sprintf("%d of them counted", t.counted)
		}
		out = append(out, notice{"Gate", fmt.Sprintf("%s failed in %s, %s; first %s: %s",
			Line(t.name), plural(t.runs, "run"), counted, Line(t.first), Line(t.text))})
	}
	return out
}

// metricNames lists the metrics with their names, in the order of the report.
var metricNames = []struct {
	Metric results.Metric
	Name   string
}{
	{results.MetricCPU, "CPU"},
	{results.MetricRate, "rate"},
	{results.MetricP50, "p50"},
	{results.MetricP99, "p99"},
	{results.MetricRSS, "RSS"},
	{results.MetricAllocs, "allocations"},
	{results.MetricBytes, "bytes allocated"},
	{results.MetricP999, "p99.9"},
	{results.MetricConn, "memory per connection"},
	{results.MetricCycles, "collections per second"},
	{results.MetricStops, "time stopped by collections per second"},
	{results.MetricStop, "time stopped per collection"},
	{results.MetricGCCPU, "CPU share of collections"},
}

// noiseFloors returns the noise floors of each workload, one line each: how far the
// baseline differs from itself.
func noiseFloors(f *results.File) []string {
	var out []string
	for _, w := range f.Workloads {
		var parts []string
		for _, m := range metricNames {
			i := slices.IndexFunc(f.Comparisons, func(c results.Comparison) bool {
				return c.Workload == w.Name && c.Metric == m.Metric && c.Floor > 0
			})
			if i >= 0 {
				parts = append(parts, m.Name+" "+Percent(f.Comparisons[i].Floor))
			}
		}
		if len(parts) > 0 {
			out = append(out, Line(w.Name)+" "+strings.Join(parts, ", "))
		}
	}
	if len(out) == 0 {
		return []string{"not measured"}
	}
	return out
}

// headline returns a sentence on the best subject of a workload by its lead.
func headline(f *results.File, w results.Workload) string {
	rows, lead := rowsOf(f, w), leadOf(w)
	i := slices.IndexFunc(rows, func(r row) bool {
		_, ok := r.metric(lead.metric)
		return ok && r.Role != roleFloor && r.Role != roleTwin
	})
	if i < 0 {
		return "nothing was measured."
	}
	r := rows[i].print(" ")
	text := r.Subject + " " + fmt.Sprintf(lead.best, r.Lead)
	switch {
	case rows[i].Role == roleBaseline:
		text += "; it is the baseline"
	case measured(rows[i].against):
		text += fmt.Sprintf(": %s\u00a0× that of %s", r.Ratio, Line(rows[i].against.Baseline))
		if r.RatioInterval != "" {
			text += fmt.Sprintf(" (%s)", r.RatioInterval)
		}
		switch r.Verdict {
		case string(results.Equivalent), string(results.Inconclusive), "no verdict":
			text += ", " + r.Verdict
		}
	}
	if rows[i].limit > 0 {
		text += fmt.Sprintf(", and %s\u00a0× the limit", r.Limit)
	}
	return text + "."
}

// verdicts returns a sentence that groups the subjects of a workload by verdict.
func verdicts(f *results.File, w results.Workload) string {
	groups := map[string][]string{}
	for _, r := range rowsOf(f, w) {
		if r.Role == roleBaseline || r.Role == roleFloor || r.Role == roleTwin {
			continue
		}
		p := r.print(" ")
		name := p.Subject
		if measured(r.against) && (p.Verdict == string(results.Faster) || p.Verdict == string(results.Slower)) {
			name += " (" + p.Ratio + "\u00a0×)"
		}
		groups[p.Verdict] = append(groups[p.Verdict], name)
	}
	var out []string
	for _, g := range []struct{ verdict, text string }{
		{string(results.Faster), leadOf(w).less + " than " + Line(f.Config.Baseline) + ": "},
		{string(results.Equivalent), "equivalent: "},
		{string(results.Slower), "more: "},
		{string(results.Inconclusive), "inconclusive: "},
		{"no verdict", "without a verdict: "},
		{tooSlow, "did not reach the rate: "},
		{"failed", "failed: "},
	} {
		if names := groups[g.verdict]; len(names) > 0 {
			out = append(out, g.text+strings.Join(names, ", "))
		}
	}
	if len(out) == 0 {
		return ""
	}
	text := strings.Join(out, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// reasons lists why comparisons have no verdict, and shortfalls.
func reasons(rows []row) []string {
	var out []string
	for _, r := range rows {
		if r.short != "" {
			out = append(out, Line(r.Name)+": "+r.short)
		}
		if r.against != nil && r.against.Reason != "" {
			out = append(out, Line(r.Name)+": "+Line(r.against.Reason))
		}
	}
	return out
}

// failure is a cause for which runs have no measurement.
type failure struct {
	Runs   []string
	Why    string
	Stderr []string // the last lines, cleaned
}

func (f failure) String() string { return strings.Join(f.Runs, ", ") + ": " + f.Why }

// failures returns the runs without a measurement, grouped by cause: a subject that
// cannot start fails in every block.
func failures(f *results.File) []failure {
	var out []failure
	for _, r := range f.Runs {
		if r.Failed == "" {
			continue
		}
		next := failure{Runs: []string{Line(r.ID)}, Why: Line(r.Failed)}
		if r.Stderr != "" {
			next.Stderr = lastLines(r.Stderr, stderrLines)
		}
		i := slices.IndexFunc(out, func(o failure) bool {
			return o.Why == next.Why && slices.Equal(o.Stderr, next.Stderr)
		})
		if i >= 0 {
			out[i].Runs = append(out[i].Runs, next.Runs...)
		} else {
			out = append(out, next)
		}
	}
	return out
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
