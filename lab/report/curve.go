package report

import (
	"math"

	"github.com/redline-go/redline/lab/results"
)

// Curve is latency by percentile. X is log10(1/(1-p)), so that the distance between 90 %,
// 99 % and 99.9 % is one; Y is microseconds.
type Curve struct {
	Subject int          `json:"subject"`
	Points  [][2]float64 `json:"points"`
	Cut     float64      `json:"cut"` // highest percentile with enough samples, 0 to 100; 0 if there are enough for all
}

const (
	firstPercentile = 0.5
	lastPercentile  = 0.9999
	curveSteps      = 24 // points per decade
	beyond          = 10 // least number of samples above a percentile
)

// nines returns the x of a percentile, 0 to 1.
func nines(p float64) float64 { return -math.Log10(1 - p) }

// NewCurve returns the curve of a histogram, from the median to 99.99 %, or to the highest
// percentile with ten samples above it. It returns an error for an invalid histogram.
func NewCurve(l results.Latency) (Curve, error) {
	h, err := l.Decode()
	if err != nil {
		return Curve{}, err
	}
	c := Curve{Points: [][2]float64{}}
	last := lastPercentile
	if carried := carries(h.TotalCount()); carried < last {
		last = carried
		c.Cut = math.Floor(last*1e6) / 1e4
	}
	if last < firstPercentile {
		return c, nil
	}
	from, to := nines(firstPercentile), nines(last)
	n := max(int(math.Ceil((to-from)*curveSteps)), 1)
	for i := range n + 1 {
		x := from + (to-from)*float64(i)/float64(n)
		p := 1 - math.Pow(10, -x)
		c.Points = append(c.Points, [2]float64{round(x, 4), round(float64(h.ValueAtQuantile(p*100))/1000, 2)})
		if from == to {
			break
		}
	}
	return c, nil
}

// carries returns the highest percentile, 0 to 1, for which n samples are enough.
func carries(n int64) float64 {
	if n < beyond {
		return 0
	}
	return 1 - beyond/float64(n)
}

// round rounds v to a number of decimal places, to keep the page small.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}
