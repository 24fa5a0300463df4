package stats

import (
	"math"
	"testing"
)

func TestTrend(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rates []float64
		want  bool
	}{
		{"empty", nil, false},
		{"too few", []float64{1, 2, 3}, false},
		{"constant", []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, false},
		{"nothing", make([]float64, 10), false},
		{"rising", []float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, true},
		{"falling", []float64{19, 18, 17, 16, 15, 14, 13, 12, 11, 10}, true},
		{"rising by 3 %", []float64{1000, 1003, 1006, 1010, 1013, 1016, 1020, 1023, 1026, 1030}, false},
		{"noise", []float64{10, 14, 9, 13, 11, 12, 8, 15, 10, 12}, false},
		{"rising with noise", []float64{100, 112, 108, 121, 130, 127, 140, 151, 149, 160}, true},
		{"one outlier", []float64{10, 10.1, 9.9, 10, 50, 10.1, 9.9, 10, 10.1, 9.9}, false},
		{"rising with ties", []float64{10, 10, 11, 12, 13, 13, 14, 15, 16, 17}, true},
	} {
		if got := Trend(tc.rates); got != tc.want {
			t.Errorf("%s: trend is %v", tc.name, got)
		}
	}
}

// Tail probabilities of Kendall's S, Kendall (1975), table 1, doubled.
func TestKendallExact(t *testing.T) {
	for _, tc := range []struct {
		n, s int
		want float64
	}{
		{4, 6, 2 * 0.0417},
		{5, 10, 2 * 0.0083},
		{8, 16, 2 * 0.0305},
		{10, 21, 2 * 0.0363},
		{10, -29, 2 * 0.0046},
		{10, 27, 2 * 0.0083},
	} {
		if got := kendallExact(tc.n, tc.s); math.Abs(got-tc.want) > 0.0002 {
			t.Errorf("n %d, S %d: p %.5f, want %.4f", tc.n, tc.s, got, tc.want)
		}
	}
	if p := kendallExact(10, 1); p < 0.9 || p > 1 {
		t.Errorf("S 1: p %v", p)
	}
}

func TestTheilSen(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"nothing", nil, nil, 0},
		{"one point", []float64{1}, []float64{5}, 0},
		{"a line with unequal steps", []float64{0, 1, 4, 6}, []float64{3, 5, 11, 15}, 2},
		{"an outlier", []float64{0, 1, 2, 3, 4, 5, 6}, []float64{0, 1, 2, 1000, 4, 5, 6}, 1},
		{"equal times", []float64{1, 1, 2}, []float64{0, 0, 3}, 3},
	} {
		if got := TheilSen(c.x, c.y); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
