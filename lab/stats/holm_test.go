package stats

import (
	"slices"
	"testing"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct {
		name    string
		p, want []float64
	}{
		{"empty", nil, nil},
		{"one", []float64{0.03}, []float64{0.03}},
		// R: p.adjust(p, "holm"); the worked example of the literature, of which
		// the fourth and the first are rejected at 0.05.
		{"four", []float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{"five", []float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.08, 0.09, 0.09, 0.09}},
		{"capped", []float64{0.9, 0.6, 0.7}, []float64{1, 1, 1}},
		{"equal", []float64{0.01, 0.01, 0.01}, []float64{0.03, 0.03, 0.03}},
	} {
		before := slices.Clone(c.p)
		got := Holm(c.p)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return near(a, b, 1e-12) }) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.Equal(before, c.p) {
			t.Errorf("%s: argument changed to %v", c.name, c.p)
		}
	}
}

// FuzzHolm: adjusting never lowers a p-value nor changes the order, never
// exceeds Bonferroni, and goes with the value when the order of the input changes.
func FuzzHolm(f *testing.F) {
	f.Add(uint64(1), uint8(7))
	f.Add(uint64(2), uint8(1))
	f.Add(uint64(3), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		rng := source(seed)
		p := make([]float64, size%40)
		for i := range p {
			p[i] = rng.Float64() * rng.Float64() * rng.Float64()
		}
		adjusted := Holm(p)
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > min(1, p[i]*float64(len(p))) {
				t.Errorf("%v became %v in a family of %d", p[i], adjusted[i], len(p))
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Errorf("%v < %v became %v > %v", p[i], p[j], adjusted[i], adjusted[j])
				}
			}
		}
		order := rng.Perm(len(p))
		shuffled := make([]float64, len(p))
		for i, from := range order {
			shuffled[i] = p[from]
		}
		for i, got := range Holm(shuffled) {
			if got != adjusted[order[i]] {
				t.Errorf("shuffled: %v became %v, before %v", shuffled[i], got, adjusted[order[i]])
			}
		}
	})
}

func TestBlocksNeeded(t *testing.T) {
	for family, want := range map[int]int{-1: 6, 0: 6, 1: 6, 2: 7, 3: 7, 4: 8, 6: 8, 7: 9, 12: 9, 13: 10, 100: 12} {
		if got := BlocksNeeded(family); got != want {
			t.Errorf("family of %d: %d, want %d", family, got, want)
		}
	}
	// It is what the test can reach, and one block less is not.
	for family := 1; family < 50; family++ {
		n := BlocksNeeded(family)
		if p := smallestP(n) * float64(family); p >= Alpha {
			t.Errorf("family of %d: %d blocks reach only %v", family, n, p)
		}
		if p := smallestP(n-1) * float64(family); p < Alpha {
			t.Errorf("family of %d: %d blocks reach %v already", family, n-1, p)
		}
	}
}

// smallestP is the p-value of n blocks that all agree.
func smallestP(n int) float64 { return SignedRank(withRankSum(n, 0)) }
