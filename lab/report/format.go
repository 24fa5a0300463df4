package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redline-go/redline/lab/results"
)

// none is printed for a missing figure.
const none = "–"

// figure prints a number with three significant digits or more: 4.02, 25.5, 102, 1370.
func figure(v float64) string {
	switch {
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// scaled prints v with three digits and the largest suitable unit; step is the ratio
// between successive units.
func scaled(v, step float64, gap string, units ...string) string {
	i := 0
	for i < len(units)-1 && v >= step*0.9995 {
		v /= step
		i++
	}
	if i == 0 && v >= 9.995 && v < 99.95 {
		return strconv.FormatFloat(v, 'f', 1, 64) + gap + units[0]
	}
	return figure(v) + gap + units[i]
}

// Micros prints a time in microseconds; gap separates figure and unit.
func Micros(us float64, gap string) string { return scaled(us, 1000, gap, "µs", "ms", "s") }

// Seconds prints a time that is given in seconds.
func Seconds(s float64) string { return Micros(s*1e6, " ") }

// Bytes prints a number of bytes in binary units; gap separates figure and unit.
func Bytes(bytes float64, gap string) string {
	long := []string{"B", "KiB", "MiB", "GiB"}
	if gap == "" {
		long = []string{"B", "K", "M", "G"}
	}
	return scaled(bytes, 1024, gap, long...)
}

// PerSecond prints a rate: 940, 212k, 4.03M.
func PerSecond(v float64) string {
	if v < 999.5 {
		return figure(v)
	}
	return scaled(v/1000, 1000, "", "k", "M", "G")
}

// count prints a mean number of allocations: 0, 12, 13.5.
func count(v float64) string {
	if v < 99.95 {
		return strings.TrimSuffix(strings.TrimRight(figure(v), "0"), ".")
	}
	return PerSecond(v)
}

// interval prints the bounds of an estimate, nothing if they are equal.
func interval(e results.Estimate) string {
	if e.Low == e.High {
		return ""
	}
	return figure(e.Low) + "–" + figure(e.High)
}

// Percent prints a ratio as a percentage: 0.021 is 2.1 %.
func Percent(v float64) string { return strconv.FormatFloat(v*100, 'f', 1, 64) + " %" }

// Share prints a ratio as percent, with three digits however small it is: 0.00021 is 0.021 %.
func Share(v float64) string { return strconv.FormatFloat(v*100, 'g', 3, 64) + " %" }

// Quantile prints a percentile in microseconds, a dash if it is nil; gap separates figure
// and unit.
func Quantile(us *float64, gap string) string {
	if us == nil {
		return none
	}
	return Micros(*us, gap)
}

// clean makes foreign text safe for any medium that shows plain text. It escapes control
// characters, and those that are invisible or change the direction of writing. Line
// feeds and tabs are kept.
func clean(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line returns foreign text on one line, with control characters escaped.
func Line(s string) string {
	return strings.Join(strings.Fields(clean(s)), " ")
}

// lastLines returns the last n lines of s, cleaned.
func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(clean(s), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

// Bar draws a share, 0 to 1, as a bar of the given number of cells.
func Bar(share float64, cells int) string {
	full := min(max(int(share*float64(cells)), 0), cells)
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// Spark draws values as a sparkline, one cell each, scaled from 0 to the largest.
func Spark(values []float64) string {
	const steps = "▁▂▃▄▅▆▇█"
	glyphs := []rune(steps)
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 {
			i = min(int(v/top*float64(len(glyphs))), len(glyphs)-1)
		}
		b.WriteRune(glyphs[i])
	}
	return b.String()
}
