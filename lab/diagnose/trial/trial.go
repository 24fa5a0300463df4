package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// A Change is what is tried.
type Change struct {
	Name     string   // as GOGC=400
	Env      []string // of the server, in addition to its own
	CPUs     int      // the server is pinned to so many CPUs; 0: to as many as before
	Fresh    bool     // every request is sent on a connection of its own
	Factor   float64  // times the connections of the knee; 0: as many
	Header   string   // "Name: value" that each request has, too
	Confirms []string // causes that predict a gain from it
}

// Outcome is what one run measured, in a closed loop at the knee.
type Outcome struct {
	Rate    float64 // right answers a second
	CPU     float64 // seconds an answer
	Latency float64 // mean, seconds
	RSS     float64 // bytes at the end
}

// Options define the trials.
type Options struct {
	Changes []Change
	Seed    uint64
	// Run starts the server with a change, loads it, ends it, and returns what it measured.
	Run func(context.Context, Change) (Outcome, error)
	Say func(text string) // progress, a line each; nil: none
}

// Try tries the changes, in as many blocks as a verdict needs. If ctx ends, it returns an error and no trials: half of the blocks
// prove nothing.
func Try(ctx context.Context, o Options) ([]diagnose.Trial, error) {
	if len(o.Changes) == 0 {
		return nil, nil
	}
	asIs, again := Change{Name: "as it is"}, Change{Name: "as it is again"}
	all := append([]Change{asIs, again}, o.Changes...)
	outcomes := make([][]Outcome, len(all))
	rng := rand.New(rand.NewPCG(o.Seed, 7))
	blocks := max(stats.BlocksNeeded(len(o.Changes)), stats.BlocksNeeded(1))
	for block := range blocks {
		if o.Say != nil {
			o.Say(fmt.Sprintf("trial, block %d of %d", block+1, blocks))
		}
		for _, i := range rng.Perm(len(all)) {
			out, err := o.Run(ctx, all[i])
			if err != nil {
				return nil, fmt.Errorf("try %s: %w", all[i].Name, err)
			}
			outcomes[i] = append(outcomes[i], out)
		}
	}
	return judge(o.Changes, outcomes, o.Seed)
}

// figures are those of an outcome that are compared as ratios.
var figures = []struct {
	name   string
	higher bool // is better
	of     func(Outcome) float64
}{
	{"ceiling", true, func(o Outcome) float64 { return o.Rate }},
	{"cpu", false, func(o Outcome) float64 { return o.CPU }},
	{"latency", false, func(o Outcome) float64 { return o.Latency }},
}

// judge compares the runs of the changes, which begin at the third place, with those of the server
// as it is: the first, and the second for the noise.
func judge(changes []Change, outcomes [][]Outcome, seed uint64) ([]diagnose.Trial, error) {
	trials := make([]diagnose.Trial, len(changes))
	for i, c := range changes {
		trials[i].Change = c.Name
	}
	for _, f := range figures {
		columns := make([][]float64, len(outcomes))
		for i, list := range outcomes {
			for _, o := range list {
				columns[i] = append(columns[i], f.of(o))
			}
		}
		twin, err := stats.LogRatios(columns[1], columns[0])
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", f.name, err)
		}
		var subjects []stats.Series
		for i, c := range changes {
			logs, err := stats.LogRatios(columns[2+i], columns[0])
			if err != nil {
				return nil, fmt.Errorf("compare %s of %s: %w", f.name, c.Name, err)
			}
			subjects = append(subjects, stats.Series{Name: c.Name, LogRatios: logs})
		}
		_, verdicts := stats.Family(twin, subjects, stats.Options{Seed: seed, HigherIsBetter: f.higher})
		for i, v := range verdicts {
			trials[i].Effects = append(trials[i].Effects, diagnose.Shift{
				Figure: f.name, Change: v.Ratio.Value - 1, Low: v.Ratio.Low - 1, High: v.Ratio.High - 1,
				Clear: v.Verdict == results.Faster || v.Verdict == results.Slower,
			})
		}
	}
	for i := range trials {
		t := &trials[i]
		t.Effects = append(t.Effects, memory(outcomes[0], outcomes[1], outcomes[2+i], seed))
		t.Text = Describe(t)
	}
	return trials, nil
}

// leastMemory is the share of resident memory below which a difference is none: a runtime's heap
// ends its growth at one size or another.
const leastMemory = 0.02

// memory compares resident memory, in bytes. A difference is clear beyond the one between the
// server as it is and again.
func memory(asIs, again, changed []Outcome, seed uint64) diagnose.Shift {
	between := func(a []Outcome) []float64 {
		d := make([]float64, len(a))
		for i := range a {
			d[i] = a[i].RSS - asIs[i].RSS
		}
		return d
	}
	interval := func(d []float64) (low, high float64) {
		return stats.HodgesLehmannInterval(d, stats.Level, stats.DefaultResamples, rand.New(rand.NewPCG(seed, 9)))
	}
	low, high := interval(between(again))
	floor := max(-low, high)
	for _, o := range asIs {
		floor = max(floor, leastMemory*o.RSS)
	}
	more := between(changed)
	s := diagnose.Shift{Figure: "rss", Change: stats.HodgesLehmann(more)}
	s.Low, s.High = interval(more)
	s.Clear = s.Low > floor || s.High < -floor
	return s
}

// Settle gives each cause the best of the trials that it predicted a gain of, and moves the causes
// out that all of these refute. A trial that no cause predicted is returned in rest.
func Settle(causes []diagnose.Cause, changes []Change, trials []diagnose.Trial) (kept, refuted []diagnose.Cause, rest []diagnose.Trial) {
	used := make([]bool, len(trials))
	for _, c := range causes {
		for i, change := range changes {
			if i >= len(trials) || !slices.Contains(change.Confirms, c.ID) {
				continue
			}
			t := trials[i]
			t.Refuted = refutes(&t, c.Gain.Share())
			if used[i] = true; c.Trial == nil || c.Trial.Refuted {
				c.Trial = &t
			}
		}
		if c.Trial != nil && c.Trial.Refuted {
			refuted = append(refuted, c)
		} else {
			kept = append(kept, c)
		}
	}
	for i, t := range trials {
		if !used[i] {
			rest = append(rest, t)
		}
	}
	return kept, refuted, rest
}

// refutes reports whether a trial rules out half of the gain that was predicted: no figure got
// clearly better, and the best that the intervals leave open is less than that.
func refutes(t *diagnose.Trial, predicted float64) bool {
	most := 0.0
	for _, s := range t.Effects {
		better, clearly := -s.Low, s.Clear && s.Change < 0
		switch s.Figure {
		case "ceiling":
			better, clearly = 1-1/(1+max(s.High, 0)), s.Clear && s.Change > 0
		case "cpu", "latency":
		default:
			continue
		}
		if clearly {
			return false
		}
		most = max(most, better)
	}
	return most < predicted/2
}
