package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// notice is a note or warning.
type notice struct {
	Word string // INVALID, UNDECIDED, FAILED, PARTIAL, NOTE or Gate
	Text string
}

func (n notice) String() string { return n.Word + ": " + n.Text }

// doubts returns the notices that put the results in doubt, the most severe first: they precede them.
func doubts(f *results.File) []notice {
	var out []notice
	for _, g := range f.Gates {
		if !g.Passed && !g.Disturbance && g.Name != failedGate {
			out = append(out, notice{"INVALID", gateText(g)})
		}
	}
	if f.Partial != "" {
		out = append(out, notice{"PARTIAL", Line(f.Partial)})
	}
	return out
}

// failedGate is the name of the gate of runs without a measurement.
const failedGate = "failed"

// gaps returns the notices on what the results lack: they follow them.
func gaps(f *results.File) []notice {
	var out []notice
	for _, g := range f.Gates {
		switch {
		case g.Passed:
		case g.Disturbance:
			out = append(out, notice{"UNDECIDED", gateText(g)})
		case g.Name == failedGate:
			out = append(out, notice{"FAILED", gateText(g)})
		}
	}
	return out
}

func gateText(g results.Gate) string { return fmt.Sprintf("%s (gate %s)", Line(g.Text), Line(g.Name)) }

// remarks returns the notices that do not put the results in doubt.
func remarks(f *results.File) []notice {
	var out []notice
	for _, n := range f.Notes {
		out = append(out, notice{"NOTE", Line(n)})
	}
	if c := f.Ceiling; c != nil {
		out = append(out, notice{"NOTE", ceilingText(c)})
	}
	if c := f.CeilingTLS; c != nil {
		out = append(out, notice{"NOTE", "over TLS, " + ceilingText(c)})
	}
	return out
}

// ceilingText describes the rate of which the rates of workloads are a share.
func ceilingText(c *results.Ceiling) string {
	text := fmt.Sprintf("the rates are shares of the maximum rate of %s: %s per second in a closed loop of %s",
		Line(c.Subject), PerSecond(c.Rate), plural(c.Connections, "connection"))
	if c.Bound {
		text += ", bound by the generator"
	}
	if len(results.Disturbed(c.Gates)) > 0 {
		text += ", on a disturbed machine"
	}
	for _, g := range c.Gates {
		if !g.Passed && !g.Disturbance && (!c.Bound || g.Name != "generator") {
			text += fmt.Sprintf("; gate %s failed: %s", Line(g.Name), Line(g.Text))
		}
	}
	return text
}

// gateNotices summarises the gates that runs failed, one notice per gate.
func gateNotices(runs []results.Run) []notice {
	type tally struct {
		name, first, text string
		runs              int
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
		}
	}
	var out []notice
	for _, t := range tallies {
		out = append(out, notice{"Gate", fmt.Sprintf("%s failed in %d of %s; first %s: %s",
			Line(t.name), t.runs, plural(len(runs), "run"), Line(t.first), Line(t.text))})
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

// noise returns by how much the baseline differs from itself, as far as the interval reaches.
func noise(c *results.Comparison) float64 { return cmp.Or(c.Noise, c.Floor) }

// noiseFloors returns the noise of each workload, one line each: how far the
// baseline differs from itself.
func noiseFloors(f *results.File) []string {
	var out []string
	for _, w := range f.Workloads {
		var parts []string
		for _, m := range metricNames {
			i := slices.IndexFunc(f.Comparisons, func(c results.Comparison) bool {
				return c.Workload == w.Name && c.Metric == m.Metric && c.Floor > 0
			})
			if i >= 0 && noiseKnown(f, w.Name, m.Metric) {
				parts = append(parts, m.Name+" "+Percent(noise(&f.Comparisons[i])))
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

// noiseKnown reports whether the baseline and its twin have enough pairs in a metric.
func noiseKnown(f *results.File, load string, m results.Metric) bool {
	for _, s := range f.Subjects {
		if c := comparisonOf(f, load, s.Name, m); s.Role == roleTwin && c != nil && (c.Verdict == results.TooDisturbed || c.Verdict == results.NoVerdict) {
			return false
		}
	}
	return true
}

// reasons lists why comparisons have no verdict, and shortfalls; and explains the mark of disturbed
// figures.
func reasons(w results.Workload, rows []row) []string {
	var out []string
	columns := columnsOf(w, rows, true)
	if slices.ContainsFunc(rows, func(r row) bool {
		return slices.ContainsFunc(columns, func(c tableColumn) bool { return c.grey(r.print("")) })
	}) {
		out = append(out, mark+" disturbed: too few undisturbed runs, so this is of all; a latency is at most this, a rate or the CPU of an open loop at least")
	}
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
