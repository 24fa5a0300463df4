package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactSum is the number of values up to which [RankSum] and [Shift] are exact.
const exactSum = 60

// RankSum returns the two-sided p-value of the Wilcoxon rank sum test (Wilcoxon 1945, Mann and
// Whitney 1947) of the hypothesis that a and b have the same distribution. The values are not
// paired: a and b may have been measured at different times.
//
// It is exact for up to 60 values together, including ties: all ways to divide the ranks, doubled
// to be integers, are counted by convolution. For more values it is the normal approximation with
// corrections for ties and continuity. It is 1 if a or b is empty, or if all values are equal, and
// NaN if one of them is NaN.
func RankSum(a, b []float64) float64 {
	ranks, ties := midRanks(append(slices.Clone(a), b...))
	if ranks == nil {
		return math.NaN()
	}
	m, n := len(a), len(b)
	sum := 0 // doubled
	for _, r := range ranks[:m] {
		sum += r
	}
	all := m + n
	mean := m * (all + 1) // doubled too
	distance := sum - mean
	if distance < 0 {
		distance = -distance
	}
	if m == 0 || n == 0 || distance == 0 {
		return 1
	}
	if all <= exactSum {
		return min(1, exactRankSum(ranks, m, mean, distance))
	}
	variance := float64(m) * float64(n) / 12 * (float64(all+1) - ties/(float64(all)*float64(all-1)))
	z := (float64(distance)/2 - 0.5) / math.Sqrt(variance)
	return min(1, math.Erfc(max(0, z)/math.Sqrt2))
}

// midRanks returns the doubled ranks of values, and the sum of t³-t over groups of t equal
// values; nil if a value is NaN.
func midRanks(values []float64) (ranks []int, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		if math.IsNaN(values[i]) {
			return nil, 0
		}
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks = make([]int, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = i + j + 1 // twice the mean of i+1 to j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// exactRankSum returns the share of the ways to choose m of the ranks whose sum is at least so
// far from the mean.
func exactRankSum(ranks []int, m, mean, distance int) float64 {
	far, all := 0.0, 0.0
	for s, w := range choices(ranks, m) {
		all += w
		if s <= mean-distance || s >= mean+distance {
			far += w
		}
	}
	return far / all
}

// choices returns in how many ways m of the ranks have each sum.
func choices(ranks []int, m int) []float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]float64, m+1) // by the number of ranks, and their sum
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := m; k > 0; k-- {
			for s := most; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[m]
}

// Shift returns the Hodges-Lehmann estimate of how much larger the values of b are than those of
// a, the median of all differences, with its confidence interval (Moses 1953; Hollander and
// Wolfe, Nonparametric Statistical Methods, section 4.3). The interval belongs to [RankSum]: with
// few values its level is that of the test, at least the given one, or it is the range of the
// differences if that is not possible. All are NaN if a or b is empty or has a NaN.
func Shift(a, b []float64, level float64) (estimate, low, high float64) {
	var d []float64
	for _, x := range a {
		for _, y := range b {
			d = append(d, y-x)
		}
	}
	slices.Sort(d)
	if len(d) == 0 || math.IsNaN(d[0]) || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	k := max(criticalPairs(len(a), len(b), (1-level)/2)-1, 0)
	return Median(d), d[k], d[len(d)-1-k]
}

// criticalPairs returns the largest k with P(U < k) <= tail, where U is the number of pairs of
// Mann and Whitney for m and n values without ties.
func criticalPairs(m, n int, tail float64) int {
	if m+n > exactSum {
		z := math.Sqrt2 * math.Erfinv(1-2*tail)
		mean, spread := float64(m*n)/2, math.Sqrt(float64(m*n*(m+n+1))/12)
		return max(0, int(mean-0.5-z*spread))
	}
	ranks := make([]int, m+n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := choices(ranks, m)
	all, below := 0.0, 0.0
	for _, w := range ways {
		all += w
	}
	least := m * (m + 1) / 2 // the sum with U = 0
	for u := 0; u < m*n/2; u++ {
		if below += ways[least+u]; below > tail*all {
			return u
		}
	}
	return m * n / 2
}
