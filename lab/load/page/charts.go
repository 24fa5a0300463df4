package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// view is the data that the page's script draws; see lab/report/web/src/run.ts.
type view struct {
	Unit   string    `json:"unit"`
	Axis   axis      `json:"axis"`
	Bounds []float64 `json:"bounds"` // seconds at which steps of arrivals begin, other than 0
	Charts []chart   `json:"charts"`
	Curves []curve   `json:"curves"` // latency by percentile
	Heat   heat      `json:"heat"`   // latency over time
}

// maxBounds is the maximum number of bounds that are drawn: more would hide the lines.
const maxBounds = 60

// bounds returns the times at which steps of arrivals, or of a ramp, begin, in seconds.
func bounds(d *present.Document) []float64 {
	list := []float64{}
	if len(d.Steps)+len(d.RampSteps) > maxBounds {
		return list
	}
	add := func(from float64) {
		if from > 0 {
			list = append(list, from)
		}
	}
	for i := range d.Steps {
		add(d.Steps[i].From)
	}
	for i := range d.RampSteps {
		add(d.RampSteps[i].From)
	}
	return list
}

// chart is a figure over time. Only the template uses Title and Text.
type chart struct {
	Plot  string `json:"plot"`
	Print string `json:"print"` // rate, micros, count, cpus, mebibytes or share
	Log   bool   `json:"log"`   // logarithmic axis
	Lines []line `json:"lines"`
	Title string `json:"-"`
	Text  string `json:"-"`
}

// line is a line of a chart: one value per column, nil where nothing was measured.
type line struct {
	Name   string     `json:"name"`
	Look   string     `json:"look"` // first to eighth, asked or bad
	Values []*float64 `json:"values"`
}

// curve is one latency by percentile; see report.Curve.
type curve struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
}

// heat is the latency counts of each column, a flat list of row, count, row, count...
type heat struct {
	First   int        `json:"first"` // bucket of the lowest row
	Edges   []string   `json:"edges"` // lower edge of each row, as printed
	Max     uint64     `json:"max"`   // largest count of all cells
	Columns [][]uint64 `json:"columns"`
}

// draw calculates the view.
func draw(d *present.Document) (*view, error) {
	v := &view{Unit: unit(d), Bounds: bounds(d), Charts: []chart{}, Curves: []curve{}}
	var columns [][]present.Point
	v.Axis, columns = layOut(d.Series)
	v.Heat = newHeat(columns)
	for _, c := range charts(d, columns) {
		c.Lines = slices.DeleteFunc(c.Lines, func(l line) bool {
			return !slices.ContainsFunc(l.Values, func(v *float64) bool { return v != nil })
		})
		if len(c.Lines) > 0 {
			v.Charts = append(v.Charts, c)
		}
	}
	for _, l := range distributions(d) {
		if l.latency.Count == 0 || !l.drawn {
			continue
		}
		c, err := report.NewCurve(l.latency)
		if err != nil {
			return nil, err
		}
		if len(c.Points) > 1 {
			v.Curves = append(v.Curves, curve{l.name, c.Points})
		}
	}
	return v, nil
}

// charts returns the charts that may have data, in order.
func charts(d *present.Document, columns [][]present.Point) []chart {
	over := func(name, look string, of func([]present.Point) *float64) line {
		l := line{Name: name, Look: look, Values: make([]*float64, len(columns))}
		for i, c := range columns {
			if v := of(c); v != nil {
				rounded := round(*v)
				l.Values[i] = &rounded
			}
		}
		return l
	}
	rate := chart{Plot: "rate", Print: "rate", Title: "Rate", Text: "Right answers a second.", Lines: []line{
		over("achieved", "first", mean(func(p *present.Point) (float64, bool) { return p.Rate, true })),
		over("asked for", "asked", mean(func(p *present.Point) (float64, bool) { return p.Asked, p.Asked > 0 })),
	}}
	quantile := func(i int) func([]present.Point) *float64 {
		return func(c []present.Point) *float64 { return quantiles(c)[i] }
	}
	times := chart{Plot: "times", Print: "micros", Log: true, Title: "Response times", Text: timesText(d), Lines: []line{
		over("p50", "first", quantile(0)), over("p95", "second", quantile(1)), over("p99", "third", quantile(2)),
	}}
	errors := chart{Plot: "errors", Print: "count", Title: "Errors", Text: errorsText(d), Lines: []line{
		over("errors", "bad", total(func(p *present.Point) uint64 { return p.Errors })),
	}}
	waiting := chart{Plot: "waiting", Print: "count", Title: "Waiting", Text: "Requests that were due and not yet sent, as every connection was busy; the maximum of each moment."}
	if d.Open != nil {
		waiting.Lines = []line{over("waiting", "first", highest(func(p *present.Point) (float64, bool) { return float64(p.Waiting), true }))}
	}
	users := chart{Plot: "users", Print: "count", Title: "Users", Text: "Each has a connection, or a stream of one."}
	if d.Config.Ramp != "" {
		users.Lines = []line{over("users", "first", highest(func(p *present.Point) (float64, bool) { return float64(p.Users), true }))}
	}
	flight := chart{Plot: "flight", Print: "count", Title: "In flight", Text: "Requests that were sent and not yet answered, on average and at most in each moment."}
	if d.InFlight != nil {
		flight.Text = fmt.Sprintf("Requests that were sent and not yet answered, on average and at most in each moment; there can be %d.", d.InFlight.Places)
		flight.Lines = []line{
			over("mean", "first", mean(func(p *present.Point) (float64, bool) { return p.InFlight, true })),
			over("at most", "third", highest(func(p *present.Point) (float64, bool) { return float64(p.InFlightMax), p.InFlightMax > 0 })),
		}
	}
	list := []chart{rate, errors, times, disturbance(d, over)} // two of them are beside each other
	if d.Stream != nil {
		list[0].Title, list[0].Text = "Events", "Events a second, of all subscribers together."
		list[2].Title = "Delay"
		list = append(list, heard(d, over)...)
	} else {
		list = append(append(list, perTarget(d, over)...), waiting, users, flight)
	}
	return append(list, server(d, over)...)
}

// heard returns the charts that only subscribers have.
func heard(d *present.Document, over overTime) []chart {
	of := func(how func(p *present.Point) float64) func(*present.Point) (float64, bool) {
		return func(p *present.Point) (float64, bool) {
			if p.Stream == nil {
				return 0, false
			}
			return how(p), true
		}
	}
	some := func(how func(p *present.Point) float64) func(*present.Point) (float64, bool) {
		all := of(how)
		return func(p *present.Point) (float64, bool) {
			v, ok := all(p)
			return v, ok && v > 0
		}
	}
	count := func(how func(p *present.Point) uint64) func([]present.Point) *float64 {
		return total(func(p *present.Point) uint64 {
			if p.Stream == nil {
				return 0
			}
			return how(p)
		})
	}
	list := []chart{
		{Plot: "standing", Print: "count", Title: "Connected", Text: "Connected subscribers.", Lines: []line{
			over("standing", "first", mean(of(func(p *present.Point) float64 { return float64(p.Stream.Standing) }))),
		}},
		{Plot: "gap", Print: "micros", Log: true, Title: "Gaps", Text: "Between two events of one subscriber; the longest of each moment.", Lines: []line{
			over("p50", "first", highest(some(func(p *present.Point) float64 { return p.Stream.GapP50 }))),
			over("p99", "third", highest(some(func(p *present.Point) float64 { return p.Stream.GapP99 }))),
		}},
		{Plot: "missed", Print: "count", Title: "Missed, duplicated, reconnected", Text: "Missed ids, duplicated ids, and subscribers that reconnected.", Lines: []line{
			over("missed", "bad", count(func(p *present.Point) uint64 { return p.Stream.Missed })),
			over("duplicated", "second", count(func(p *present.Point) uint64 { return p.Stream.Duplicated })),
			over("reconnects", "third", count(func(p *present.Point) uint64 { return p.Stream.Reconnects })),
		}},
	}
	if t := d.Stream; t.Missed+t.Duplicated+t.Reconnects == 0 {
		list = list[:2]
	}
	return list
}

// server returns the charts of CPUs, memory and the Go runtime.
func server(d *present.Document, over overTime) []chart {
	cpu := chart{Plot: "cpu", Print: "cpus", Title: "CPU", Text: cpuText(d)}
	memory := chart{Plot: "rss", Print: "mebibytes", Title: "Memory", Text: "Resident set of the server."}
	if d.Server != nil {
		cpu.Lines = append(cpu.Lines, over("server", "first", mean(func(p *present.Point) (float64, bool) { return p.ServerCPU, true })))
		memory.Lines = []line{over("resident", "first", highest(func(p *present.Point) (float64, bool) { return float64(p.RSSBytes) / (1 << 20), p.RSSBytes > 0 }))}
	}
	cpu.Lines = append(cpu.Lines, over("generator", "second", mean(func(p *present.Point) (float64, bool) {
		if p.GeneratorCPU == nil {
			return 0, false
		}
		return *p.GeneratorCPU, true
	})))
	return append([]chart{cpu, memory}, inside(over)...)
}

// inside returns the charts of the server's Go runtime. There are fewer readings of it than
// points.
func inside(over overTime) []chart {
	read := func(how func(r *results.RuntimeSample) float64) func([]present.Point) *float64 {
		return highest(func(p *present.Point) (float64, bool) {
			if p.Runtime == nil {
				return 0, false
			}
			return how(p.Runtime), true
		})
	}
	list := []chart{{
		Plot: "goroutines", Print: "count", Title: "Goroutines", Text: "Of the server.",
		Lines: []line{over("goroutines", "first", highest(func(p *present.Point) (float64, bool) { return float64(p.Goroutines), p.Goroutines > 0 }))},
	}, {
		Plot: "heap", Print: "mebibytes", Title: "Heap", Text: "Of the server, in use.",
		Lines: []line{over("heap", "first", read(func(r *results.RuntimeSample) float64 { return float64(r.HeapBytes) / (1 << 20) }))},
	}, {
		Plot: "gc", Print: "count", Title: "Garbage collection", Text: "Collections since the previous reading.",
		Lines: []line{over("collections", "first", read(func(r *results.RuntimeSample) float64 { return float64(r.GCCycles) }))},
	}, {
		Plot: "sched", Print: "micros", Title: "Scheduler", Text: "Time that runnable goroutines waited to run, p99.",
		Lines: []line{over("wait", "first", read(func(r *results.RuntimeSample) float64 { return r.SchedLatencyP99Us }))},
	}}
	for _, c := range list {
		back(c.Lines[0].Values)
	}
	if !slices.ContainsFunc(list[3].Lines[0].Values, func(v *float64) bool { return v != nil && *v > 0 }) {
		list = list[:3] // the source does not report it
	}
	return list
}

// back copies a reading's value to the columns since the previous reading: it covers the time
// before it.
func back(values []*float64) {
	var next *float64
	for i := len(values) - 1; i >= 0; i-- {
		if values[i] != nil {
			next = values[i]
		}
		values[i] = next
	}
}

// total returns the sum of a count over a column; nil for an empty one.
func total(of func(*present.Point) uint64) func([]present.Point) *float64 {
	return func(column []present.Point) *float64 {
		if len(column) == 0 {
			return nil
		}
		sum := 0.0
		for i := range column {
			sum += float64(of(&column[i]))
		}
		return &sum
	}
}

// newHeat arranges the latency counts of all columns.
func newHeat(columns [][]present.Point) heat {
	m := heat{Edges: []string{}, Columns: [][]uint64{}}
	first, last := results.HeatBuckets, -1
	all := make([][results.HeatBuckets]uint64, len(columns))
	for i, c := range columns {
		all[i] = heatOf(c)
		for b, n := range all[i] {
			if n > 0 {
				first, last, m.Max = min(first, b), max(last, b), max(m.Max, n)
			}
		}
	}
	if last < 0 {
		return m
	}
	m.First = first
	for b := first; b <= last; b++ {
		m.Edges = append(m.Edges, report.Micros(float64(results.HeatFloor(b))/float64(time.Microsecond), " "))
	}
	for i := range all {
		column := []uint64{}
		for b, n := range all[i] {
			if n > 0 {
				column = append(column, uint64(b-first), n)
			}
		}
		m.Columns = append(m.Columns, column)
	}
	return m
}
