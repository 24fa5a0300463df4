package stats

import (
	"math"
	"slices"
)

// exactLimit is the largest number of differences for which [SignedRank] is
// exact. The number of sign patterns, 2^50, is still a whole number in a float64.
const exactLimit = 50

// SignedRank returns the two-sided p-value of the Wilcoxon signed rank test (Wilcoxon 1945)
// of the hypothesis that x is symmetric around 0. Zeros are dropped, equal magnitudes get
// the mean of their ranks.
//
// It is exact for up to 50 values, including ties: the ranks are used unchanged, doubled to
// be integers, and all 2^n combinations of signs are counted by convolution. For more
// values it is the normal approximation with corrections for ties and continuity.
//
// It is 1 if there are only zeros, and NaN if x contains a NaN.
func SignedRank(x []float64) float64 {
	d := make([]float64, 0, len(x))
	for _, v := range x {
		if math.IsNaN(v) {
			return math.NaN()
		}
		if v != 0 {
			d = append(d, v)
		}
	}
	if len(d) == 0 {
		return 1
	}
	ranks, positive, ties := doubledRanks(d)
	if len(d) <= exactLimit {
		return signedRankExact(ranks, positive)
	}
	return signedRankNormal(len(d), positive, ties)
}

// doubledRanks ranks the magnitudes of d, which it reorders. It returns twice the rank of
// each, twice the sum of the ranks of the positive ones, and the sum of t³-t over the
// groups of t equal magnitudes.
func doubledRanks(d []float64) (ranks []int, positive int, ties float64) {
	slices.SortFunc(d, func(a, b float64) int {
		switch a, b = math.Abs(a), math.Abs(b); {
		case a < b:
			return -1
		case a > b:
			return 1
		default:
			return 0
		}
	})
	ranks = make([]int, len(d))
	for i := 0; i < len(d); {
		end := i + 1
		for end < len(d) && math.Abs(d[end]) == math.Abs(d[i]) {
			end++
		}
		t := float64(end - i)
		ties += t*t*t - t
		doubled := i + 1 + end // the first rank and the last
		for ; i < end; i++ {
			ranks[i] = doubled
			if d[i] > 0 {
				positive += doubled
			}
		}
	}
	return ranks, positive, ties
}

// signedRankExact counts the sign patterns whose sum of positive ranks is at least as far
// from the middle as the observed one.
func signedRankExact(ranks []int, positive int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// The distribution is symmetric, so one tail is enough, up to the smaller of the two
	// rank sums.
	observed := min(positive, total-positive)
	patterns := make([]float64, observed+1) // indexed by the sum of positive ranks
	patterns[0] = 1
	for _, r := range ranks {
		for sum := observed; sum >= r; sum-- {
			patterns[sum] += patterns[sum-r]
		}
	}
	tail := 0.0
	for _, p := range patterns {
		tail += p
	}
	return min(1, math.Ldexp(2*tail, -len(ranks)))
}

// signedRankNormal computes the approximation for n differences from twice their sum of
// positive ranks and the correction for ties.
func signedRankNormal(n int, positive int, ties float64) float64 {
	f := float64(n)
	mean := f * (f + 1) / 4
	variance := f*(f+1)*(2*f+1)/24 - ties/48
	z := max(0, math.Abs(float64(positive)/2-mean)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
