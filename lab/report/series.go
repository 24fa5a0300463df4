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
		step = max(step, spacing(r.Series))
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

// spacing is the usual distance of a series' points. Over pairs of gaps, so
// that a late point, which makes one gap long and the next short, does not
// count; the median of them, so that a lost point does not either.
func spacing(series []results.Sample) float64 {
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

// lines is one subject over time. A nil is a gap: no sample fell there.
type lines struct {
	Subject int        `json:"subject"`
	Rate    []*float64 `json:"rate"` // a second; mean of the column's samples
	RSS     []*float64 `json:"rss"`  // MiB; the column's largest
}

// newLines puts the series of a subject's runs on the time axis.
func newLines(g grid, runs []results.Run, subject int) lines {
	l := lines{Subject: subject, Rate: make([]*float64, g.columns()), RSS: make([]*float64, g.columns())}
	samples := make([]int, g.columns())
	for _, r := range runs {
		for _, s := range r.Series {
			col := g.column(&r, s)
			if col < 0 {
				continue
			}
			rss := round(float64(s.RSSBytes)/(1<<20), 2)
			if samples[col]++; samples[col] == 1 {
				l.Rate[col], l.RSS[col] = new(float64), new(float64)
			}
			*l.Rate[col] += (s.Rate - *l.Rate[col]) / float64(samples[col])
			*l.RSS[col] = max(*l.RSS[col], rss)
		}
	}
	for _, rate := range l.Rate {
		if rate != nil {
			*rate = round(*rate, 1)
		}
	}
	return l
}
