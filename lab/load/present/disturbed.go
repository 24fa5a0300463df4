package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// Disturbed returns the gates that failed because the machine was disturbed, or that do not say who
// disturbed the run.
func (d *Document) Disturbed() []results.Gate { return results.Disturbed(d.Gates) }

// slows reports whether a gate failed because something took time from the run: that makes latencies
// longer and rates lower, and changes nothing else. A trend of the rate may be the server's own, in
// either direction.
func slows(g results.Gate) bool { return !g.Passed && g.Disturbance && g.Name != "steady" }

// Disturbance says in one sentence what disturbed a valid run, and what that does to its figures;
// empty: nothing did.
func (d *Document) Disturbance() string {
	gates := d.Disturbed()
	if len(gates) == 0 {
		return ""
	}
	var texts []string
	for _, g := range gates {
		texts = append(texts, report.Line(g.Text))
	}
	text := strings.Join(texts, "; ")
	switch {
	case !slices.ContainsFunc(gates, slows):
		return text
	case d.Open != nil || d.Stream != nil: // whose rate is the requested one, or the server's
		return text + ". So p99 and the other latencies are upper bounds"
	}
	return text + ". So p99 and the other latencies are upper bounds, and the rate is a lower bound"
}

// doubtThresholds marks the thresholds that a disturbance leaves open, when each has its outcome.
func (d *Document) doubtThresholds(thresholds []objective.Objective) {
	for i, o := range thresholds {
		f := results.FigureRate
		switch {
		case o.OfLatency():
			f = results.FigureLatency
		case o.Metric != "rate":
			continue
		}
		var names []string
		for _, g := range results.Spoilers(d.Gates, f) {
			if slows(g) {
				names = append(names, g.Name)
			}
		}
		if len(names) > 0 {
			d.Thresholds[i].Doubt(o, names)
		}
	}
}

// Kept reports whether all thresholds were kept.
func (d *Document) Kept() bool {
	return !slices.ContainsFunc(d.Thresholds, func(j objective.Judged) bool { return !j.Kept })
}

// Broken reports whether a threshold was broken, whatever disturbed the run.
func (d *Document) Broken() bool {
	return slices.ContainsFunc(d.Thresholds, func(j objective.Judged) bool { return !j.Kept && j.Undecided == "" })
}

// silentRounds is how many median latencies a silence has to last to be worth a note: a server that
// takes a second for each answer is silent for as long.
const silentRounds = 4

// noteSilences names the times in which a server gave no answer. A closed loop sends nothing then,
// and so has hardly any latency that shows them.
func (d *Document) noteSilences() {
	var long []spec.Gap
	for _, g := range d.Silences {
		if d.Latency.P50 == nil || g.Seconds*1e6 > silentRounds**d.Latency.P50 {
			long = append(long, g)
		}
	}
	if len(long) == 0 || d.Stream != nil {
		return
	}
	const most = 3
	var parts []string
	for _, g := range long[:min(len(long), most)] {
		parts = append(parts, fmt.Sprintf("for %s at %s", report.Seconds(g.Seconds), report.Seconds(g.At)))
	}
	text := "no answer " + strings.Join(parts, ", ")
	if n := len(long) - most; n > 0 {
		text += fmt.Sprintf(", and at least %d more times", n)
	}
	if d.Open == nil {
		text += ": a closed loop sends nothing meanwhile, so that few latencies show it; an open loop (--rate) shows what users would see"
	}
	d.Notes = append(d.Notes, text)
}
