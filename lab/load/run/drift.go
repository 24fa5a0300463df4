package run

import (
	"math"

	"github.com/redline-go/redline/lab/stats"
)

// leastDrift is the change of the rate within a window, from its first third to its last, from which
// on its mean describes neither. Below it, machines that are shared drift by themselves.
const leastDrift = 0.2

// drift returns the change of a rate that rises or falls throughout the window, relative to its
// beginning; 0 if it does not, or by little.
func drift(rates []float64) float64 {
	if len(rates) < stats.TrendPoints {
		return 0
	}
	points := make([]float64, stats.TrendPoints)
	for i := range points {
		points[i] = mean(rates[i*len(rates)/len(points) : (i+1)*len(rates)/len(points)])
	}
	third := len(points) / 3
	first, last := mean(points[:third]), mean(points[len(points)-third:])
	if change := last/max(first, 1) - 1; math.Abs(change) > leastDrift && stats.Trend(points) {
		return change
	}
	return 0
}

func mean(list []float64) (m float64) {
	for _, v := range list {
		m += v / float64(len(list))
	}
	return m
}
