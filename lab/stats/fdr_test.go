package stats

import (
	"math"
	"slices"
	"testing"
)

func TestBenjaminiHochberg(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.02, 0.03, 0.04}, []float64{0.04, 0.04, 0.04, 0.04}},
		{[]float64{0.9, 0.001, 0.5, 0.02}, []float64{0.9, 0.004, 2.0 / 3, 0.04}},
		{[]float64{1, 1}, []float64{1, 1}},
	} {
		got := BenjaminiHochberg(slices.Clone(c.p))
		if len(got) != len(c.want) {
			t.Fatalf("%v: %v", c.p, got)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%v: %v, want %v", c.p, got, c.want)
			}
		}
	}
}

// It never adjusts more than Holm does.
func TestBenjaminiHochbergFindsMore(t *testing.T) {
	p := []float64{0.04, 0.001, 0.2, 0.01, 0.012, 0.7, 0.0004}
	holm := Holm(p)
	for i, q := range BenjaminiHochberg(p) {
		if q > holm[i]+1e-15 || q < p[i] {
			t.Errorf("%v becomes %v, with Holm %v", p[i], q, holm[i])
		}
	}
}
