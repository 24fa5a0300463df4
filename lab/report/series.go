package report

import (
	"math"
	"slices"

	"github.com/redline-go/redline/lab/results"
)

// maxColumns bounds the time axis: more could not be told apart on a screen.
const maxColumns = 240

// grid is the time axis that all subjects of a workload share: the windows of
// the blocks one after the other, cut into columns of equal length. Time in the
// warm-up and between runs is not on it.
//
//	block    │1         │2         │4         │      a block without a counted run is left out
//	column    0 1 2 3 4  5 6 7 8 9  10 ...           PerBlock = 5
type grid struct {
	Step     float64 `json:"step"`      // seconds a column
	PerBlock int     `json:"per_block"` // columns
	Blocks   []int   `json:"blocks"`    // their numbers
	tick     float64 // seconds between samples
}

func (g grid) columns() int { return g.PerBlock * len(g.Blocks) }

// newGrid lays out the time axis for the runs of a workload.
func newGrid(runs []results.Run) grid {
	g := grid{Blocks: []int{}}
	window, step := 0.0, 0.0
	for _, r := range runs {
		if !slices.Contains(g.Blocks, r.Block) {
			g.Blocks = append(g.Blocks, r.Block)
		}
		window = max(window, r.WindowSeconds)
		step = max(step, Spacing(r.Series))
	}
	slices.Sort(g.Blocks)
	if step == 0 || window == 0 {
		return g
	}
	g.tick = step
	ticks := max(int(math.Round(window/step)), 1)
	fits := max(maxColumns/len(g.Blocks), 1)
	per := (ticks + fits - 1) / fits // whole ticks a column: else columns would differ in samples
	g.PerBlock = (ticks + per - 1) / per
	g.Step = round(window/float64(ticks)*float64(per), 6)
	return g
}

// Spacing is the usual distance of a series' points. Over pairs of gaps, so
// that a late point, which makes one gap long and the next short, does not
// count; the median of them, so that a lost point does not either.
func Spacing(series []results.Sample) float64 {
	var gaps []float64
	for i := 2; i < len(series); i++ {
		gaps = append(gaps, (series[i].T-series[i-2].T)/2)
	}
	if len(gaps) == 0 {
		if len(series) == 2 {
			return series[1].T - series[0].T
		}
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// column returns the column of a sample, or -1 when it is not on the axis. A
// sample stands for the time up to its T: half a tick before is where it
// belongs, however much the clock that paced it jittered.
func (g grid) column(r *results.Run, s results.Sample) int {
	block := slices.Index(g.Blocks, r.Block)
	at := s.T - g.tick/2
	if block < 0 || g.PerBlock == 0 || at < 0 {
		return -1
	}
	col := int(at / g.Step)
	if col >= g.PerBlock {
		return -1
	}
	return block*g.PerBlock + col
}

// lines is one subject over time. A nil is a gap: no sample fell there. Goroutines are
// left out where they were never read.
type lines struct {
	Subject    int        `json:"subject"`
	Rate       []*float64 `json:"rate"`                 // a second; mean of the column's samples
	RSS        []*float64 `json:"rss"`                  // MiB; the column's largest
	Goroutines []*float64 `json:"goroutines,omitempty"` // the column's most
}

// newLines puts the series of a subject's runs on the time axis.
func newLines(g grid, runs []results.Run, subject int) lines {
	n := g.columns()
	l := lines{Subject: subject}
	for _, s := range l.all() {
		*s = make([]*float64, n)
	}
	rates := make([]int, n)
	for _, r := range runs {
		var since []int // columns of the samples since the reading before
		for _, s := range r.Series {
			if col := g.column(&r, s); col >= 0 {
				since = append(since, col)
				average(l.Rate, rates, col, s.Rate)
				if s.RSSBytes > 0 { // the server is known
					highest(l.RSS, col, round(float64(s.RSSBytes)/(1<<20), 2))
				}
			}
			if s.Goroutines > 0 { // a reading stands, as a sample does, for the time up to it
				for _, col := range since {
					highest(l.Goroutines, col, float64(s.Goroutines))
				}
				since = since[:0]
			}
		}
	}
	for _, v := range l.Rate {
		if v != nil {
			*v = round(*v, 1)
		}
	}
	if !slices.ContainsFunc(l.Goroutines, func(v *float64) bool { return v != nil }) {
		l.Goroutines = nil
	}
	return l
}

// all are the figures.
func (l *lines) all() []*[]*float64 { return []*[]*float64{&l.Rate, &l.RSS, &l.Goroutines} }

// highest keeps the largest value of a column.
func highest(list []*float64, col int, v float64) {
	if list[col] == nil || *list[col] < v {
		list[col] = &v
	}
}

// average keeps the mean of a column's values, of which there were n before.
func average(list []*float64, n []int, col int, v float64) {
	if n[col]++; n[col] == 1 {
		list[col] = &v
		return
	}
	*list[col] += (v - *list[col]) / float64(n[col])
}

// chart is a figure over time of the page: where it is drawn, and what is said
// about it.
type chart struct{ Plot, Title, Text, Label string }

// charts are those that there is anything to draw for.
func (w *viewWorkload) charts() []chart {
	const table = "; the figures are in the table below"
	var out []chart
	for i, c := range []chart{
		{"rate", "Rate", "In " + w.Unit + "s per second; the windows of the blocks one after the other.", "the rate over time" + table},
		{"rss", "Memory", "Resident set of the server.", "the resident memory over time" + table},
		{"goroutines", "Goroutines", "Of the server.", "the number of goroutines over time" + table},
	} {
		drawn := func(l lines) bool {
			return slices.ContainsFunc(*l.all()[i], func(v *float64) bool { return v != nil })
		}
		if slices.ContainsFunc(w.Lines, drawn) {
			out = append(out, c)
		}
	}
	return out
}
