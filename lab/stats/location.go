package stats

import (
	"math"
	"slices"
)

// Median returns the middle value of x, or the mean of the two middle ones. It is NaN if x
// is empty or contains a NaN. It does not change x.
func Median(x []float64) float64 {
	return middle(ascending(x))
}

// HodgesLehmann returns the one-sample Hodges-Lehmann estimate of x: the median of its
// Walsh averages (x[i]+x[j])/2, i <= j (Hodges and Lehmann 1963). It corresponds to the
// Wilcoxon signed rank test as the mean corresponds to the t-test. For normal noise it is
// nearly as precise as the mean (95 %), and an outlying block hardly affects it. It is NaN
// if x is empty or contains a NaN. It does not change x, and needs memory for len(x)²/2
// values.
func HodgesLehmann(x []float64) float64 {
	averages := make([]float64, 0, len(x)*(len(x)+1)/2)
	for i, a := range x {
		for _, b := range x[i:] {
			averages = append(averages, (a+b)/2)
		}
	}
	slices.Sort(averages)
	return middle(averages)
}

// ascending returns the values of x in order: x itself if it is in order. NaNs come first.
func ascending(x []float64) []float64 {
	if slices.IsSorted(x) {
		return x
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return s
}

// middle returns the median of values in ascending order, NaNs first.
func middle(s []float64) float64 {
	n := len(s)
	switch {
	case n == 0 || math.IsNaN(s[0]):
		return math.NaN()
	case n%2 == 1:
		return s[n/2]
	default:
		return (s[n/2-1] + s[n/2]) / 2
	}
}
