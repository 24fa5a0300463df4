package report

import (
	"math"
	"slices"

	"github.com/redline-go/redline/lab/results"
)

// maxColumns bounds the time axis: a screen cannot show more.
const maxColumns = 240

// grid is the time axis that all subjects of a workload share: the concatenated windows
// of the blocks, divided into columns of equal length. It does not contain the warm-up
// and the time between runs.
//
//	block    │1         │2         │4         │      a block without a counted run is left out
//	column    0 1 2 3 4  5 6 7 8 9  10 ...           PerBlock = 5
type grid struct {
	Step     float64 `json:"step"`      // seconds per column
	PerBlock int     `json:"per_block"` // columns per block
	Blocks   []int   `json:"blocks"`    // numbers of the blocks
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
	per := (ticks + fits - 1) / fits // whole ticks, so that all columns have the same number of samples
	g.PerBlock = (ticks + per - 1) / per
	g.Step = round(window/float64(ticks)*float64(per), 6)
	return g
}

// Spacing returns the typical distance between the points of a series, in seconds: the
// median over pairs of gaps. Pairs cancel a late point, which makes one gap long and the
// next short; the median ignores a lost point.
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

// column returns the column of a sample, or -1 if it is not on the axis. A sample covers
// the time up to its T. Its position is half a tick earlier, which tolerates jitter.
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

// lines is one subject over time. A nil is a gap without a sample. Goroutines is nil if
// they were never read.
type lines struct {
	Subject    int        `json:"subject"`
	Rate       []*float64 `json:"rate"`                 // per second; mean of the column's samples
	RSS        []*float64 `json:"rss"`                  // MiB; the column's maximum
	Goroutines []*float64 `json:"goroutines,omitempty"` // the column's maximum
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
		var since []int // columns of the samples since the previous reading
		for _, s := range r.Series {
			if col := g.column(&r, s); col >= 0 {
				since = append(since, col)
				average(l.Rate, rates, col, s.Rate)
				if s.RSSBytes > 0 { // the server's memory was read
					highest(l.RSS, col, round(float64(s.RSSBytes)/(1<<20), 2))
				}
			}
			if s.Goroutines > 0 { // like a sample, a reading covers the time up to it
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

// all returns pointers to the figures.
func (l *lines) all() []*[]*float64 { return []*[]*float64{&l.Rate, &l.RSS, &l.Goroutines} }

// highest keeps the largest value of a column.
func highest(list []*float64, col int, v float64) {
	if list[col] == nil || *list[col] < v {
		list[col] = &v
	}
}

// average updates the mean of a column's values; n counts them.
func average(list []*float64, n []int, col int, v float64) {
	if n[col]++; n[col] == 1 {
		list[col] = &v
		return
	}
	*list[col] += (v - *list[col]) / float64(n[col])
}

// chart is a chart over time: the name of its element, and its texts.
type chart struct{ Plot, Title, Text, Label string }

// charts returns the charts that have something to draw.
func (w *viewWorkload) charts() []chart {
	const table = "; the figures are in the table below"
	var out []chart
	for i, c := range []chart{
		{"rate", "Rate", "In " + w.Unit + "s per second; the windows of the blocks in sequence.", "the rate over time" + table},
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
