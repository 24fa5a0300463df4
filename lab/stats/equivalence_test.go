package stats

import (
	"math"
	"testing"
)

func TestEquivalence(t *testing.T) {
	edge := math.Log(1.05)
	at := func(list ...float64) (x []float64) {
		for _, v := range list {
			x = append(x, v*edge)
		}
		return x
	}
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"nothing", nil, 0.5},
		{"all at 1", at(0, 0, 0, 0, 0, 0, 0, 0, 0), 1.0 / 512},
		{"all within, on one side", at(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9), 1.0 / 512},
		{"six within", at(-0.9, -0.5, 0, 0.1, 0.3, 0.8), 1.0 / 64},
		// The one outside has the smallest distance from the edge: of 512 patterns two are as far.
		{"one barely outside", at(-0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.01), 2.0 / 512},
		// Distances of 1.1 to 1.9 times the edge below it, and all above.
		{"all outside", at(2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9), 1 - 1.0/512},
		{"all outside below", at(-2.1, -2.2, -2.3, -2.4, -2.5, -2.6), 1 - 1.0/64},
	} {
		if got := Equivalence(c.x, 0.05); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := Equivalence(at(0, 0, 0, 0, 0, 0), 0); got != 1 {
		t.Errorf("without a margin: %v", got)
	}
}
