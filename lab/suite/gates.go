package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// judge applies the gates to a measured run.
func (b *bench) judge(run *results.Run, w *workload, result *spec.Result) error {
	run.Gates = append(common(run, run.Open != nil || w.stream), ofGenerator(run, w, result)...)
	if w.idle {
		want := b.connections(w)
		run.Gates = append(run.Gates, results.Gate{
			Name: "held", Passed: run.Held == want, Value: float64(run.Held), Limit: float64(want),
			Text: fmt.Sprintf("%d of %d connections were open at the end", run.Held, want),
		})
	} else {
		run.Gates = append(run.Gates, verdict.Answers(run.Requests))
	}
	open, err := gatesOf(w, result)
	if err != nil {
		return err
	}
	run.Gates = append(run.Gates, open...)
	pushed, err := pushGates(result)
	if err != nil {
		return err
	}
	run.Gates = append(run.Gates, pushed...)
	handshakes, err := w.checkHandshakes(result.TLS, b.connections(w))
	if err != nil {
		return err
	}
	run.Gates = append(run.Gates, handshakes...)
	run.Valid = results.Valid(run.Gates)
	run.Short = short(w, run)
	return nil
}

// common returns the gates that apply to all workloads. open says that the server does not set the
// rate.
func common(run *results.Run, open bool) []results.Gate {
	g := &run.Generator
	return append([]results.Gate{
		verdict.Errors(verdict.Failures(run.Errors, run.Unanswered, run.Open), run.Errors),
		verdict.Unanswered(run.Unanswered),
		verdict.Steady(g.Steady, g.WarmupSeconds),
		verdict.Steal(g.StealRatio, run.WindowSeconds),
	}, verdict.Foreign(g.ForeignRatio, run.WindowSeconds, open)...)
}

// ofGenerator returns the gates of a generator that did not run, or was full. That of an open loop has
// others, by how late it was, and subscribers do not record when it did not run.
func ofGenerator(run *results.Run, w *workload, result *spec.Result) (gates []results.Gate) {
	if w.stream {
		return nil
	}
	gates = append(gates, verdict.Ran(result.Stalls, result.Stalled))
	if run.Open == nil && !w.idle {
		g := &run.Generator
		busy := g.CPUUtilisation
		if run.Backend != nil {
			busy += run.Backend.Utilisation
		}
		gates = append(gates, verdict.Unbound(g.Bound, busy))
	}
	return gates
}

// overall returns the gates of the whole comparison.
func overall(f *results.File) []results.Gate {
	var counted, failed int
	for _, r := range f.Runs {
		if r.Failed != "" {
			failed++
		}
		if r.Counted {
			counted++
		}
	}
	wrong, disturbed := undecided(f)
	return []results.Gate{
		{
			Name: "measured", Passed: counted > 0, Value: float64(counted), Limit: 1,
			Text: "no run was measured",
		},
		{
			Name: "answers", Passed: len(wrong) == 0, Value: float64(len(wrong)),
			Text: "too many runs had wrong or missing answers, or a generator that was late or full: " + strings.Join(wrong, "; "),
		},
		{
			Name: "pairs", Passed: len(disturbed) == 0, Value: float64(len(disturbed)), Disturbance: true,
			Text: "too few pairs of runs can be used to decide: " + strings.Join(disturbed, "; "),
		},
		{
			Name: "failed", Passed: failed == 0, Value: float64(failed),
			Text: fmt.Sprintf("%d runs produced no measurement", failed),
		},
	}
}

// undecided describes the workloads in whose main metric a subject has too few usable pairs: those
// that lost them to wrong answers or the generator, and all others.
func undecided(f *results.File) (wrong, disturbed []string) {
	for _, w := range f.Workloads {
		var few, invalid []string
		most, needed := 0, 0
		for _, c := range f.Comparisons {
			if c.Workload != w.Name || c.Metric != w.LeadMetric() || decided(f, &c) {
				continue
			}
			most, needed = max(most, c.Usable), max(needed, c.Needed)
			if c.Invalid > c.Disturbed {
				invalid = append(invalid, c.Subject)
			} else {
				few = append(few, c.Subject)
			}
		}
		text := func(subjects []string) string {
			return fmt.Sprintf("%s has %d of %d for %s", w.Name, most, needed, strings.Join(subjects, ", "))
		}
		if len(invalid) > 0 {
			wrong = append(wrong, text(invalid))
		}
		if len(few) > 0 {
			disturbed = append(disturbed, text(few))
		}
	}
	return wrong, disturbed
}

// decided reports whether a comparison has as many usable pairs as a verdict needs, or as were asked
// for; or whether its subject has another result: it is the floor, too slow, or failed.
func decided(f *results.File, c *results.Comparison) bool {
	if c.Usable >= min(c.Needed, f.Config.Blocks) {
		return true
	}
	i := slices.IndexFunc(f.Subjects, func(s results.Subject) bool { return s.Name == c.Subject })
	k := slices.IndexFunc(f.Cells, func(o results.Cell) bool { return o.Workload == c.Workload && o.Subject == c.Subject })
	return f.Subjects[i].Role == roleFloor || f.Cells[k].Failed > 0 || f.Cells[k].Short > 0 && f.Cells[k].Short >= f.Cells[k].Blocks
}
