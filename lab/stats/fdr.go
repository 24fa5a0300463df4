package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg returns the p-values adjusted for the false discovery rate (Benjamini and
// Hochberg 1995), in the order of p: of the hypotheses that are rejected below alpha, at most the
// share alpha is rejected wrongly, on average. That holds if the tests are independent, or
// positively dependent as functions and their callers are. It finds more than [Holm] in a large
// family. No value of p may be NaN. It does not change p.
func BenjaminiHochberg(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out := make([]float64, len(p))
	least := 1.0
	for rank := len(p); rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, p[i]*float64(len(p))/float64(rank))
		out[i] = least
	}
	return out
}
