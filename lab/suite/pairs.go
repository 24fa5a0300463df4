package suite

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// stealCost is how much stolen time makes a request dearer in a saturated loop, in CPU time: 5 % of
// it add about 10 %. Caches are cold when the server runs again.
const stealCost = 2.0

// busyCost is by how much other processes may change the ratio of two servers' CPU time in an open
// loop, at most: its logarithm, for each unit of the CPUs that they use. The server answers more
// requests at a time then, which makes each cheaper, and not in all servers equally.
const busyCost = 0.6

// foreignGate is the name of the gate of other processes.
const foreignGate = "foreign CPU"

// leastRuns is the number of values for an interval of 95 %.
var leastRuns = stats.BlocksNeeded(1)

// A pairing has the pairs of a subject and the baseline, in one metric.
type pairing struct {
	name   string
	role   string
	logs   []float64  // log ratios of the usable pairs
	steal  []float64  // share of stolen time of the subject less that of the baseline, of the same pairs
	all    []float64  // log ratios of all pairs
	busy   []busyPair // left out, but with a bound on what the disturbance did
	used   []busyPair // of busy, those that logs has nevertheless
	left   int        // pairs left out because of disturbances
	wrong  int        // pairs left out for other reasons
	short  int        // blocks in which one side did not reach the rate
	causes map[string]uint64
	uneven string // why stolen time leaves out all pairs; empty: it does not
}

// A busyPair is a pair of an open loop during which other processes used the CPUs.
type busyPair struct{ log, steal, share float64 }

// pairsOf returns the pairs of the blocks in which both sides were measured.
func pairsOf(name string, m metric, subject, baseline map[int]*results.Run) (*pairing, error) {
	p := &pairing{name: name, causes: map[string]uint64{}}
	for _, block := range slices.Sorted(maps.Keys(subject)) {
		s, base := subject[block], baseline[block]
		if base == nil {
			continue
		}
		x, ok := m.of(s)
		y, also := m.of(base)
		if !ok || !also || x <= 0 || y <= 0 {
			continue
		}
		one, err := stats.LogRatios([]float64{x}, []float64{y})
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, one...)
		steal := s.Generator.StealRatio - base.Generator.StealRatio
		if gates := slices.Concat(results.Spoilers(s.Gates, m.figure), results.Spoilers(base.Gates, m.figure)); p.leftOut(gates) {
			if share, ok := busyShare(gates); ok && m.figure == results.FigureCPU {
				p.busy = append(p.busy, busyPair{one[0], steal, share})
			}
			continue
		}
		p.logs = append(p.logs, one...)
		p.steal = append(p.steal, steal)
	}
	return p, nil
}

// leftOut counts a pair with gates that failed, and reports whether there are any. No disturbance
// makes answers wrong, but one makes a generator late: then the disturbance is the reason.
func (p *pairing) leftOut(gates []results.Gate) bool {
	answers := func(g results.Gate) bool { return !g.Disturbance && len(g.Spoils) == 0 }
	switch {
	case len(gates) == 0:
		return false
	case slices.ContainsFunc(gates, answers) || len(results.Disturbed(gates)) == 0:
		p.wrong++
	default:
		p.left++
	}
	causes := map[string]bool{}
	for _, g := range gates {
		causes[g.Name] = true
	}
	for name := range causes {
		p.causes[name]++
	}
	return true
}

// busyShare returns the larger share of the CPUs that other processes used in a pair; false if some
// other gate failed as well.
func busyShare(gates []results.Gate) (share float64, ok bool) {
	for _, g := range gates {
		if g.Name != foreignGate {
			return 0, false
		}
		share = max(share, g.Value)
	}
	return share, true
}

// borrow uses busy pairs, those with the smallest share of other processes first, if that gives the
// pairing as many pairs as are needed. What they were measured beside decides, not what they show.
func (p *pairing) borrow(needed int) {
	lacking := needed - len(p.logs)
	if lacking <= 0 || lacking > len(p.busy) {
		return
	}
	slices.SortStableFunc(p.busy, func(a, b busyPair) int { return cmp.Compare(a.share, b.share) })
	p.used = p.busy[:lacking]
	for _, b := range p.used {
		p.logs, p.steal = append(p.logs, b.log), append(p.steal, b.steal)
	}
	p.left -= lacking
}

// undisturbed and disturbed return how many pairs the gates let pass, and how many they do not because
// the machine was disturbed.
func (p *pairing) undisturbed() int { return len(p.logs) - len(p.used) }
func (p *pairing) disturbed() int   { return p.left + len(p.used) }

// bounds returns how far other processes may have moved each log ratio; nil if no pair was borrowed.
func (p *pairing) bounds() []float64 {
	if len(p.used) == 0 {
		return nil
	}
	out := make([]float64, len(p.logs)-len(p.used), len(p.logs))
	for _, b := range p.used {
		out = append(out, busyCost*b.share)
	}
	return out
}

// beside says how many pairs were measured beside other processes, and how much wider that makes the interval.
func (p *pairing) beside(widened float64) string {
	return fmt.Sprintf("%d of %d pairs were measured while other processes used up to %.0f %% of the CPUs, for which the interval reaches %.0f %% farther",
		len(p.used), len(p.logs), 100*p.used[len(p.used)-1].share, math.Ceil(100*widened))
}

// why says how many pairs are usable, how many are needed, and what the others were left out for.
func (p *pairing) why(needed int) string {
	if p.uneven != "" {
		return p.uneven
	}
	return fmt.Sprintf("%d of %d pairs can be used, %d are needed; left out for %s", len(p.logs), len(p.all), needed, results.ErrorKinds(p.causes))
}

// spoil takes the verdict of a comparison of which so many pairs were left out that too few remain.
func (p *pairing) spoil(row *results.Comparison, needed int, seed uint64) {
	if p.left+p.wrong == 0 {
		return // too few were measured
	}
	row.Verdict, row.Reason = results.NoVerdict, p.why(needed)
	if p.left >= p.wrong {
		row.Verdict = results.TooDisturbed
	}
	row.Ratio, row.Blocks = stats.Ratio(p.all, seed), len(p.all)
}

// count sets a comparison's counts of pairs.
func (p *pairing) count(row *results.Comparison) {
	row.Usable, row.Disturbed, row.Invalid, row.Busy = len(p.logs), p.left, p.wrong, len(p.used)
}

// correct subtracts from the log ratios what the difference in stolen time within each pair
// explains: a regression with one slope for all subjects, which share the machine. It returns the
// slope. Stolen time is not charged to processes, but makes their caches cold: a slope below 0 is
// noise.
func correct(all []*pairing) float64 {
	var x, y [][]float64
	for _, p := range all {
		x, y = append(x, p.steal), append(y, p.logs)
	}
	slope := max(0, stats.CommonSlope(x, y))
	for _, p := range all {
		for i, d := range p.steal {
			p.logs[i] -= slope * d
		}
	}
	return slope
}

// leaveOutUneven leaves out all pairs if stolen time makes the CPU time of the two runs of a pair
// differ, by experience and in the median, by more than the margin: no correction is that good. The
// median of fewer pairs than an interval needs says nothing: two ticks of the clock are enough for it.
func (p *pairing) leaveOutUneven(margin float64) {
	var costs []float64
	for _, d := range p.steal {
		costs = append(costs, math.Abs(stealCost*d))
	}
	if len(costs) < leastRuns || stats.Median(costs) <= margin {
		return
	}
	cost := stats.Median(costs)
	p.uneven = fmt.Sprintf("stolen time differs within the pairs by %.1f %% of the CPUs in the median: worth about %.1f %% of CPU time, more than the margin of %.3g %%",
		100*cost/stealCost, 100*cost, 100*margin)
	p.left += len(p.logs)
	p.logs, p.steal, p.used = nil, nil, nil
}

// Margins are those of equivalences, as ratios minus one, by the kind of a metric.
type Margins map[string]float64

// The kinds of metrics that have a margin.
const (
	kindCPU     = "cpu"
	kindRate    = "rate"
	kindMemory  = "memory"
	kindLatency = "latency"
)

// DefaultMargins returns the margins without an option.
func DefaultMargins() Margins {
	return Margins{kindCPU: 0.05, kindRate: 0.05, kindMemory: 0.05, kindLatency: 0.10}
}

// ParseMargins returns the default margins with those of a text such as cpu=3%,latency=20%.
func ParseMargins(text string) (Margins, error) {
	m := DefaultMargins()
	for part := range strings.SplitSeq(text, ",") {
		kind, value, _ := strings.Cut(part, "=")
		kind = strings.TrimSpace(kind)
		var percent float64
		if _, known := m[kind]; !known {
			return nil, fmt.Errorf("%q: want %s, each with a percentage, such as cpu=3%%,latency=20%%", part, strings.Join(slices.Sorted(maps.Keys(m)), ", "))
		}
		if n, err := fmt.Sscanf(strings.TrimSpace(value)+"\n", "%g%%\n", &percent); err != nil || n != 1 || !(percent > 0 && percent <= 100) {
			return nil, fmt.Errorf("%q: want a percentage above 0 and up to 100, such as %s=5%%", part, kind)
		}
		m[kind] = percent / 100
	}
	return m, nil
}
