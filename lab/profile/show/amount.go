package show

import (
	"math"
	"strconv"

	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report"
)

// Amount prints a value in the unit of a profile: nanoseconds, bytes, count.
func Amount(v float64, unit string) string {
	if v < 0 {
		return "-" + Amount(-v, unit)
	}
	if v == 0 {
		return "0"
	}
	switch unit {
	case "nanoseconds":
		return report.Micros(v/1000, " ")
	case "microseconds":
		return report.Micros(v, " ")
	case "bytes":
		return report.Bytes(v, " ")
	}
	switch {
	case v == math.Trunc(v) && v < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v < 1:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return report.PerSecond(v)
}

// Signed is Amount with a sign for values of more than 0.
func Signed(v float64, unit string) string {
	if v > 0 {
		return "+" + Amount(v, unit)
	}
	return Amount(v, unit)
}

// share returns part/total, 0 of nothing.
func share(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// Title says what samples are: their value, total, time and requests.
func Title(s *tree.Samples) string {
	text := s.Type + ": " + Amount(float64(s.Total), s.Unit)
	if w := s.Window; w.Seconds > 0 {
		text += " in " + report.Seconds(w.Seconds)
		if w.Requests > 0 {
			text += ", " + report.PerSecond(w.Rate()) + " requests/s, " + Amount(float64(s.Total)*s.PerRequest(), s.Unit) + " a request"
		}
	}
	return text
}
