package stats

import (
	"cmp"
	"math"
	"slices"
)

// CommonSlope returns the change of y for each unit of x that several series have in common, each
// with a level of its own: x[i][k] and y[i][k] are a point of series i. It is the estimate that
// minimises the dispersion of the residuals' ranks (Jaeckel 1972): the median of the slopes between
// all pairs of points of a series, weighted with their distance in x. It corresponds to
// [HodgesLehmann] as least squares does to the mean: single outliers hardly affect it. It is 0 if
// no two points of a series differ in x.
func CommonSlope(x, y [][]float64) float64 {
	type slope struct{ value, weight float64 }
	var slopes []slope
	total := 0.0
	for i, xs := range x {
		for k, a := range xs {
			for l := range k {
				if d := a - xs[l]; d != 0 {
					slopes = append(slopes, slope{(y[i][k] - y[i][l]) / d, math.Abs(d)})
					total += math.Abs(d)
				}
			}
		}
	}
	slices.SortFunc(slopes, func(a, b slope) int { return cmp.Compare(a.value, b.value) })
	sum := 0.0
	for i, s := range slopes {
		switch sum += s.weight; {
		case sum == total/2 && i+1 < len(slopes):
			return (s.value + slopes[i+1].value) / 2
		case sum >= total/2:
			return s.value
		}
	}
	return 0
}
