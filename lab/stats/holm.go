package stats

import "slices"

// Holm returns the p-values adjusted for a family (Holm 1979, A Simple Sequentially
// Rejective Multiple Test Procedure), in the order of p: rejecting those below alpha has a
// probability of error of at most alpha over the whole family, whether or not the tests
// depend on each other. No value of p may be NaN. Holm does not change p.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		default:
			return 0
		}
	})
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}

// BlocksNeeded returns the smallest number of blocks with which a subject in a family of
// the given size can be distinguished from the baseline: the smallest p of the signed rank
// test with n blocks is 2/2^n, and Holm multiplies it by the size of the family. It is 6
// for one subject, 9 for seven. A size below 1 counts as 1.
func BlocksNeeded(family int) int {
	n, p := 1, float64(max(1, family))
	for ; p > Alpha; n++ {
		p /= 2
	}
	return n
}
