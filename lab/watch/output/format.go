package output

import (
	"fmt"
	"math"
	"strconv"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/watch"
)

// Format prints a value for people.
func Format(unit watch.Unit, v float64) string {
	switch unit {
	case watch.Bytes:
		return report.Bytes(v, " ")
	case watch.ByteRate:
		return report.Bytes(v, " ") + "/s"
	case watch.Count, watch.Score:
		if v != math.Trunc(v) { // the median of an even number
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	case watch.PerSecond:
		if v == 0 {
			return "0/s"
		}
		return report.PerSecond(v) + "/s"
	case watch.Share:
		return report.Percent(v)
	case watch.Seconds:
		return report.Seconds(v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Missing is one line about what could not be read.
func Missing(m watch.Missing) string {
	text := m.Source + ": " + m.Reason
	if len(m.Figures) == 0 {
		return text
	}
	return names(m.Figures) + ": " + text
}

// names lists the first figures.
func names(list []string) string {
	const most = 3
	text := ""
	for i, f := range list {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(list)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += f
	}
	return text
}

// crossed is one line about a mark.
func crossed(c watch.Crossed) string {
	beyond := "over"
	if c.Value < c.Limit {
		beyond = "under"
	}
	return fmt.Sprintf("%6.1f s  %s: %.3g %s is %s the limit %.3g", c.T, c.Mark, c.Value, c.Unit, beyond, c.Limit)
}
