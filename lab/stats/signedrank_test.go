package stats

import (
	"math"
	"slices"
	"testing"
)

func TestSignedRankPublished(t *testing.T) {
	for _, c := range []struct {
		name      string
		x         []float64
		want      float64
		tolerance float64
	}{
		// R: wilcox.test(x, y, paired = TRUE) gives V = 40; the one-sided p-value of
		// its documentation is 0.01953 (10/512).
		{"depression", depression, 20.0 / 512, 0},
		// R: wilcox.test(d), V = 96, p-value = 0.04126 (1352/32768).
		{"zea mays", zeaMays, 1352.0 / 32768, 0},
		{"smallest p of 5", []float64{1, 2, 3, 4, 5}, 2.0 / 32, 0},
		{"smallest p of 6", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64, 0},
		{"nothing", nil, 1, 0},
		{"zeros", []float64{0, 0, 0}, 1, 0},
		{"balanced", []float64{1, -1, 2, -2}, 1, 0},
		// With ties and zeros: counted by an independent program (as well as by
		// TestSignedRankCounted).
		{"ties and zeros", []float64{1, 1, -2, 3, 3, -3, 4, 0, 5, 0, -1, 2}, 0.1796875, 0},
		// More than 50: scipy.stats.wilcoxon(x, correction=True, method="approx").
		// One zero, 43 different magnitudes in 60.
		{"normal, ties", manyTies(), 2.068956655732378e-05, 1e-12},
	} {
		before := slices.Clone(c.x)
		if got := SignedRank(c.x); math.Abs(got-c.want) > c.tolerance*c.want {
			t.Errorf("%s: p = %v, want %v", c.name, got, c.want)
		}
		if !slices.Equal(before, c.x) {
			t.Errorf("%s: argument changed to %v", c.name, c.x)
		}
	}
	if got := SignedRank([]float64{1, math.NaN()}); !math.IsNaN(got) {
		t.Errorf("p of NaN = %v, want NaN", got)
	}
}

func manyTies() []float64 {
	x := make([]float64, 60)
	for i := range x {
		x[i] = 0.5*float64(i*37%61) - 9
	}
	return x
}

// The standard table of critical values (McCornack 1965, Extended Tables of the
// Wilcoxon Matched Pair Signed Rank Statistic): the largest smaller rank sum that
// is still significant, two-sided; -1 where there is none.
func TestSignedRankCriticalValues(t *testing.T) {
	levels := []float64{0.10, 0.05, 0.02, 0.01}
	for _, c := range []struct {
		n        int
		critical [4]int
	}{
		{5, [4]int{0, -1, -1, -1}},
		{6, [4]int{2, 0, -1, -1}},
		{7, [4]int{3, 2, 0, -1}},
		{8, [4]int{5, 3, 1, 0}},
		{9, [4]int{8, 5, 3, 1}},
		{10, [4]int{10, 8, 5, 3}},
		{11, [4]int{13, 10, 7, 5}},
		{12, [4]int{17, 13, 9, 7}},
		{13, [4]int{21, 17, 12, 9}},
		{14, [4]int{25, 21, 15, 12}},
		{15, [4]int{30, 25, 19, 15}},
		{16, [4]int{35, 29, 23, 19}},
		{17, [4]int{41, 34, 27, 23}},
		{18, [4]int{47, 40, 32, 27}},
		{19, [4]int{53, 46, 37, 32}},
		{20, [4]int{60, 52, 43, 37}},
		{25, [4]int{100, 89, 76, 68}},
		{50, [4]int{466, 434, 397, 373}},
	} {
		for i, level := range levels {
			critical := c.critical[i]
			if critical >= 0 {
				if p := SignedRank(withRankSum(c.n, critical)); p > level {
					t.Errorf("n=%d, T=%d: p = %.5f, want at most %v", c.n, critical, p, level)
				}
			}
			if p := SignedRank(withRankSum(c.n, critical+1)); p <= level {
				t.Errorf("n=%d, T=%d: p = %.5f, want more than %v", c.n, critical+1, p, level)
			}
		}
	}
}

// withRankSum returns n values of magnitudes 1 to n, the ranks of the positive
// ones of which add up to sum.
func withRankSum(n, sum int) []float64 {
	x := make([]float64, n)
	for rank := n; rank > 0; rank-- {
		x[rank-1] = -float64(rank)
		if rank <= sum {
			x[rank-1] = float64(rank)
			sum -= rank
		}
	}
	return x
}

// The convolution against counting all patterns of signs, with ties and zeros.
func TestSignedRankCounted(t *testing.T) {
	rng := source(4)
	for range 200 {
		x := make([]float64, rng.IntN(11))
		for i := range x {
			x[i] = float64(rng.IntN(9) - 4)
		}
		if got, want := SignedRank(x), countPatterns(x); got != want {
			t.Errorf("%v: p = %v, counted %v", x, got, want)
		}
	}
}

// countPatterns is the definition of the two-sided exact p-value, spelled out.
func countPatterns(x []float64) float64 {
	x = slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v == 0 })
	ranks := make([]float64, len(x)) // mid-ranks
	for i, v := range x {
		for _, other := range x {
			switch a, b := math.Abs(v), math.Abs(other); {
			case b < a:
				ranks[i]++
			case b == a:
				ranks[i] += 0.5
			}
		}
		ranks[i] += 0.5
	}
	// The distance of the sum of signed ranks from 0.
	observed := 0.0
	for i, r := range ranks {
		observed += math.Copysign(r, x[i])
	}
	extreme := 0
	for pattern := range 1 << len(x) {
		sum := 0.0
		for i, r := range ranks {
			if pattern>>i&1 == 0 {
				r = -r
			}
			sum += r
		}
		if math.Abs(sum) >= math.Abs(observed) {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(x))
}

// The approximation takes over where the exact distribution ends.
func TestSignedRankNormalIsClose(t *testing.T) {
	for _, sum := range []int{300, 400, 434, 500, 600} {
		exact := SignedRank(withRankSum(50, sum))
		if approximate := signedRankNormal(50, 2*sum, 0); math.Abs(exact-approximate) > 0.005 {
			t.Errorf("T=%d: %v, exact %v", sum, approximate, exact)
		}
	}
}

// FuzzSignedRank: a p-value lies in (0, 1] and depends neither on the order, nor
// on which of the two is the baseline, nor on the scale.
func FuzzSignedRank(f *testing.F) {
	f.Add(uint64(1), uint8(9), false)
	f.Add(uint64(2), uint8(50), true)
	f.Add(uint64(3), uint8(51), true)
	f.Add(uint64(4), uint8(0), false)
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, rounded bool) {
		rng := source(seed)
		x := make([]float64, size%80)
		for i := range x {
			x[i] = rng.NormFloat64() + 0.3
			if rounded {
				x[i] = math.Round(2 * x[i])
			}
		}
		p := SignedRank(x)
		if !(p > 0 && p <= 1) {
			t.Fatalf("p = %v", p)
		}
		if got := SignedRank(scaled(x, -1)); got != p {
			t.Errorf("negated: %v, want %v", got, p)
		}
		if got := SignedRank(scaled(x, 0.125)); got != p {
			t.Errorf("scaled: %v, want %v", got, p)
		}
		rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
		if got := SignedRank(x); got != p {
			t.Errorf("shuffled: %v, want %v", got, p)
		}
	})
}
