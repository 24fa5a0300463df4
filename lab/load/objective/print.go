package objective

import (
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/report"
)

// print formats a figure in the unit of the objective.
func (o Objective) print(v float64) string {
	switch {
	case o.Metric == "rate":
		return report.PerSecond(v) + "/s"
	case o.Metric == "errors" && o.Share:
		return report.Share(v)
	case o.Metric == "errors" || slices.Contains(streamCounts, o.Metric):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return report.Micros(v, " ")
}
