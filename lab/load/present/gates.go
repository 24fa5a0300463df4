package present

import (
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// bound reports whether the generator's core was full and the server's CPUs were not, or are
// unknown: a closed loop then measures the generator.
func (d *Document) bound() bool {
	var server float64
	if d.Server != nil && d.Server.CPUs > 0 {
		server = d.Server.CPU.Utilisation
	}
	return d.Open == nil && d.Stream == nil && verdict.Bound(d.Generator.CPUUtilisation, server)
}

// judge applies the gates. Errors are a gate only if no threshold limits them.
func (d *Document) judge(r *spec.Result, thresholds []objective.Objective) error {
	if d.Stream != nil {
		d.Gates = d.Stream.gates(d, r, thresholds)
		d.Valid = results.Valid(d.Gates)
		return nil
	}
	d.Gates = append([]results.Gate{verdict.Answers(r.Requests), verdict.Steal(d.Generator.StealRatio, r.Seconds)},
		verdict.Foreign(d.Generator.ForeignRatio, r.Seconds, r.Open != nil)...)
	d.Gates = append(d.Gates, verdict.Ran(r.Stalls, r.Stalled))
	if !slices.ContainsFunc(thresholds, func(o objective.Objective) bool { return o.Metric == "errors" && o.Target == "" }) {
		d.Gates = append(d.Gates, verdict.Errors(d.failures(), r.Errors))
	}
	if d.Open == nil && d.Config.WarmupSeconds > 0 { // the rate of an open loop is the requested one
		d.Gates = append(d.Gates, verdict.Steady(r.Steady, r.WarmupSeconds))
		if r.Drift != 0 && r.Steady {
			d.Gates[len(d.Gates)-1] = verdict.Settled(r.Drift)
		}
	}
	if d.Open == nil {
		d.Gates = append(d.Gates, verdict.Unanswered(d.Unanswered), verdict.Unbound(d.Generator.Bound, d.Generator.CPUUtilisation))
	}
	onTime := verdict.Open
	if d.Config.Unasked {
		onTime = verdict.Unasked
	}
	open, err := onTime(r, tightest(thresholds))
	if err != nil {
		return err
	}
	d.Gates = append(d.Gates, open...)
	if r.GaveUp != "" {
		d.Gates = append(d.Gates, results.Gate{Name: "given up", Value: r.Seconds, Text: fmt.Sprintf("the run was aborted after %s: %s", report.Seconds(r.Seconds), r.GaveUp)})
	}
	d.Valid = results.Valid(d.Gates)
	return nil
}

// tightest returns the smallest limit of a latency among the thresholds, in microseconds; 0 if
// there is none.
func tightest(thresholds []objective.Objective) (us float64) {
	for _, o := range thresholds {
		if o.OfLatency() && !o.Iterations() && (us == 0 || o.Limit < us) {
			us = o.Limit
		}
	}
	return us
}

// Failed returns the gates that did not pass.
func (d *Document) Failed() []results.Gate {
	return slices.DeleteFunc(slices.Clone(d.Gates), func(g results.Gate) bool { return g.Passed })
}

// Believed reports whether the run is valid for a search for the highest rate. A server that
// does not keep up fails the gates "achieved" and, through its connections, "send lag": that is
// a valid result, unless the generator itself was late.
func (d *Document) Believed() (ok bool, why string) { return d.believed(d.Failed()) }

// BelievedDisturbed is Believed without the gates of disturbances. Those change rates and latencies,
// and neither what a server does, nor the shares of its time, nor whether it holds.
func (d *Document) BelievedDisturbed() (ok bool, why string) {
	return d.believed(slices.DeleteFunc(d.Failed(), func(g results.Gate) bool { return g.Disturbance }))
}

func (d *Document) believed(failed []results.Gate) (ok bool, why string) {
	for _, g := range failed {
		switch g.Name {
		case "errors", "achieved", "answers":
			continue
		case "send lag":
			if d.Open != nil && !d.late(g.Limit) {
				continue
			}
		}
		return false, g.Text
	}
	return true, ""
}

// late reports whether the generator caused most of a send lag beyond the limit.
func (d *Document) late(limit float64) bool {
	lag, pacing := d.Open.SendLag.P99, d.Open.Pacing.P99
	return lag == nil || pacing == nil || *pacing > limit && 2**pacing > *lag
}

// KeptUp reports whether the server accepted all arrivals and answered them right, and why not.
// The time that they waited for a connection is part of the response times.
func (d *Document) KeptUp() (ok bool, why string) {
	for _, g := range d.Failed() {
		switch g.Name {
		case "errors", "achieved", "answers":
			return false, g.Text
		}
	}
	return true, ""
}
