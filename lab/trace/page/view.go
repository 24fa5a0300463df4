package page

import (
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/trace"
)

// view is what the script draws: see src/trace.ts.
type view struct {
	Axis   axis      `json:"axis"`
	Bounds []float64 `json:"bounds"`
	Charts []chart   `json:"charts"`

	Window  int64       `json:"window"` // ns
	Lanes   trace.Lanes `json:"lanes"`
	Ready   ready       `json:"ready"`
	Marks   [][2]int64  `json:"marks"`
	Pauses  [][2]int64  `json:"pauses"`
	Slowest []request   `json:"slowest"`
}

// axis is the time axis of the charts, in seconds.
type axis struct {
	Start   float64 `json:"start"`
	Step    float64 `json:"step"`
	Columns int     `json:"columns"`
}

// ready is the number of runnable goroutines over time.
type ready struct {
	Step int64     `json:"step"` // ns
	Mean []float64 `json:"mean"`
	Max  []int64   `json:"max"`
}

type chart struct {
	Plot  string `json:"plot"`
	Print string `json:"print"`
	Log   bool   `json:"log"`
	Lines []line `json:"lines"`

	Title string `json:"-"`
	Text  string `json:"-"`
}

type line struct {
	Name   string     `json:"name"`
	Look   string     `json:"look"`
	Values []*float64 `json:"values"`
}

// request is the bar of a slow request.
type request struct {
	At    int64   `json:"at"` // begin
	NS    int64   `json:"ns"`
	G     int64   `json:"g"` // goroutine
	Name  string  `json:"name"`
	Parts []piece `json:"parts"`
}

type piece struct {
	At    int64  `json:"at"`
	NS    int64  `json:"ns"`
	State string `json:"state"`
	Text  string `json:"text"`
}

// mostColumns limits the points of a line.
const mostColumns = 256

func draw(r *trace.Report) *view {
	s := &r.Series
	v := &view{
		Window: r.WindowNS, Lanes: r.Lanes, Ready: ready{s.StepNS, s.Runnable, s.MaxReady}, Bounds: []float64{}, Marks: notNil(r.GC.Marks),
		Pauses: [][2]int64{}, Slowest: []request{},
	}
	v.Lanes.Names = make([]string, len(r.Lanes.Names))
	for i, n := range r.Lanes.Names {
		v.Lanes.Names[i] = report.Line(n)
	}
	for _, p := range r.GC.Pauses {
		v.Pauses = append(v.Pauses, p.At...)
	}
	for _, q := range r.Slowest {
		bar := request{At: q.BeginNS, NS: q.NS, G: q.Goroutine, Name: report.Line(q.Name), Parts: []piece{}}
		for _, g := range q.Segments {
			bar.Parts = append(bar.Parts, piece{g.AtNS, g.NS, g.State, words(g)})
		}
		v.Slowest = append(v.Slowest, bar)
	}
	fold := 1
	for len(s.User)/fold > mostColumns {
		fold *= 2
	}
	v.Axis = axis{Step: float64(s.StepNS) / 1e9 * float64(fold), Columns: (len(s.User) + fold - 1) / fold}
	v.Charts = []chart{
		{Plot: "ps", Print: "cpus", Title: "Ps", Text: "that ran code of the program, collected, or were in system calls", Lines: []line{
			{"program", "first", means(s.User, fold)}, {"collector", "second", means(s.GC, fold)}, {"system calls", "third", means(s.Syscall, fold)},
		}},
		{Plot: "ready", Print: "count", Title: "Runnable goroutines", Text: "that waited for a P", Lines: []line{
			{"mean", "first", means(s.Runnable, fold)}, {"max", "second", highest(s.MaxReady, fold, 1, false)},
		}},
		{Plot: "threads", Print: "count", Title: "Threads", Text: "that ran, or were in a system call", Lines: []line{{"threads", "first", means(s.Threads, fold)}}},
		{Plot: "goroutines", Print: "count", Title: "Goroutines", Text: "alive, of those that the trace mentions", Lines: []line{{"goroutines", "first", means(s.Goroutines, fold)}}},
	}
	if heap := highest(s.Heap, fold, 1<<20, true); some(heap) {
		v.Charts = append(v.Charts, chart{Plot: "heap", Print: "mebibytes", Title: "Heap", Text: "largest size of the objects", Lines: []line{{"heap", "first", heap}}})
	}
	return v
}

// words describes a piece of a request.
func words(g trace.Segment) string {
	text := g.State
	if g.Reason != "" {
		text += " (" + report.Line(g.Reason) + ")"
	}
	if g.Call != "" {
		text += " in " + report.Line(g.Call)
	}
	if g.By != "" {
		text += ", woken by " + report.Line(g.By)
	}
	return text
}

func notNil(list [][2]int64) [][2]int64 { return append([][2]int64{}, list...) }

// means folds columns into their means.
func means(values []float64, fold int) []*float64 {
	out := []*float64{}
	for at := 0; at < len(values); at += fold {
		all := 0.0
		end := min(at+fold, len(values))
		for _, v := range values[at:end] {
			all += v
		}
		all /= float64(end - at)
		out = append(out, &all)
	}
	return out
}

// highest folds columns into their maxima, in units. gaps: 0 is no value.
func highest(values []int64, fold int, unit float64, gaps bool) []*float64 {
	out := []*float64{}
	for at := 0; at < len(values); at += fold {
		top := int64(0)
		for _, v := range values[at:min(at+fold, len(values))] {
			top = max(top, v)
		}
		if gaps && top == 0 {
			out = append(out, nil)
			continue
		}
		v := float64(top) / unit
		out = append(out, &v)
	}
	return out
}

func some(values []*float64) bool {
	for _, v := range values {
		if v != nil {
			return true
		}
	}
	return false
}
