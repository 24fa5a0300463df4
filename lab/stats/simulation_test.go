package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

// plan is a comparison whose truth is known: a baseline, its twin and seven
// subjects, measured in blocks.
type plan struct {
	blocks int
	noise  func(*rand.Rand) float64 // of one measurement, unit variance
	drift  float64                  // standard deviation of what all of a block have in common
	effect float64                  // true ratio of every subject
}

const (
	simulations        = 1000
	simulatedSubjects  = 7
	simulatedNoise     = 0.03
	simulatedResamples = 300 // fewer than the default, for time's sake
)

// run measures and judges.
func (p plan) run(t *testing.T, rng *rand.Rand, seed uint64) (AA, []Outcome) {
	t.Helper()
	drift := make([]float64, p.blocks)
	for i := range drift {
		drift[i] = p.drift * rng.NormFloat64()
	}
	measure := func(truth float64) []float64 { // CPU per request, say
		x := make([]float64, p.blocks)
		for i := range x {
			x[i] = truth * math.Exp(drift[i]+simulatedNoise*p.noise(rng))
		}
		return x
	}
	const baselineTruth = 9.4
	baseline := measure(baselineTruth)
	ratios := func(truth float64) []float64 {
		r, err := LogRatios(measure(truth), baseline)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	twin := ratios(baselineTruth)
	subjects := make([]Series, simulatedSubjects)
	for i := range subjects {
		subjects[i] = Series{Name: fmt.Sprint(i), LogRatios: ratios(baselineTruth * p.effect)}
	}
	return Family(twin, subjects, Options{Resamples: simulatedResamples, Seed: seed})
}

// unitStudent3 is Student's t with 3 degrees of freedom, its variance made 1.
func unitStudent3(r *rand.Rand) float64 { return student3(r) / math.Sqrt(3) }

// strays has one run in 30 that is far away.
func strays(r *rand.Rand) float64 {
	v := r.NormFloat64()
	if r.IntN(30) == 0 {
		v += 6.7 * r.NormFloat64()
	}
	return v
}

// twoModes has runs of two kinds, as those of a server whose memory is laid out well or badly.
func twoModes(r *rand.Rand) float64 { return 0.6*r.NormFloat64() + 2*float64(r.IntN(2)) - 1 }

// Where there is no difference none must be found: of 1,000 families of seven
// fewer than 2 % may hold even one false verdict.
func TestSimulatedNoDifference(t *testing.T) {
	for name, p := range map[string]plan{
		"normal, 9 blocks":       {9, (*rand.Rand).NormFloat64, 0, 1},
		"normal, 20 blocks":      {20, (*rand.Rand).NormFloat64, 0, 1},
		"heavy tails, 9 blocks":  {9, unitStudent3, 0, 1},
		"heavy tails, 20 blocks": {20, unitStudent3, 0, 1},
		"drift, 20 blocks":       {20, (*rand.Rand).NormFloat64, 0.2, 1},
		"stray runs, 9 blocks":   {9, strays, 0, 1},
		"two modes, 9 blocks":    {9, twoModes, 0, 1},
	} {
		rng := source(11)
		wrong, agreeing := 0, 0
		for i := range simulations {
			aa, outcomes := p.run(t, rng, uint64(i))
			if aa.Agrees {
				agreeing++
			}
			for _, o := range outcomes {
				if o.Verdict == results.Faster || o.Verdict == results.Slower {
					wrong++
					break
				}
			}
		}
		if wrong >= simulations*2/100 {
			t.Errorf("%s: %d of %d families hold a false verdict", name, wrong, simulations)
		}
		t.Logf("%s: %d families with a false verdict, %d A/A comparisons that agree", name, wrong, agreeing)
		if agreeing < simulations*92/100 || agreeing > simulations*985/1000 {
			t.Errorf("%s: %d of %d A/A comparisons agree, want about 95 %%", name, agreeing, simulations)
		}
	}
}

// A difference of 10 % under 3 % noise is found in 20 blocks, and never taken for
// its opposite.
func TestSimulatedDifference(t *testing.T) {
	for name, p := range map[string]plan{
		"dearer":            {20, (*rand.Rand).NormFloat64, 0, 1.1},
		"cheaper":           {20, (*rand.Rand).NormFloat64, 0, 1 / 1.1},
		"dearer with drift": {20, (*rand.Rand).NormFloat64, 0.2, 1.1},
	} {
		right, opposite := results.Slower, results.Faster
		if p.effect < 1 {
			right, opposite = opposite, right
		}
		rng := source(12)
		all, found := 0, 0
		for i := range simulations {
			_, outcomes := p.run(t, rng, uint64(i))
			for _, o := range outcomes {
				all++
				switch o.Verdict {
				case right:
					found++
				case opposite:
					t.Errorf("%s: %+v", name, o)
				}
			}
		}
		if found*100 <= all*95 {
			t.Errorf("%s: found in %d of %d comparisons", name, found, all)
		}
	}
}
