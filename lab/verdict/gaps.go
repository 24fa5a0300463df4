package verdict

import (
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// stallLimit is the longest time, in seconds, for which the generator may not run: five ticks.
const stallLimit = 5 * tick

// Ran passes if the generator ran throughout the window: what was due while it did not was sent late,
// and what arrived was read late. stalls are the longest of those that all adds up.
func Ran(stalls []spec.Gap, all spec.GapSum) results.Gate {
	var longest, at float64
	for _, g := range stalls {
		if g.Seconds > longest {
			longest, at = g.Seconds, g.At
		}
	}
	text := fmt.Sprintf("the generator did not run for %s at %s", report.Seconds(longest), report.Seconds(at))
	if all.Times > 1 {
		text += fmt.Sprintf(" (%d times, %s in all)", all.Times, report.Seconds(all.Seconds))
	}
	return results.Gate{
		Name: "stall", Passed: longest <= stallLimit, Value: longest, Limit: stallLimit,
		Text:        text + ": it was stopped, or its core was taken",
		Disturbance: true, Spoils: []results.Figure{results.FigureRate, results.FigureLatency},
	}
}

// Settled passes if the rate of a closed loop did not rise or fall throughout the window. drift is its
// change, relative to the beginning.
func Settled(drift float64) results.Gate {
	word := "rose"
	if drift < 0 {
		word = "fell"
	}
	return results.Gate{
		Name: "steady", Passed: drift == 0, Value: drift,
		Text:        fmt.Sprintf("the rate %s by %s from the first third of the window to the last: the mean describes neither", word, report.Percent(math.Abs(drift))),
		Disturbance: true, Spoils: []results.Figure{results.FigureCPU, results.FigureRate, results.FigureLatency},
	}
}
