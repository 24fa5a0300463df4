package report

import (
	"slices"

	"github.com/redline-go/redline/lab/results"
)

// lead is the main metric of a workload, by which its subjects are ordered, compared and
// judged.
type lead struct {
	metric results.Metric
	name   string // as in "verdict by CPU"
	head   string // of its column
	best   string // format of the best subject's result, with its figure
	less   string // advantage of better subjects, as in "less CPU than"
	text   func(v float64, gap string) string
}

// leadOf returns the lead of a workload.
func leadOf(w results.Workload) lead {
	switch w.LeadMetric() {
	case results.MetricConn:
		return lead{
			results.MetricConn, "memory", "memory\n/conn.", "used the least memory, %s per connection", "less memory", Bytes,
		}
	case results.MetricP99:
		return lead{
			results.MetricP99, "p99", "p99", "had the shortest response times, p99 %s", "a shorter p99", Micros,
		}
	}
	return byCPU(w)
}

// byCPU returns the lead of CPU, in microseconds, with the unit in the heading.
func byCPU(w results.Workload) lead {
	return lead{
		results.MetricCPU, "CPU", "CPU µs\n/" + snip(unit(w), 9), "used the least CPU, %s µs per " + unit(w), "less CPU",
		func(v float64, _ string) string { return figure(v) },
	}
}

// figureOf has the figures of main metrics that gates may spoil.
var figureOf = map[results.Metric]results.Figure{results.MetricCPU: results.FigureCPU, results.MetricP99: results.FigureLatency}

// print returns an estimate and its interval as text.
func (l *lead) print(e results.Estimate, gap string) (value, interval string) {
	if e.Low != e.High {
		interval = l.text(e.Low, gap) + "–" + l.text(e.High, gap)
	}
	return l.text(e.Value, gap), interval
}

// tableColumn is a column of a workload's table. The line feeds in its heading are for
// the terminal, where columns are narrow; a slash after one means "per".
type tableColumn struct {
	head   string
	word   bool                                           // not a number
	lead   bool                                           // of the main metric: what its verdict says of disturbances applies
	figure results.Figure                                 // that gates may spoil
	of     func(fields) (value, small string, bound bool) // small is after or below value; bound marks a warning
}

// mark precedes a figure that is disturbed, where there are no colours.
const mark = "~"

// grey reports whether a row's figure in the column is disturbed.
func (c *tableColumn) grey(p fields) bool {
	if c.word || p.Verdict == tooSlow || p.Verdict == "failed" {
		return false
	}
	if v, _, _ := c.of(p); v == none {
		return false
	}
	return c.lead && p.Verdict == string(results.TooDisturbed) || slices.Contains(p.Disturbed, c.figure)
}

// class returns the CSS class of the column or of a cell; a verdict's class contains it.
func (c *tableColumn) class(value string) string {
	switch {
	case !c.word:
		return "n"
	case value != "":
		return "v " + value
	}
	return ""
}

// columnsOf returns the columns of a workload's table after the subject, with short
// headings if narrow. Those of the garbage collector exist if a row has its figures.
func columnsOf(w results.Workload, rows []row, narrow bool) []tableColumn {
	columns := commonColumns(w, narrow)
	if slices.ContainsFunc(rows, func(r row) bool { _, ok := r.metric(results.MetricCycles); return ok }) {
		for _, c := range []struct {
			head string
			of   func(fields) string
		}{
			{"GCs\nper s", func(p fields) string { return p.Cycles }},
			{"stopped\n/s", func(p fields) string { return p.Stops }},
			{"stopped\n/GC", func(p fields) string { return p.Stop }},
			{"GC\nCPU", func(p fields) string { return p.GCCPU }},
		} {
			columns = append(columns, tableColumn{head: c.head, of: func(p fields) (string, string, bool) { return c.of(p), "", false }})
		}
	}
	return columns
}

// commonColumns returns the columns that a workload has with any subject.
func commonColumns(w results.Workload, narrow bool) []tableColumn {
	lead := leadOf(w)
	short := "\n/" + snip(unit(w), 9)
	if narrow && len(unit(w)) > 6 {
		short = "\n/" + unit(w)[:3]
	}
	single := func(head string, of func(fields) string, figure ...results.Figure) tableColumn {
		return tableColumn{head: head, figure: append(figure, "")[0], of: func(p fields) (string, string, bool) { return of(p), "", false }}
	}
	var (
		p50    = single("p50", func(p fields) string { return p.P50 }, results.FigureLatency)
		p99    = single("p99", func(p fields) string { return p.P99 }, results.FigureLatency)
		p999   = single("p99.9", func(p fields) string { return p.P999 }, results.FigureLatency)
		cpu    = single("CPU µs\n/"+snip(unit(w), 9), func(p fields) string { return p.CPU }, results.FigureCPU)
		rss    = single("RSS\npeak", func(p fields) string { return p.RSS })
		allocs = single("allocs"+short, func(p fields) string { return p.Allocs })
		conn   = single("memory\n/conn.", func(p fields) string { return p.Conn })
		waited = single("had to\nwait", func(p fields) string { return p.Waited })
		rate   = tableColumn{head: snip(unit(w), 9) + "s\nper s", figure: results.FigureRate, of: func(p fields) (string, string, bool) {
			if p.Bound {
				return p.Rate, "gen-bound", true
			}
			return p.Rate, "", false
		}}
	)
	columns := []tableColumn{
		{head: lead.head, lead: true, figure: figureOf[lead.metric], of: func(p fields) (string, string, bool) { return p.Lead, p.LeadInterval, false }},
		{head: "×\nbaseline", lead: true, of: func(p fields) (string, string, bool) { return p.Ratio, p.RatioInterval, false }},
		single("×\nlimit", func(p fields) string { return p.Limit }),
		{head: "verdict\nby " + lead.name, word: true, of: func(p fields) (string, string, bool) { return p.Verdict, p.Noise, false }},
	}
	switch {
	case w.Idle:
		return append(columns, rss)
	case w.Published != "":
		return append(columns, rate, p50, p99, p999, conn, rss)
	case w.Lead == results.MetricCPU && w.Arrivals != "":
		return append(columns, rate, p50, p99, waited, rss, allocs)
	case w.Arrivals != "":
		return append(columns, rate, p50, p999, cpu, rss, allocs)
	}
	return append(columns, rate, p50, p99, p999, rss, allocs)
}
