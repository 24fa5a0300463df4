package report

import (
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/results"
)

// view is what the page's script draws. Numbers are final: the script chooses only
// positions and colours.
type view struct {
	Subjects  []viewSubject  `json:"subjects"`
	Workloads []viewWorkload `json:"workloads"`
}

// viewSubject is a subject; charts refer to it by its index.
type viewSubject struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// viewWorkload holds the charts of a workload.
type viewWorkload struct {
	Unit   string   `json:"unit"`
	Bars   []bar    `json:"bars"`   // sorted by CPU, the least first
	Limit  *float64 `json:"limit"`  // CPU of the floor, microseconds
	Curves []Curve  `json:"curves"` // latency by percentile
	Grid   grid     `json:"grid"`   // time axis of Lines and Heat
	Lines  []lines  `json:"lines"`  // rate, memory and the Go runtime over time
	Heat   heatMap  `json:"heat"`   // latency over time
}

// bar is the CPU per request of one subject, in microseconds.
type bar struct {
	Subject int     `json:"subject"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Text    string  `json:"text"` // the value as printed
	Note    string  `json:"note"` // ratio and verdict as text
}

// newView calculates everything that the script draws.
func newView(f *results.File) (*view, error) {
	v := &view{Subjects: []viewSubject{}, Workloads: []viewWorkload{}}
	index := map[string]int{}
	for i, s := range f.Subjects {
		index[s.Name] = i
		v.Subjects = append(v.Subjects, viewSubject{Name: Line(s.Name), Role: s.Role})
	}
	for _, load := range f.Workloads {
		w, err := newViewWorkload(f, load, index)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", load.Name, err)
		}
		v.Workloads = append(v.Workloads, *w)
	}
	return v, nil
}

func newViewWorkload(f *results.File, load results.Workload, index map[string]int) (*viewWorkload, error) {
	w := &viewWorkload{Unit: unit(load), Bars: []bar{}, Curves: []Curve{}, Lines: []lines{}}
	if load.Idle {
		return w, nil // there is nothing to draw
	}
	w.Bars, w.Limit = newBars(f, load, index)
	rows := rowsOf(f, load)
	for _, r := range rows {
		if r.cell == nil || r.cell.Latency.Histogram == "" {
			continue
		}
		c, err := NewCurve(r.cell.Latency)
		if err != nil {
			return nil, fmt.Errorf("latency of %s: %w", r.Name, err)
		}
		c.Subject = index[r.Name]
		w.Curves = append(w.Curves, c)
	}
	runs := countedRuns(f, load.Name)
	w.Grid = newGrid(runs)
	heats := map[int][]column{}
	for _, r := range rows {
		own := runsOf(runs, r.Name)
		if len(own) == 0 {
			continue
		}
		w.Lines = append(w.Lines, newLines(w.Grid, own, index[r.Name]))
		heats[index[r.Name]] = heatColumns(w.Grid, own)
	}
	w.Heat = newHeatMap(heats)
	return w, nil
}

// newBars returns the bars of a workload, whatever its lead is, and the floor's CPU.
func newBars(f *results.File, load results.Workload, index map[string]int) (bars []bar, limit *float64) {
	bars = []bar{}
	for _, r := range rowsBy(f, load, byCPU(load)) {
		cpu, ok := r.metric(results.MetricCPU)
		if !ok {
			continue
		}
		b := bar{Subject: index[r.Name], Value: cpu.Value, Low: cpu.Low, High: cpu.High, Text: figure(cpu.Value)}
		b.Note = r.verdict()
		if measured(r.against) && r.Role != roleFloor {
			b.Note = fmt.Sprintf("%s × %s, %s", figure(r.against.Ratio.Value), Line(r.against.Baseline), r.verdict())
		}
		if r.Role == roleFloor && r.limit == 1 {
			limit = &b.Value
		}
		bars = append(bars, b)
	}
	return bars, limit
}

// countedRuns returns the runs of a workload that count.
func countedRuns(f *results.File, load string) []results.Run {
	var out []results.Run
	for _, r := range f.Runs {
		if r.Workload == load && r.Counted {
			out = append(out, r)
		}
	}
	return out
}

func runsOf(runs []results.Run, subject string) []results.Run {
	var out []results.Run
	for _, r := range runs {
		if r.Subject == subject {
			out = append(out, r)
		}
	}
	return out
}

// Curve is latency by percentile. X is log10(1/(1-p)), so that the distance between 90 %,
// 99 % and 99.9 % is one; Y is microseconds.
type Curve struct {
	Subject int          `json:"subject"`
	Points  [][2]float64 `json:"points"`
	Cut     float64      `json:"cut"` // highest percentile with enough samples, 0 to 100; 0 if there are enough for all
}

const (
	firstPercentile = 0.5
	lastPercentile  = 0.9999
	curveSteps      = 24 // points per decade
	beyond          = 10 // least number of samples above a percentile
)

// nines returns the x of a percentile, 0 to 1.
func nines(p float64) float64 { return -math.Log10(1 - p) }

// NewCurve returns the curve of a histogram, from the median to 99.99 %, or to the highest
// percentile with ten samples above it. It returns an error for an invalid histogram.
func NewCurve(l results.Latency) (Curve, error) {
	h, err := l.Decode()
	if err != nil {
		return Curve{}, err
	}
	c := Curve{Points: [][2]float64{}}
	last := lastPercentile
	if carried := carries(h.TotalCount()); carried < last {
		last = carried
		c.Cut = math.Floor(last*1e6) / 1e4
	}
	if last < firstPercentile {
		return c, nil
	}
	from, to := nines(firstPercentile), nines(last)
	n := max(int(math.Ceil((to-from)*curveSteps)), 1)
	for i := range n + 1 {
		x := from + (to-from)*float64(i)/float64(n)
		p := 1 - math.Pow(10, -x)
		c.Points = append(c.Points, [2]float64{round(x, 4), round(float64(h.ValueAtQuantile(p*100))/1000, 2)})
		if from == to {
			break
		}
	}
	return c, nil
}

// carries returns the highest percentile, 0 to 1, for which n samples are enough.
func carries(n int64) float64 {
	if n < beyond {
		return 0
	}
	return 1 - beyond/float64(n)
}

// round rounds v to a number of decimal places, to keep the page small.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}
