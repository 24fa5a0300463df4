package stats

import (
	"math"

	"github.com/redline-go/redline/lab/results"
)

// moved returns the log ratios as the largest systematic error leaves them: up for a sign of 1, down
// for -1. The estimate, its interval and the signed rank are monotone in each value, so that no error
// within the bounds leads beyond those of these values. Adding the mean of the bounds to the interval
// would not do: the median of more large errors than small ones is above their mean.
func (s *Series) moved(sign float64) []float64 {
	out := make([]float64, len(s.LogRatios))
	for i, v := range s.LogRatios {
		out[i] = v + sign*s.Bounds[i]
	}
	return out
}

// estimate returns the ratio, the p-value, and how much farther the interval reaches because of the
// bounds. If some error within them leaves no difference, p is 1.
func (s *Series) estimate(o Options) (ratio results.Estimate, p, widened float64) {
	ratio, p = estimate(s.LogRatios, o)
	if s.Bounds == nil {
		return ratio, p, 0
	}
	down, pDown := estimate(s.moved(-1), o)
	up, pUp := estimate(s.moved(1), o)
	low, high := min(ratio.Low, down.Low), max(ratio.High, up.High)
	widened = max(ratio.Low/low, high/ratio.High) - 1
	ratio.Low, ratio.High = low, high
	if down.Value <= 1 && up.Value >= 1 {
		return ratio, 1, widened
	}
	return ratio, max(p, pDown, pUp), widened
}

// equivalence returns the p-value of Equivalence, of the worst errors within the bounds.
func (s *Series) equivalence(margin float64) float64 {
	if s.Bounds == nil {
		return Equivalence(s.LogRatios, margin)
	}
	edge := math.Log1p(margin)
	return max(below(s.moved(1), 1, edge), below(s.moved(-1), -1, edge))
}
