package suite

import (
	"cmp"
	"fmt"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// A family has the pairs of all subjects with the baseline, under one workload and in one metric.
type family struct {
	metric   metric
	margin   float64
	subjects []*pairing
	twin     *pairing // of the baseline with itself; nil: it has no run
	slope    float64  // of the correction for stolen time
}

// newFamily pairs the runs, and corrects the CPU time of a closed loop for stolen time.
func newFamily(f *results.File, w *results.Workload, m metric) (*family, error) {
	baseline := counted(f, w.Name, f.Config.Baseline)
	g := &family{metric: m, margin: cmp.Or(f.Config.Margins[m.kind], stats.DefaultMargin)}
	var all []*pairing
	for _, s := range f.Subjects {
		if s.Role == roleBaseline {
			continue
		}
		p, err := pairsOf(s.Name, m, counted(f, w.Name, s.Name), baseline)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if len(p.all) == 0 {
			continue
		}
		p.role, p.short = s.Role, shortBlocks(f, w.Name, s.Name)
		all = append(all, p)
		if s.Role == roleTwin {
			g.twin = p
		} else {
			g.subjects = append(g.subjects, p)
		}
	}
	for _, p := range all {
		p.borrow(min(g.needed(), f.Config.Blocks))
	}
	if g.twin != nil {
		g.twin.borrow(leastRuns) // the noise is known from fewer than a verdict needs
	}
	if m.name == results.MetricCPU && w.Arrivals == "" && w.Published == "" {
		g.slope = correct(all)
		for _, p := range all {
			p.leaveOutUneven(g.margin)
		}
	}
	return g, nil
}

// shortBlocks returns in how many blocks a subject or the baseline did not reach the rate.
func shortBlocks(f *results.File, workload, subject string) int {
	blocks := map[int]bool{}
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Short != "" && r.Workload == workload && (r.Subject == subject || r.Subject == f.Config.Baseline) {
			blocks[r.Block] = true
		}
	}
	return len(blocks)
}

// needed returns the number of pairs with which a subject can be told from the baseline.
func (g *family) needed() int { return stats.BlocksNeeded(len(g.subjects)) }

// compare compares every subject with the baseline in one metric.
func compare(f *results.File, w *results.Workload, m metric, seed uint64) ([]results.Comparison, error) {
	g, err := newFamily(f, w, m)
	if err != nil {
		return nil, err
	}
	var series []stats.Series
	for _, p := range g.subjects {
		series = append(series, stats.Series{Name: p.name, LogRatios: p.logs, Bounds: p.bounds()})
	}
	var twin []float64
	if g.twin != nil {
		twin = g.twin.logs
	}
	aa, outcomes := stats.Family(twin, series, stats.Options{HigherIsBetter: m.higher, Margin: g.margin, Seed: seed})
	common := results.Comparison{Workload: w.Name, Baseline: f.Config.Baseline, Metric: m.name, Margin: g.margin, StealCost: g.slope}
	var rows []results.Comparison
	if g.twin != nil {
		rows = append(rows, g.twinRow(common, aa, seed))
	}
	for i, o := range outcomes {
		row := common
		row.Subject, row.Blocks, row.Ratio = o.Name, o.Blocks, o.Ratio
		row.P, row.PHolm, row.Floor, row.Noise = o.P, o.PHolm, o.Floor, o.Noise
		row.Verdict, row.Reason, row.Needed = o.Verdict, o.Reason, g.needed()
		switch p := g.subjects[i]; {
		case len(p.logs) < g.needed():
			p.spoil(&row, g.needed(), seed)
		case g.twin != nil && len(twin) < leastRuns && g.twin.left > 0:
			row.Verdict, row.Reason = results.TooDisturbed, "the noise is not known: "+g.twin.why(leastRuns)
		case len(p.used) > 0:
			row.Widened = o.Widened
			if row.Reason != "" {
				row.Reason += "; "
			}
			row.Reason += p.beside(o.Widened) // also beside a verdict: it is what the interval is wider by
		}
		g.subjects[i].count(&row)
		rows = append(rows, row)
	}
	return rows, nil
}

// twinRow returns the A/A comparison. It is never reported as a difference: the others
// have to exceed it.
func (g *family) twinRow(row results.Comparison, aa stats.AA, seed uint64) results.Comparison {
	row.Subject, row.Blocks, row.Ratio = g.twin.name, aa.Blocks, aa.Ratio
	row.P, row.PHolm, row.Floor, row.Noise = aa.P, aa.P, aa.Floor, aa.Spread
	row.Verdict, row.Needed = results.Equivalent, leastRuns
	switch {
	case len(g.twin.logs) < leastRuns:
		row.Verdict, row.Reason = results.NoVerdict, fmt.Sprintf("%d blocks: %d are needed to know the noise", len(g.twin.logs), leastRuns)
		g.twin.spoil(&row, leastRuns, seed)
	case !aa.Agrees && aa.Spread > stats.MinFloor:
		row.Verdict = results.Inconclusive
		row.Reason = fmt.Sprintf("the baseline differs from itself by up to %.1f %%: the noise floor covers it", 100*aa.Spread)
	case aa.Spread > g.margin:
		row.Verdict = results.Inconclusive
		row.Reason = fmt.Sprintf("the baseline differs from itself by up to %.1f %%, which is more than the margin of %.3g %%", 100*aa.Spread, 100*g.margin)
	}
	g.twin.count(&row)
	return row
}
