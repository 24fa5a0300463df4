package page

import (
	"math"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// maxColumns is the maximum length of the time axis: a screen cannot resolve more.
const maxColumns = 300

// axis is the time axis of all charts: columns of equal length, which hold one or more
// points of the series each. The window begins at 0, the warm-up before it.
type axis struct {
	Start   float64 `json:"start"` // seconds
	Step    float64 `json:"step"`  // seconds a column
	Columns int     `json:"columns"`
	each    int     // points a column
}

// layOut distributes the points of a series over columns, in order.
func layOut(series []present.Point) (a axis, columns [][]present.Point) {
	series = inOrder(series)
	samples := make([]results.Sample, len(series))
	for i, p := range series {
		samples[i] = p.Sample
	}
	tick := snap(report.Spacing(samples))
	if len(series) == 1 {
		tick = math.Abs(series[0].T)
	}
	if !(tick > 0) {
		return axis{}, nil
	}
	before := max(0, int(math.Round((tick-series[0].T)/tick)))
	after := max(0, int(math.Round(series[len(series)-1].T/tick)))
	a.each = max(1, (before+after+maxColumns-1)/maxColumns)
	before, after = (before+a.each-1)/a.each, (after+a.each-1)/a.each
	a.Step = tick * float64(a.each)
	a.Start, a.Columns = 0-a.Step*float64(before), before+after
	columns = make([][]present.Point, a.Columns)
	last := -1
	for _, p := range series {
		// A point covers the time up to its T, so its position is half a tick earlier.
		at := int(math.Floor((p.T - tick/2 - a.Start) / a.Step))
		if at < 0 || at >= a.Columns {
			continue
		}
		// A late point also covers the columns before it that are empty.
		if late := at - last; last >= 0 && late > 1 {
			for i, part := range divide(p, late) {
				columns[last+1+i] = append(columns[last+1+i], part)
			}
		} else {
			columns[at] = append(columns[at], p)
		}
		last = at
	}
	return a, columns
}

// snap rounds the interval of points to two digits if that is close: points are slightly late.
func snap(tick float64) float64 {
	const near = 0.05
	if tick <= 0 {
		return tick
	}
	unit := math.Pow10(int(math.Floor(math.Log10(tick))) - 1)
	if to := math.Round(tick/unit) * unit; math.Abs(to-tick) < near*tick {
		return to
	}
	return tick
}

// divide splits a point into n points with the same total counts.
func divide(p present.Point, n int) []present.Point {
	parts := make([]present.Point, n)
	for i := range parts {
		share := func(of uint64) uint64 { return of*uint64(i+1)/uint64(n) - of*uint64(i)/uint64(n) }
		part := p
		part.Errors, part.Heat = share(p.Errors), nil
		for _, h := range p.Heat {
			if count := share(h[1]); count > 0 {
				part.Heat = append(part.Heat, [2]uint64{h[0], count})
			}
		}
		if s := p.Stream; s != nil {
			heard := *s
			heard.Missed, heard.Duplicated, heard.Reconnects = share(s.Missed), share(s.Duplicated), share(s.Reconnects)
			part.Stream = &heard
		}
		parts[i] = part
	}
	return parts
}

// inOrder removes the points before an extension of the warm-up: their times are relative to
// the end planned at that time.
func inOrder(series []present.Point) []present.Point {
	first := len(series)
	for first > 0 && (first == len(series) || series[first-1].T < series[first].T) {
		first--
	}
	return series[first:]
}

// heatOf sums the latency counts of a column.
func heatOf(column []present.Point) (counts [results.HeatBuckets]uint64) {
	for _, p := range column {
		for _, h := range p.Heat {
			if h[0] < results.HeatBuckets {
				counts[h[0]] += h[1]
			}
		}
	}
	return counts
}

// quantiles returns p50, p95 and p99 of a column in microseconds. Those of a single point come
// from the generator, all others from the latency counts.
func quantiles(column []present.Point) (out [3]*float64) {
	counts := heatOf(column)
	for i, q := range [3]float64{0.50, 0.95, 0.99} {
		if us, ok := results.HeatQuantile(&counts, q); ok {
			out[i] = &us
		}
	}
	if len(column) == 1 && out[0] == nil && column[0].P99Us > 0 { // ages of what waits
		return [3]*float64{&column[0].P50Us, &column[0].P95Us, &column[0].P99Us}
	}
	if len(column) == 1 && out[0] != nil && column[0].P50Us > 0 {
		p := column[0]
		p95 := min(max(*out[1], p.P50Us), p.P99Us) // of files from before points had their own
		if p.P95Us > 0 {
			p95 = p.P95Us
		}
		out = [3]*float64{&p.P50Us, &p95, &p.P99Us}
	}
	return out
}

// mean returns the mean of a figure over a column; nil if no point has it.
func mean(of func(*present.Point) (float64, bool)) func([]present.Point) *float64 {
	return func(column []present.Point) *float64 {
		sum, n := 0.0, 0.0
		for i := range column {
			if v, ok := of(&column[i]); ok {
				sum, n = sum+v, n+1
			}
		}
		if n == 0 {
			return nil
		}
		sum /= n
		return &sum
	}
}

// highest returns the maximum of a figure over a column; nil if no point has it.
func highest(of func(*present.Point) (float64, bool)) func([]present.Point) *float64 {
	return func(column []present.Point) (most *float64) {
		for i := range column {
			if v, ok := of(&column[i]); ok && (most == nil || v > *most) {
				most = &v
			}
		}
		return most
	}
}
