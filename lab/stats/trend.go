package stats

import (
	"math"
	"slices"
)

// TrendPoints is the number of points that [Trend] is designed for.
const TrendPoints = 10

const (
	significance = 0.01 // significance of the Mann-Kendall test, two-sided
	size         = 0.05 // of the change over the span, relative to the median
)

// Trend reports whether the rates rise or fall: the Mann-Kendall test finds a monotonic
// trend (p < 0.01, two-sided; exact without ties) and the change over the whole span
// according to the Theil-Sen slope exceeds 5 % of the median rate. Both conditions are
// necessary: a drift too small to matter is significant if the rates vary little, and a
// large slope means nothing if they vary a lot. (Mann 1945, Kendall 1975; Sen 1968.)
func Trend(rates []float64) bool {
	n := len(rates)
	if n < 4 {
		return false
	}
	var (
		s    int
		ties bool
	)
	index := make([]float64, n)
	for i := range rates {
		index[i] = float64(i)
		for j := i + 1; j < n; j++ {
			d := rates[j] - rates[i]
			switch {
			case d > 0:
				s++
			case d < 0:
				s--
			default:
				ties = true
			}
		}
	}
	change := math.Abs(TheilSen(index, rates)) * float64(n-1)
	if change <= size*math.Abs(Median(rates)) {
		return false
	}
	if ties || n > 30 {
		return kendallNormal(rates, s) < significance
	}
	return kendallExact(n, s) < significance
}

// TheilSen returns the median of the slopes between all pairs of points: the change of y for
// each unit of x, which single outliers do not affect. x is in ascending order; pairs with
// equal x are left out. It is 0 without a pair. The time is quadratic in the number of points.
// (Theil 1950; Sen 1968.)
func TheilSen(x, y []float64) float64 {
	slopes := make([]float64, 0, len(x)*max(len(x)-1, 0)/2)
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if x[j] > x[i] {
				slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return Median(slopes)
}

// kendallExact returns the two-sided p of S without ties: the share of permutations with at
// least as many inversions, counted from the nearer end.
func kendallExact(n, s int) float64 {
	pairs := n * (n - 1) / 2
	inversions := (pairs - max(s, -s)) / 2
	// share[k] of the permutations of 1..m have k inversions; the m-th element adds 0 to
	// m-1 of them.
	share := make([]float64, inversions+1)
	share[0] = 1
	for m := 2; m <= n; m++ {
		next := make([]float64, len(share))
		for k := range next {
			for add := 0; add < m && add <= k; add++ {
				next[k] += share[k-add]
			}
			next[k] /= float64(m)
		}
		share = next
	}
	var p float64
	for _, x := range share {
		p += x
	}
	return min(1, 2*p)
}

// kendallNormal computes the approximation for ties and for many points.
func kendallNormal(rates []float64, s int) float64 {
	spread := func(t float64) float64 { return t * (t - 1) * (2*t + 5) / 18 }
	variance := spread(float64(len(rates)))
	sorted := slices.Sorted(slices.Values(rates))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		variance -= spread(float64(j - i))
		i = j
	}
	if variance <= 0 || s == 0 {
		return 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
