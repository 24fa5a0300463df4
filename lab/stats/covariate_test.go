package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestCommonSlope(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y [][]float64
		want float64
	}{
		{"nothing", nil, nil, 0},
		{"one point", [][]float64{{1}}, [][]float64{{1}}, 0},
		{"no difference in x", [][]float64{{1, 1}, {2, 2}}, [][]float64{{1, 5}, {3, 4}}, 0},
		{"a line", [][]float64{{0, 1, 3}}, [][]float64{{1, 3, 7}}, 2},
		{"two levels, one slope", [][]float64{{0, 1, 3}, {10, 11}}, [][]float64{{1, 3, 7}, {-4, -2}}, 2},
		// Slopes 1, 2 and 1.5 with the weights 1, 1 and 2: the heavier one is the middle.
		{"weights", [][]float64{{0, 1, 2}}, [][]float64{{0, 1, 3}}, 1.5},
		{"an outlier", [][]float64{{0, 1, 2, 3, 4, 5, 6}}, [][]float64{{0, 2, 4, 600, 8, 10, 12}}, 2},
		{"two slopes of equal weight", [][]float64{{0, 1}, {0, 1}}, [][]float64{{0, 1}, {0, 3}}, 2},
	} {
		if got := CommonSlope(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The slope of many series with noise and outliers is near the true one.
func TestCommonSlopeOfNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x, y [][]float64
	for level := range 10 {
		var xs, ys []float64
		for range 9 {
			d := 0.03 * rng.NormFloat64()
			v := float64(level) + 2*d + 0.02*rng.NormFloat64()
			if rng.IntN(20) == 0 {
				v += 3
			}
			xs, ys = append(xs, d), append(ys, v)
		}
		x, y = append(x, xs), append(y, ys)
	}
	if got := CommonSlope(x, y); math.Abs(got-2) > 0.3 {
		t.Errorf("%v, want about 2", got)
	}
}
