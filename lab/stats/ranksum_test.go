package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRankSum(t *testing.T) {
	eight := func(from float64) (x []float64) {
		for i := range 8 {
			x = append(x, from+float64(i))
		}
		return x
	}
	for name, c := range map[string]struct {
		a, b []float64
		want float64
	}{
		// 2 of the 12,870 ways to divide 16 ranks.
		"apart":     {eight(0), eight(100), 2.0 / 12870},
		"the same":  {eight(0), eight(0), 1},
		"constant":  {[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},
		"three":     {[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		"published": {[]float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.90, 0.74, 1.21}, 0.2544}, // Hollander and Wolfe, table 4.1
		"none":      {nil, eight(0), 1},
	} {
		if got := RankSum(c.a, c.b); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if got, back := RankSum(c.a, c.b), RankSum(c.b, c.a); math.Abs(got-back) > 1e-12 {
			t.Errorf("%s: %v, and %v the other way round", name, got, back)
		}
	}
	if got := RankSum([]float64{math.NaN()}, eight(0)); !math.IsNaN(got) {
		t.Errorf("of NaN: %v", got)
	}
}

// The approximation for many values continues the exact test.
func TestRankSumMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a, b []float64
	for range 30 {
		a, b = append(a, rng.NormFloat64()), append(b, rng.NormFloat64()+0.5)
	}
	exact := RankSum(a, b)
	ranks, ties := midRanks(append(append([]float64(nil), a...), b...))
	if len(ranks) != 60 || ties != 0 {
		t.Fatalf("%d ranks, ties %v", len(ranks), ties)
	}
	many := RankSum(append(a, 0.1), append(b, 0.2))
	if math.Abs(exact-many) > 0.02 {
		t.Errorf("60 values: %v, 62: %v", exact, many)
	}
}

func TestShift(t *testing.T) {
	a := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	b := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	// Hollander and Wolfe, section 4.3: -0.305, and from -0.76 to 0.15 with a level of 0.96.
	estimate, low, high := Shift(a, b, 0.95)
	if math.Abs(estimate+0.305) > 1e-9 || math.Abs(low+0.76) > 1e-9 || math.Abs(high-0.15) > 1e-9 {
		t.Errorf("%v, from %v to %v", estimate, low, high)
	}
	if e, l, h := Shift([]float64{1, 2}, []float64{4, 5}, 0.95); e != 3 || l != 2 || h != 4 {
		t.Errorf("of two values: %v, from %v to %v", e, l, h)
	}
	for _, c := range [][2][]float64{{nil, b}, {a, {math.NaN()}}} {
		if e, l, h := Shift(c[0], c[1], 0.95); !math.IsNaN(e) || !math.IsNaN(l) || !math.IsNaN(h) {
			t.Errorf("%v: %v %v %v", c, e, l, h)
		}
	}
}

// Of values without a difference, few intervals leave out 0, and test and interval agree.
func TestShiftCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	missed, rounds := 0, 2000
	for range rounds {
		var a, b []float64
		for range 8 {
			a, b = append(a, rng.ExpFloat64()), append(b, rng.ExpFloat64())
		}
		_, low, high := Shift(a, b, Level)
		out := low > 0 || high < 0
		if out != (RankSum(a, b) < Alpha) {
			t.Fatalf("interval from %v to %v, p %v", low, high, RankSum(a, b))
		}
		if out {
			missed++
		}
	}
	if rate := float64(missed) / float64(rounds); rate > 0.06 {
		t.Errorf("%.3f of the intervals leave out 0", rate)
	}
}
