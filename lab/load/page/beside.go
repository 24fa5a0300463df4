package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
)

// overTime makes a line of a figure of each column; see charts.
type overTime func(name, look string, of func([]present.Point) *float64) line

// disturbance returns the chart of what took time from the run, on the axis of the latencies.
func disturbance(d *present.Document, over overTime) chart {
	c := chart{
		Plot: "disturbance", Print: "share", Title: "Disturbances",
		Text: "What the hypervisor took of the CPUs of server and generator, and other processes used, about once a second; and for how much of the time the generator did not run, but was to.",
	}
	reading := func(of func(p *present.Point) *float64) func([]present.Point) *float64 {
		return highest(func(p *present.Point) (float64, bool) {
			v := of(p)
			if v == nil {
				return 0, false
			}
			return *v, true
		})
	}
	c.Lines = []line{
		over("stolen", "bad", reading(func(p *present.Point) *float64 { return p.Steal })),
		over("other processes", "second", reading(func(p *present.Point) *float64 { return p.Foreign })),
	}
	known := false
	for _, l := range c.Lines {
		back(l.Values)
		known = known || slices.ContainsFunc(l.Values, func(v *float64) bool { return v != nil })
	}
	if known || slices.ContainsFunc(d.Series, func(p present.Point) bool { return p.Held > 0 }) { // not in files from before they were kept
		c.Lines = append(c.Lines, over("generator", "first", highest(func(p *present.Point) (float64, bool) { return p.Held, true })))
	}
	return c
}

// maxTargetLines is how many targets a chart shows: as many as there are colours.
const maxTargetLines = 8

// targetLooks are the styles of their lines.
var targetLooks = [maxTargetLines]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"}

// perTarget returns the charts of the targets of a scenario, those with the most requests.
func perTarget(d *present.Document, over overTime) []chart {
	var shown []int
	for i := range d.Targets {
		if !d.Targets[i].Setup && slices.ContainsFunc(d.Series, func(p present.Point) bool { return i < len(p.Targets) }) {
			shown = append(shown, i)
		}
	}
	all := len(shown)
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(d.Targets[b].Requests, d.Targets[a].Requests) })
	shown = shown[:min(all, maxTargetLines)]
	which := "Of each target"
	if all > maxTargetLines {
		which = fmt.Sprintf("Of the %d targets with the most requests, of %d", maxTargetLines, all)
	}
	rate := chart{Plot: "targetrate", Print: "rate", Title: "Rate by target", Text: which + ": right answers a second."}
	times := chart{
		Plot: "targettimes", Print: "micros", Log: true, Title: "p99 by target",
		Text: which + ", read from counts whose cells are 14 to 25 % wide; the highest of each moment.",
	}
	for n, i := range shown {
		of := func(how func(t *present.TargetPoint) (float64, bool)) func(p *present.Point) (float64, bool) {
			return func(p *present.Point) (float64, bool) {
				if i >= len(p.Targets) {
					return 0, false
				}
				return how(&p.Targets[i])
			}
		}
		name := report.Line(d.Targets[i].Name)
		rate.Lines = append(rate.Lines, over(name, targetLooks[n], mean(of(func(t *present.TargetPoint) (float64, bool) { return t.Rate, true }))))
		times.Lines = append(times.Lines, over(name, targetLooks[n], highest(of(func(t *present.TargetPoint) (float64, bool) { return t.P99Us, t.P99Us > 0 }))))
	}
	return []chart{rate, times}
}
