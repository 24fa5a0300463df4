package suite

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// The limits of the validity gates.
const (
	// invalidLimit is the share of the counted runs that may fail a gate before the
	// whole comparison is invalid.
	invalidLimit = 0.10
)

// judge applies the gates to a measured run.
func (b *bench) judge(run *results.Run, w *workload, result *spec.Result) error {
	run.Gates = common(run)
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

// common returns the gates that apply to all workloads.
func common(run *results.Run) []results.Gate {
	g := &run.Generator
	return append([]results.Gate{
		verdict.Errors(verdict.Failures(run.Errors, run.Unanswered, run.Open), run.Errors),
		verdict.Unanswered(run.Unanswered),
		verdict.Steady(g.Steady, g.WarmupSeconds),
		verdict.Steal(g.StealRatio, run.WindowSeconds),
	}, verdict.Foreign(g.ForeignRatio, run.WindowSeconds, run.Open != nil)...)
}

// overall returns the gates of the whole comparison.
func overall(f *results.File) []results.Gate {
	var counted, invalid, failed, reruns int
	for _, r := range f.Runs {
		if r.Failed != "" {
			failed++
		}
		if r.Counted {
			counted++
			if !r.Valid {
				invalid++
			}
		}
		if r.Attempt > 1 && r.Order == 1 {
			reruns++
		}
	}
	share := 0.0
	if counted > 0 {
		share = float64(invalid) / float64(counted)
	}
	return []results.Gate{
		{
			Name: "invalid", Passed: share <= invalidLimit, Value: share, Limit: invalidLimit,
			Text: fmt.Sprintf("%d of %d runs failed a gate, even after their block was run again: %s",
				invalid, counted, failedGates(f)),
		},
		{
			Name: "measured", Passed: counted > 0, Value: float64(counted), Limit: 1,
			Text: "no run was measured",
		},
		{
			Name: "reruns", Passed: true, Value: float64(reruns),
			Text: fmt.Sprintf("%d blocks were run again", reruns),
		},
		{
			Name: "failed", Passed: failed == 0, Value: float64(failed),
			Text: fmt.Sprintf("%d runs produced no measurement", failed),
		},
	}
}

// failedGates lists the gates that counted runs failed, with counts.
func failedGates(f *results.File) string {
	counts := map[string]uint64{}
	for _, r := range f.Runs {
		if !r.Counted {
			continue
		}
		for _, g := range r.Gates {
			if !g.Passed {
				counts[g.Name]++
			}
		}
	}
	return results.ErrorKinds(counts)
}
