package present

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// GateFigures formats the value and the limit of a gate in their unit; limit is empty if it has none.
func GateFigures(g results.Gate) (value, limit string) {
	print := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	switch g.Name {
	case "steal", "foreign CPU", "generator", "achieved", "published":
		print = report.Percent
	case "send lag", "pacing", "read lag", "publish lag":
		print = func(us float64) string { return report.Micros(us, " ") }
	case "stall", "given up":
		print = report.Seconds
	case "steady":
		if g.Limit == 0 { // the change of the rate within the window
			return fmt.Sprintf("%+.0f %%", 100*g.Value), ""
		}
		print = func(v float64) string {
			if v == 0 {
				return "no"
			}
			return "yes"
		}
	case "errors", "unanswered", "publish errors", "complete", "clocks", "ids", "stamp":
		return print(math.Round(g.Value)), print(math.Round(g.Limit))
	}
	return print(g.Value), print(g.Limit)
}

// Gates writes all gates of a run, with their values and limits. It returns the errors of w.
func Gates(w io.Writer, d *Document) error {
	for _, g := range d.Gates {
		word := "passed"
		switch {
		case !g.Passed && g.Disturbance:
			word = "DISTURBED"
		case !g.Passed:
			word = "INVALID"
		}
		value, limit := GateFigures(g)
		if limit != "" {
			limit = "limit " + limit
		}
		if _, err := fmt.Fprintf(w, "gate %-16s %-10s %12s   %s\n", g.Name, word, value, limit); err != nil {
			return err
		}
	}
	return nil
}
