package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/redline-go/redline/lab/results"
)

// Parameters of a verdict. They are not options: a level that is chosen after the
// measurement proves nothing. What difference matters is for the user to say: Options.Margin.
const (
	Level    = 0.95 // of all intervals
	Alpha    = 0.05 // upper limit of the adjusted p-value
	MinFloor = 0.02 // ratio minus one; smaller differences never count as differences
)

// DefaultResamples is the number of bootstrap resamples unless [Options] says
// otherwise.
const DefaultResamples = 2000

// Errors of [LogRatios].
var (
	ErrUnpaired    = errors.New("unequal numbers of values")
	ErrNotPositive = errors.New("value is not positive and finite")
)

// LogRatios returns log(subject/baseline) for every block. The two slices have one value
// per block, in the same order. The error wraps [ErrUnpaired] if their lengths differ, and
// [ErrNotPositive] if a value is zero, negative, infinite or NaN: such a value has no log
// ratio.
func LogRatios(subject, baseline []float64) ([]float64, error) {
	if len(subject) != len(baseline) {
		return nil, fmt.Errorf("pair blocks: %w: %d of the subject, %d of the baseline", ErrUnpaired, len(subject), len(baseline))
	}
	ratios := make([]float64, len(subject))
	for i, s := range subject {
		b := baseline[i]
		if !positive(s) {
			return nil, fmt.Errorf("pair blocks: subject's value %d: %w: %v", i+1, ErrNotPositive, s)
		}
		if !positive(b) {
			return nil, fmt.Errorf("pair blocks: baseline's value %d: %w: %v", i+1, ErrNotPositive, b)
		}
		// Not log(s/b): a difference only changes its sign when the two are swapped, and is
		// exactly 0 for equal values.
		ratios[i] = math.Log(s) - math.Log(b)
	}
	return ratios, nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// Series is the measurement of one subject.
type Series struct {
	Name      string
	LogRatios []float64 // subject over baseline, one per block

	// Bounds are how far a systematic error may have moved each log ratio, in either direction; nil:
	// there is none. More blocks do not make it smaller. The interval and the p-values are those of the
	// worst errors within the bounds.
	Bounds []float64
}

// Options are the parameters of [Family]. The zero value is ready to use.
type Options struct {
	HigherIsBetter bool    // true for a rate; false for CPU, time and memory
	Margin         float64 // of an equivalence, as a ratio minus one; 0 for DefaultMargin
	Resamples      int     // of the bootstrap; 0 for DefaultResamples
	Seed           uint64  // of the bootstrap
}

// AA is the comparison of the baseline with its twin, a second instance of the baseline. It
// shows the difference that the run finds where there is none.
type AA struct {
	Blocks int
	Ratio  results.Estimate // twin over baseline; zero without a twin
	P      float64          // signed rank, not adjusted

	// Spread is the largest ratio, minus one and in either direction, within the interval
	// of Ratio: max(1/Low, High)-1. It includes noise, which averages out over blocks and
	// shrinks with their number, and bias from the order or the place in which a subject
	// runs, which does not. It is 0 without a twin.
	Spread float64

	// Floor is the noise floor, as a ratio minus one and at least [MinFloor]: half-way between
	// the difference that the comparison found and Spread. With all of Spread the noise would
	// be counted twice, as the interval of every subject has as much. If the interval does not
	// contain 1 there may be a bias, and it is Spread.
	Floor float64

	// Agrees reports that the interval contains 1, as it should in 95 of 100 A/A
	// comparisons. If it does not, the run may be biased; the floor then includes the
	// observed bias.
	Agrees bool
}

// Outcome is the result of the comparison of one subject with the baseline.
type Outcome struct {
	Name    string
	Blocks  int
	Ratio   results.Estimate // subject over baseline: Hodges-Lehmann of the log ratios; zero without blocks
	Widened float64          // how much farther the interval reaches for Series.Bounds, as a ratio minus one: the larger of both sides
	P       float64          // signed rank; 1 without blocks
	PHolm   float64          // adjusted for the family
	Floor   float64          // AA.Floor
	Noise   float64          // AA.Spread
	Margin  float64          // of an equivalence, as a ratio minus one
	Verdict results.Verdict
	Reason  string // a sentence without its full stop, if the verdict is none or inconclusive
}

// Family compares all subjects with the baseline, with one workload and in one metric. twin
// has the log ratios of the A/A comparison. The outcomes are in the order of the subjects.
//
// With the margin m, the noise floor f and the spread of the A/A comparison ([AA]) the verdict is
//
//	equivalent       the spread is at most m, the whole interval lies within
//	                 1/(1+m) and 1+m, and the p-value of Equivalence is below Alpha
//	faster, slower   the whole interval lies beyond 1+f, or below 1/(1+f), and
//	                 the adjusted p-value is below Alpha
//	inconclusive     neither
//	none             too few blocks of the subject ([BlocksNeeded]) or of the
//	                 A/A comparison (6), or a value that is not finite
//
// A subject without a verdict is still a member of the family, with its p-value: the
// correction is for all questions that were asked.
//
// The figures of a subject do not depend on the other subjects, except for the adjusted
// p-value and what depends on it.
func Family(twin []float64, subjects []Series, o Options) (AA, []Outcome) {
	aa, reason := compareTwin(twin, o)
	margin := cmp.Or(o.Margin, DefaultMargin)
	outcomes := make([]Outcome, len(subjects))
	ps := make([]float64, len(subjects))
	for i, s := range subjects {
		outcomes[i] = Outcome{Name: s.Name, Blocks: len(s.LogRatios), Floor: aa.Floor, Noise: aa.Spread, Margin: margin, P: 1}
		if usable(s.LogRatios) && len(s.LogRatios) > 0 {
			outcomes[i].Ratio, outcomes[i].P, outcomes[i].Widened = s.estimate(o)
		}
		ps[i] = outcomes[i].P
	}
	needed := BlocksNeeded(len(subjects))
	for i, p := range Holm(ps) {
		out := &outcomes[i]
		out.PHolm = p
		switch {
		case reason != "":
			out.Verdict, out.Reason = results.NoVerdict, reason
		case !usable(subjects[i].LogRatios):
			out.Verdict, out.Reason = results.NoVerdict, "a log ratio is not a finite number"
		case out.Blocks < needed:
			out.Verdict = results.NoVerdict
			out.Reason = fmt.Sprintf("%d blocks: %d are needed to tell any of %d subjects from the baseline",
				out.Blocks, needed, len(subjects))
		default:
			out.Verdict, out.Reason = judge(out, subjects[i].equivalence(margin), o.HigherIsBetter)
		}
	}
	return aa, outcomes
}

// compareTwin evaluates the A/A comparison. The reason is not empty if no verdict can be
// based on it.
func compareTwin(twin []float64, o Options) (aa AA, reason string) {
	aa = AA{Blocks: len(twin), P: 1, Floor: MinFloor}
	switch {
	case len(twin) == 0:
		return aa, "there is no A/A comparison to determine the noise floor"
	case !usable(twin):
		return aa, "a log ratio of the A/A comparison is not a finite number"
	}
	aa.Ratio, aa.P = estimate(twin, o)
	aa.Spread = max(1/aa.Ratio.Low, aa.Ratio.High) - 1
	aa.Agrees = aa.Ratio.Low <= 1 && 1 <= aa.Ratio.High
	aa.Floor = max(MinFloor, aa.Spread)
	if aa.Agrees {
		found := max(1/aa.Ratio.Value, aa.Ratio.Value) - 1
		aa.Floor = max(MinFloor, (found+aa.Spread)/2)
	}
	if needed := BlocksNeeded(1); len(twin) < needed {
		reason = fmt.Sprintf("%d blocks of the A/A comparison: %d are needed to determine the noise floor", len(twin), needed)
	}
	return aa, reason
}

// Ratio returns the ratio of log ratios, with its interval: what [Family] computes for a
// subject, without a verdict. logs must not be empty.
func Ratio(logs []float64, seed uint64) results.Estimate {
	ratio, _ := estimate(logs, Options{Seed: seed})
	return ratio
}

// estimate returns the ratio of the log ratios, and their p-value.
func estimate(logs []float64, o Options) (results.Estimate, float64) {
	resamples := o.Resamples
	if resamples <= 0 {
		resamples = DefaultResamples
	}
	// Every series uses the same random numbers, and therefore the same resampled blocks:
	// its interval does not depend on its place in the family.
	low, high := HodgesLehmannInterval(logs, Level, resamples, rand.New(rand.NewPCG(o.Seed, 0)))
	return results.Estimate{
		Value: math.Exp(HodgesLehmann(logs)),
		Low:   math.Exp(low),
		High:  math.Exp(high),
	}, SignedRank(logs)
}

// judge returns the verdict on an outcome, and the reason if it is inconclusive. equal is the
// p-value of its equivalence.
func judge(o *Outcome, equal float64, higherIsBetter bool) (results.Verdict, string) {
	top, bottom := 1+o.Floor, 1/(1+o.Floor)
	above, below := o.Ratio.Low > top, o.Ratio.High < bottom
	within := 1/(1+o.Margin) <= o.Ratio.Low && o.Ratio.High <= 1+o.Margin && equal < Alpha
	switch {
	case within && o.Noise <= o.Margin:
		return results.Equivalent, ""
	case (above || below) && o.PHolm >= Alpha:
		return results.Inconclusive, fmt.Sprintf("the adjusted p-value is %.2g", o.PHolm)
	case above || below:
		if above == higherIsBetter {
			return results.Faster, ""
		}
		return results.Slower, ""
	case o.Noise > o.Margin:
		return results.Inconclusive, fmt.Sprintf("the baseline differs from itself by up to %.1f %%, which is more than the margin of %.3g %%", 100*o.Noise, 100*o.Margin)
	default:
		return results.Inconclusive, fmt.Sprintf("the interval is neither within the margin of %.3g %% nor beyond the noise floor of %.1f %%", 100*o.Margin, 100*o.Floor)
	}
}

// maxLog limits valid log ratios: exp(maxLog) and exp(-maxLog) are still finite and not
// zero, and can be written as JSON.
const maxLog = 700

func usable(logs []float64) bool {
	for _, v := range logs {
		if !(math.Abs(v) <= maxLog) { // NaN too
			return false
		}
	}
	return true
}
