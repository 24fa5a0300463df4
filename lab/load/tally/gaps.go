package tally

import (
	"cmp"
	"slices"

	"github.com/redline-go/redline/lab/load/spec"
)

// maxGaps is how many gaps of a window are kept: the longest.
const maxGaps = 20

// Gaps are the times of a window in which something did not happen. The zero value has no window,
// and keeps none.
type Gaps struct {
	from, to int64 // the window
	list     []spec.Gap
	all      spec.GapSum
}

// NewGaps returns no gaps of a window.
func NewGaps(from, to int64) Gaps { return Gaps{from: from, to: to} }

// Add adds the part of a gap that is in the window.
func (g *Gaps) Add(from, to int64) {
	from, to = max(from, g.from), min(to, g.to)
	if from >= to {
		return
	}
	seconds := float64(to-from) / 1e9
	g.all.Times++
	g.all.Seconds += seconds
	g.list = append(g.list, spec.Gap{At: float64(from-g.from) / 1e9, Seconds: seconds})
	if len(g.list) > maxGaps {
		least := 0
		for i := range g.list {
			if g.list[i].Seconds < g.list[least].Seconds {
				least = i
			}
		}
		g.list = slices.Delete(g.list, least, least+1)
	}
}

// Result returns the longest gaps, in the order of time.
func (g *Gaps) Result() []spec.Gap { return slices.Clone(g.list) }

// Sum returns what all gaps add up to.
func (g *Gaps) Sum() spec.GapSum { return g.all }

// MergeGaps returns the times that are in any of the lists, each of one generator.
func MergeGaps(lists ...[]spec.Gap) (all []spec.Gap) {
	sorted := slices.Concat(lists...)
	slices.SortFunc(sorted, func(a, b spec.Gap) int { return cmp.Compare(a.At, b.At) })
	for _, g := range sorted {
		if n := len(all); n > 0 && g.At <= all[n-1].End() {
			all[n-1].Seconds = max(all[n-1].End(), g.End()) - all[n-1].At
			continue
		}
		all = append(all, g)
	}
	return all
}

// CommonGaps returns the times that are in all lists.
func CommonGaps(a, b []spec.Gap) (both []spec.Gap) {
	for _, x := range a {
		for _, y := range b {
			if from, to := max(x.At, y.At), min(x.End(), y.End()); from < to {
				both = append(both, spec.Gap{At: from, Seconds: to - from})
			}
		}
	}
	return both
}
