package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

func TestLogRatios(t *testing.T) {
	got, err := LogRatios([]float64{2, 1, 3, 0.1}, []float64{1, 2, 3, 0.1})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{math.Ln2, -math.Ln2, 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, err = LogRatios(nil, nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	one := []float64{1, 1}
	for _, c := range []struct {
		name              string
		subject, baseline []float64
		err               error
		text              string
	}{
		{"unpaired", []float64{1}, one, ErrUnpaired, "1 of the subject, 2 of the baseline"},
		{"zero", []float64{1, 0}, one, ErrNotPositive, "subject's value 2"},
		{"negative", one, []float64{-1, 1}, ErrNotPositive, "baseline's value 1"},
		{"NaN", []float64{math.NaN(), 1}, one, ErrNotPositive, "subject's value 1"},
		{"infinite", one, []float64{1, math.Inf(1)}, ErrNotPositive, "baseline's value 2"},
	} {
		got, err := LogRatios(c.subject, c.baseline)
		if got != nil || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

// Swapping the two turns the signs, to the bit.
func FuzzLogRatios(f *testing.F) {
	f.Add(3.0, 7.0)
	f.Add(1e-300, 1e300)
	f.Add(0.1, 0.0)
	f.Add(-1.0, 1.0)
	f.Fuzz(func(t *testing.T, a, b float64) {
		ab, err := LogRatios([]float64{a}, []float64{b})
		ba, errSwapped := LogRatios([]float64{b}, []float64{a})
		if (err == nil) != (errSwapped == nil) {
			t.Fatalf("%v, swapped %v", err, errSwapped)
		}
		if err != nil {
			return
		}
		if ab[0] != -ba[0] || math.IsNaN(ab[0]) || math.IsInf(ab[0], 0) {
			t.Errorf("%v, swapped %v", ab, ba)
		}
		if (ab[0] < 0) != (math.Log(a) < math.Log(b)) {
			t.Errorf("log(%v/%v) = %v", a, b, ab[0])
		}
	})
}

// around returns n log ratios around log(ratio), evenly spread by up to spread.
func around(ratio, spread float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Log(ratio) + spread*(2*float64(i)/float64(max(1, n-1))-1)
	}
	return x
}

func TestFamilyVerdicts(t *testing.T) {
	quiet := around(1, 0.01, 9)
	for _, c := range []struct {
		name   string
		twin   []float64
		ratio  float64
		spread float64
		lower  results.Verdict // lower is better
		higher results.Verdict // higher is better
	}{
		{"well below", quiet, 0.9, 0.01, results.Faster, results.Slower},
		{"well above", quiet, 1.1, 0.01, results.Slower, results.Faster},
		{"the same", quiet, 1, 0.01, results.Equivalent, results.Equivalent},
		{"exactly the same", quiet, 1, 0, results.Equivalent, results.Equivalent},
		{"a difference below the floor", quiet, 1.01, 0.002, results.Equivalent, results.Equivalent},
		{"a difference above the floor, within the margin", quiet, 1.03, 0.005, results.Equivalent, results.Equivalent},
		{"just within the margin", quiet, 1.049, 0, results.Equivalent, results.Equivalent},
		{"beyond the floor, across the margin's edge", quiet, 1.05, 0.01, results.Slower, results.Faster},
		{"from within the floor to beyond the margin", quiet, 1.04, 0.06, results.Inconclusive, results.Inconclusive},
		{"noisy", quiet, 1, 0.2, results.Inconclusive, results.Inconclusive},
		{"noise above the margin", around(1, 0.2, 9), 1, 0.01, results.Inconclusive, results.Inconclusive},
		{"a noisy twin is no bias", around(1, 0.2, 9), 1.1, 0.01, results.Slower, results.Faster},
		{"but what it differs by counts", around(1.1, 0.3, 9), 1.1, 0.01, results.Inconclusive, results.Inconclusive},
		{"biased twin raises the floor", around(1.15, 0.01, 9), 1.1, 0.01, results.Inconclusive, results.Inconclusive},
		{"and so does one biased downwards", around(1/1.15, 0.01, 9), 1.1, 0.01, results.Inconclusive, results.Inconclusive},
	} {
		for higher, want := range map[bool]results.Verdict{false: c.lower, true: c.higher} {
			_, got := Family(c.twin, []Series{{Name: "s", LogRatios: around(c.ratio, c.spread, 9)}}, Options{HigherIsBetter: higher})
			if got[0].Verdict != want {
				t.Errorf("%s, higher is better %v: %+v, want %s", c.name, higher, got[0], want)
			}
			if (got[0].Reason != "") != (want == results.Inconclusive) {
				t.Errorf("%s: %s for the reason %q", c.name, got[0].Verdict, got[0].Reason)
			}
		}
	}
}

func TestFamilyFigures(t *testing.T) {
	twin := around(1.04, 0, 9)
	aa, got := Family(twin, []Series{
		{Name: "a", LogRatios: around(1.5, 0, 9)},
		{Name: "b", LogRatios: around(1, 0, 9)},
		{Name: "c", LogRatios: around(0.5, 0, 9)},
	}, Options{})
	if aa.Blocks != 9 || !near(aa.Ratio.Value, 1.04, 1e-12) || !near(aa.Spread, 0.04, 1e-12) || aa.P != 2.0/512 || aa.Agrees {
		t.Errorf("A/A: %+v", aa)
	}
	p := 2.0 / 512
	want := []Outcome{
		{Name: "a", Blocks: 9, Ratio: results.Estimate{Value: 1.5, Low: 1.5, High: 1.5}, P: p, PHolm: 3 * p, Floor: 0.04, Verdict: results.Slower},
		{Name: "b", Blocks: 9, Ratio: results.Estimate{Value: 1, Low: 1, High: 1}, P: 1, PHolm: 1, Floor: 0.04, Verdict: results.Equivalent},
		{Name: "c", Blocks: 9, Ratio: results.Estimate{Value: 0.5, Low: 0.5, High: 0.5}, P: p, PHolm: 3 * p, Floor: 0.04, Verdict: results.Faster},
	}
	for i, o := range got {
		if rounded(o) != rounded(want[i]) {
			t.Errorf("%+v\nwant %+v", o, want[i])
		}
	}

	aa, got = Family(around(1, 0, 9), nil, Options{})
	if !aa.Agrees || aa.Spread != 0 || aa.P != 1 || len(got) != 0 {
		t.Errorf("no noise, no subjects: %+v, %+v", aa, got)
	}
}

// TestFamilyBounds has a systematic error, which more blocks do not make smaller: it widens the interval
// of its subject alone, and that decides.
func TestFamilyBounds(t *testing.T) {
	for _, c := range []struct {
		ratio, bias float64
		want        results.Verdict
	}{
		{1.1, 0, results.Slower},
		{1.1, 0.05, results.Slower},
		{1.1, 0.09, results.Inconclusive},
		{1 / 1.5, 0.2, results.Faster},
		{1, 0, results.Equivalent},
		{1, 0.03, results.Equivalent},
		{1, 0.06, results.Inconclusive},
	} {
		logs := around(c.ratio, 0.01, 40)
		_, got := Family(around(1, 0.005, 40), []Series{{Name: "s", LogRatios: logs, Bounds: slices.Repeat([]float64{c.bias}, 40)}, {Name: "other", LogRatios: logs}}, Options{})
		s, other := got[0].Ratio, got[1].Ratio
		if got[0].Verdict != c.want || s.Value != other.Value || !near(s.High, other.High*math.Exp(c.bias), 1e-12) || !near(s.Low, other.Low*math.Exp(-c.bias), 1e-12) {
			t.Errorf("%v with a bias of %v: %+v, want %s; without: %+v", c.ratio, c.bias, got[0], c.want, other)
		}
	}
	// The whole interval is within the margin, but the test of equivalence is not sure of values that are near its edge.
	s := Series{LogRatios: []float64{0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.001, 0.001, 0.001}}
	p := s.equivalence(0.05)
	s.Bounds = slices.Repeat([]float64{0.025}, 9)
	if q := s.equivalence(0.05); p >= Alpha || q < Alpha {
		t.Errorf("p is %v, and %v with a systematic error", p, q)
	}
}

// TestBoundsHold moves each of equal servers' values by its bound, or by less: whatever the bounds, the
// interval still reaches what it was, no p-value calls the error a difference, and none calls it equal.
func TestBoundsHold(t *testing.T) {
	for large := range 10 { // values with a large error, of 9: most of them move the estimate by all of it
		for _, sign := range []float64{-1, 1} {
			truth := around(1, 0.005, 9)
			s := Series{Name: "s", LogRatios: slices.Clone(truth), Bounds: make([]float64, 9)}
			for i := range large {
				s.Bounds[i] = 0.2
				s.LogRatios[i] += sign * s.Bounds[i]
			}
			_, got := Family(around(1, 0.005, 9), []Series{s, {Name: "truth", LogRatios: truth}}, Options{})
			moved, clean := got[0], got[1]
			if moved.Ratio.Low > clean.Ratio.Low+1e-9 || moved.Ratio.High < clean.Ratio.High-1e-9 {
				t.Errorf("%d large errors: %+v does not hold %+v", large, moved.Ratio, clean.Ratio)
			}
			if large > 0 && (moved.P < clean.P || moved.Widened <= 0) || moved.Verdict != results.Inconclusive && moved.Verdict != results.Equivalent {
				t.Errorf("%d large errors: %+v", large, moved)
			}
		}
	}
}

// rounded writes an outcome with figures of nine places.
func rounded(o Outcome) string {
	return fmt.Sprintf("%s %d %.9f %.9f %.9f %.9f %s %s", o.Name, o.Blocks, o.Ratio, o.P, o.PHolm, o.Floor, o.Verdict, o.Reason)
}

// A large difference that the number of subjects asks too much of: the interval
// alone is not enough.
func TestFamilyNeedsP(t *testing.T) {
	// Eight of nine blocks agree: p = 4/512, times seven is 0.055.
	x := around(1.2, 0.001, 9)
	x[4] = -0.001
	subjects := make([]Series, 7)
	for i := range subjects {
		subjects[i] = Series{Name: fmt.Sprint(i), LogRatios: x}
	}
	_, got := Family(around(1, 0.001, 9), subjects, Options{})
	for _, o := range got {
		if o.Ratio.Low < 1.02 || o.Verdict != results.Inconclusive || !strings.Contains(o.Reason, "p-value is 0.055") {
			t.Errorf("%+v", o)
		}
	}
	_, got = Family(around(1, 0.001, 9), subjects[:1], Options{})
	if got[0].Verdict != results.Slower {
		t.Errorf("alone: %+v", got[0])
	}
}

func TestFamilyNoVerdict(t *testing.T) {
	nine := around(1.5, 0.01, 9)
	with := func(x []float64, v float64) []float64 { x = slices.Clone(x); x[3] = v; return x }
	for _, c := range []struct {
		name    string
		twin    []float64
		subject []float64
		others  int
		reason  string
	}{
		{"five blocks", around(1, 0.01, 9), around(1.5, 0.01, 5), 0, "5 blocks: 6 are needed to tell any of 1 subjects"},
		{"six of seven subjects", around(1, 0.01, 9), around(1.5, 0.01, 6), 6, "6 blocks: 9 are needed to tell any of 7 subjects"},
		{"no blocks", around(1, 0.01, 9), nil, 0, "0 blocks"},
		{"NaN", around(1, 0.01, 9), with(nine, math.NaN()), 0, "a log ratio is not a finite number"},
		{"infinite", around(1, 0.01, 9), with(nine, math.Inf(-1)), 0, "a log ratio is not a finite number"},
		{"beyond all ratios", around(1, 0.01, 9), with(nine, 1000), 0, "a log ratio is not a finite number"},
		{"no twin", nil, nine, 0, "there is no A/A comparison"},
		{"short twin", around(1, 0.01, 5), nine, 0, "5 blocks of the A/A comparison: 6 are needed"},
		{"NaN in the twin", with(nine, math.NaN()), nine, 0, "of the A/A comparison is not a finite number"},
	} {
		subjects := []Series{{Name: "s", LogRatios: c.subject}}
		for range c.others {
			subjects = append(subjects, Series{Name: "other", LogRatios: nine})
		}
		aa, got := Family(c.twin, subjects, Options{})
		if got[0].Verdict != results.NoVerdict || !strings.Contains(got[0].Reason, c.reason) {
			t.Errorf("%s: %s, %q", c.name, got[0].Verdict, got[0].Reason)
		}
		// What cannot be told must still be printable, and go into JSON.
		for _, v := range []float64{
			aa.Ratio.Value, aa.Ratio.Low, aa.Ratio.High, aa.P, aa.Spread,
			got[0].Ratio.Value, got[0].Ratio.Low, got[0].Ratio.High, got[0].P, got[0].PHolm, got[0].Floor,
		} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %v in %+v or %+v", c.name, v, aa, got[0])
			}
		}
		for _, o := range got[1:] {
			if o.Verdict != results.Slower {
				t.Errorf("%s: the others have to be judged all the same: %+v", c.name, o)
			}
		}
	}
}

// FuzzFamily: the order of blocks and of subjects has no influence, and calling
// the subject the baseline turns the verdict round.
func FuzzFamily(f *testing.F) {
	f.Add(uint64(1), uint8(9), 0.9)
	f.Add(uint64(2), uint8(20), 1.03)
	f.Add(uint64(3), uint8(7), 1.2)
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, ratio float64) {
		if !(ratio > 0.1 && ratio < 10) {
			ratio = 1 // not one that servers differ by
		}
		rng, n := source(seed), int(1+size%25)
		draw := func(ratio float64) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Log(ratio) + 0.03*rng.NormFloat64()
			}
			return x
		}
		o := Options{Resamples: 100, Seed: seed}
		twin, subjects := draw(1), []Series{{Name: "a", LogRatios: draw(ratio)}, {Name: "b", LogRatios: draw(1.3)}, {Name: "c", LogRatios: draw(1)}}
		_, want := Family(twin, subjects, o)

		turned := map[results.Verdict]results.Verdict{results.Faster: results.Slower, results.Slower: results.Faster}
		swapped := make([]Series, len(subjects))
		for i, s := range subjects {
			swapped[i] = Series{Name: s.Name, LogRatios: scaled(s.LogRatios, -1)}
		}
		_, got := Family(scaled(twin, -1), swapped, o)
		for i := range got {
			expected := want[i].Verdict
			if v, ok := turned[expected]; ok {
				expected = v
			}
			if got[i].Verdict != expected || got[i].PHolm != want[i].PHolm || !near(got[i].Ratio.Low, 1/want[i].Ratio.High, 1e-12) {
				t.Errorf("swapped: %+v, before %+v", got[i], want[i])
			}
		}

		slices.Reverse(subjects)
		for _, s := range subjects {
			rng.Shuffle(n, func(i, j int) { s.LogRatios[i], s.LogRatios[j] = s.LogRatios[j], s.LogRatios[i] })
		}
		_, got = Family(twin, subjects, o)
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("shuffled: %+v, before %+v", got, want)
		}
	})
}
