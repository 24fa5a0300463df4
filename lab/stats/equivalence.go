package stats

import "math"

// DefaultMargin is the margin of an equivalence unless [Options] says otherwise, as a ratio minus
// one.
const DefaultMargin = 0.05

// Equivalence returns the p-value of the hypothesis that a ratio differs from 1 by the margin or
// more, from its log ratios: the larger one of two one-sided signed rank tests, that it is at
// least 1+margin, and that it is at most 1/(1+margin) (Schuirmann 1987). It is small if the values
// are within the margin, whatever their side of 1. It is a half without values, and 1 for a margin
// that is not above 0.
func Equivalence(logs []float64, margin float64) float64 {
	if margin <= 0 {
		return 1
	}
	edge := math.Log1p(margin)
	return max(below(logs, 1, edge), below(logs, -1, edge))
}

// below returns the p-value of the hypothesis that the values, times sign, are symmetric around
// edge or a larger value.
func below(x []float64, sign, edge float64) float64 {
	shifted := make([]float64, len(x))
	for i, v := range x {
		shifted[i] = sign*v - edge
	}
	p := SignedRank(shifted)
	if HodgesLehmann(shifted) >= 0 {
		return 1 - p/2
	}
	return p / 2
}
