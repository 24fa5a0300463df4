package stats

import (
	"math"
	"slices"
	"testing"
)

// The depression data of Hollander and Wolfe (Nonparametric Statistical Methods,
// 1973, p. 29), the example of R's wilcox.test: Hamilton scale factor IV of nine
// patients at the second visit minus that at the first.
var depression = minus(
	[]float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29},
	[]float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
)

// Darwin's Zea mays data: height of 15 pairs, cross- minus self-fertilised, in
// eighths of an inch. Fisher, The Design of Experiments, chapter III.
var zeaMays = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func scaled(x []float64, factor float64) []float64 {
	s := make([]float64, len(x))
	for i, v := range x {
		s[i] = v * factor
	}
	return s
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) }

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{5, -1, 2}, 2},
		{[]float64{9, 1, 3, 5}, 4},
		{zeaMays, 24},
	} {
		before := slices.Clone(c.x)
		if got := Median(c.x); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.x, got, c.want)
		}
		if !slices.Equal(before, c.x) {
			t.Errorf("Median changed its argument to %v", c.x)
		}
	}
}

func TestHodgesLehmann(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"one", []float64{3}, 3},
		{"two", []float64{1, 4}, 2.5},
		{"three", []float64{0, 1, 10}, 3}, // averages 0, 0.5, 1, 5, 5.5, 10
		// Hollander and Wolfe: -0.46.
		{"depression", depression, -0.46},
		// R: wilcox.test(d, conf.int = TRUE) gives 3.125 inches.
		{"zea mays", scaled(zeaMays, 1.0/8), 3.125},
	} {
		before := slices.Clone(c.x)
		if got := HodgesLehmann(c.x); !near(got, c.want, 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.Equal(before, c.x) {
			t.Errorf("%s: argument changed to %v", c.name, c.x)
		}
	}
}

func TestLocationOfNothing(t *testing.T) {
	for _, x := range [][]float64{nil, {}, {math.NaN()}, {1, math.NaN(), 2}, {1, 2, math.NaN()}} {
		if got := Median(x); !math.IsNaN(got) {
			t.Errorf("Median(%v) = %v, want NaN", x, got)
		}
		if got := HodgesLehmann(x); !math.IsNaN(got) {
			t.Errorf("HodgesLehmann(%v) = %v, want NaN", x, got)
		}
	}
}
