package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// summary returns a sentence or two on each workload, with its title.
func summary(f *results.File) []string {
	var out []string
	for _, w := range f.Workloads {
		text := title(w) + ": " + headline(f, w)
		if v := verdicts(f, w); v != "" && len(f.Workloads) < manyWorkloads {
			text += " " + v
		}
		out = append(out, text)
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
		case string(results.Equivalent), string(results.Inconclusive), string(results.TooDisturbed), "no verdict":
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
		{string(results.Equivalent), "equivalent" + margin(f, w) + ": "},
		{string(results.Slower), "more: "},
		{string(results.Inconclusive), "inconclusive: "},
		{string(results.TooDisturbed), "disturbed, without a verdict: "},
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

// margin describes the margin of an equivalence in the main metric of a workload, and the noise.
func margin(f *results.File, w results.Workload) string {
	i := slices.IndexFunc(f.Comparisons, func(c results.Comparison) bool {
		return c.Workload == w.Name && c.Metric == leadOf(w).metric && c.Margin > 0
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" (within %.3g\u00a0%%, noise %s)", 100*f.Comparisons[i].Margin, Percent(noise(&f.Comparisons[i])))
}

// A cause is what disturbed runs, by the name of its gate.
type cause struct {
	gate      string
	runs      int
	low, high float64 // of the values that failed
	spoils    []results.Figure
}

// byMachine reports whether a gate is that of the hypervisor or of other processes. They make a
// generator late and a rate unsteady, which is then no cause of its own.
func byMachine(g results.Gate) bool { return g.Name == "steal" || g.Name == "foreign CPU" }

// causes returns what disturbed the counted runs, the most frequent first.
func causes(f *results.File) (list []cause, counted int) {
	for _, r := range f.Runs {
		if !r.Counted {
			continue
		}
		counted++
		machine := slices.ContainsFunc(r.Gates, func(g results.Gate) bool { return !g.Passed && byMachine(g) })
		for _, g := range r.Gates {
			if g.Passed || len(g.Spoils) == 0 || machine && !byMachine(g) {
				continue
			}
			i := slices.IndexFunc(list, func(c cause) bool { return c.gate == g.Name })
			if i < 0 {
				i = len(list)
				list = append(list, cause{gate: g.Name, low: math.Inf(1)})
			}
			c := &list[i]
			c.runs++
			c.low, c.high = min(c.low, g.Value), max(c.high, g.Value)
			for _, s := range g.Spoils {
				if !slices.Contains(c.spoils, s) {
					c.spoils = append(c.spoils, s)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b cause) int { return cmp.Compare(b.runs, a.runs) })
	return list, counted
}

// disturbances says in plain words what disturbed the comparison and which figures are left out;
// nothing if nothing did.
func disturbances(f *results.File) string {
	list, counted := causes(f)
	var out []string
	for _, c := range list {
		share := fmt.Sprintf("%.0f to %.0f\u00a0%% of the CPUs", 100*c.low, 100*c.high)
		if fmt.Sprintf("%.0f", 100*c.low) == fmt.Sprintf("%.0f", 100*c.high) {
			share = fmt.Sprintf("%.0f\u00a0%% of the CPUs", 100*c.high)
		}
		var what string
		switch c.gate {
		case "steal":
			what = "the hypervisor took " + share
		case "foreign CPU":
			what = "other processes took " + share
		case "steady":
			what = "the rate had not settled"
		case "pacing", "send lag":
			what = "the generator was late"
		case "generator":
			what = "the generator's core was full"
		case "stall":
			what = "the generator was stopped"
		case "achieved":
			what = "the rate was not reached"
		default:
			what = "the gate " + Line(c.gate) + " failed"
		}
		text := fmt.Sprintf("%s in %d of %d runs, whose %s are left out", what, c.runs, counted, figures(c.spoils))
		switch {
		case !slices.Contains(c.spoils, results.FigureCPU):
			text += ": CPU per request is not touched by it"
		case c.gate == "foreign CPU":
			text += ", CPU only in open loops"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return ""
	}
	text := strings.Join(append(out, widened(f)...), "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// widened says which workloads were compared beside other processes nevertheless, and how much wider
// that makes their intervals.
func widened(f *results.File) (out []string) {
	for _, w := range f.Workloads {
		most := 0.0
		for _, c := range f.Comparisons {
			if c.Workload == w.Name && c.Metric == w.LeadMetric() {
				most = max(most, c.Widened)
			}
		}
		if most > 0 {
			out = append(out, fmt.Sprintf("%s was compared beside them nevertheless, with intervals up to %.0f\u00a0%% wider", Line(w.Name), math.Ceil(100*most)))
		}
	}
	return out
}

// figures names the figures that a gate spoils.
func figures(spoils []results.Figure) string {
	var out []string
	for _, n := range []struct {
		figure results.Figure
		name   string
	}{{results.FigureRate, "rates"}, {results.FigureLatency, "latencies"}, {results.FigureCPU, "CPU"}} {
		if slices.Contains(spoils, n.figure) {
			out = append(out, n.name)
		}
	}
	if n := len(out); n > 1 {
		return strings.Join(out[:n-1], ", ") + " and " + out[n-1]
	}
	return strings.Join(out, "")
}
