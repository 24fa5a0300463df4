package stats

import (
	"math"
	"math/rand/v2"
)

// MinSlices is how many slices of time a run needs for [CompareSlices] to give intervals.
const MinSlices = 20

// maxBlockShare is the share of the slices that a block takes at most: an interval from
// fewer than eight blocks would say nothing.
const maxBlockShare = 8

// BlockLength returns how many consecutive slices a block takes, for slices to be
// resampled in blocks that are about independent of each other: twice the time over which
// the values are correlated (one plus twice the sum of the autocorrelations up to the
// first that is noise), the cube root of their number at least, and an eighth of it at
// most. Correlation that reaches further makes an interval too short.
func BlockLength(values []float64) int {
	n := len(values)
	most := max(n/maxBlockShare, 1)
	least := min(max(int(math.Ceil(math.Cbrt(float64(n)))), 1), most)
	mean := 0.0
	for _, v := range values {
		mean += v / float64(n)
	}
	variance := 0.0
	for _, v := range values {
		variance += (v - mean) * (v - mean)
	}
	if !(variance > 0) || math.IsInf(variance, 1) {
		return least
	}
	noise := 1.96 / math.Sqrt(float64(n))
	span := 1.0
	for lag := 1; lag <= most; lag++ {
		sum := 0.0
		for i := lag; i < n; i++ {
			sum += (values[i] - mean) * (values[i-lag] - mean)
		}
		r := sum / variance
		if r < noise {
			break
		}
		span += 2 * r
	}
	return min(max(int(math.Ceil(2*span)), least), most)
}

// A Sliced is a run that was cut into slices of time.
type Sliced struct {
	Slices int // their number
	Block  int // consecutive slices that are resampled together, see BlockLength
}

// CompareSlices returns an interval for each figure that compares two runs, from n
// resamples of the slices of both, in circular blocks (Politis and Romano 1992): slices
// are correlated, and drawing them one by one would make intervals far too short.
//
// figures gets the slices of both runs by their index, as often as they were drawn, and
// appends its figures to out, always as many: log ratios or differences. It must not keep
// the indexes. The intervals are expanded as those of [Bootstrap] are, for as many values
// as the shorter run has blocks. The ends are NaN for a figure that some resample did not
// give (NaN, an infinity), and for all when a run has fewer than MinSlices slices, or
// level is not between 0 and 1.
//
// An interval tells what comes of the variation within both runs. What differs from one
// run to the next, as the layout of memory does, is not in it.
func CompareSlices(a, b Sliced, figures func(a, b []int, out []float64) []float64, level float64, n int, rng *rand.Rand) (low, high []float64) {
	first, second := make([]int, a.Slices), make([]int, b.Slices)
	for _, list := range [][]int{first, second} {
		for i := range list {
			list[i] = i
		}
	}
	width := len(figures(first, second, nil))
	low, high = make([]float64, width), make([]float64, width)
	blocks := min(a.Slices/max(a.Block, 1), b.Slices/max(b.Block, 1))
	if min(a.Slices, b.Slices) < MinSlices || blocks < 2 || !(level > 0 && level < 1) {
		for i := range low {
			low[i], high[i] = math.NaN(), math.NaN()
		}
		return low, high
	}
	n = max(2, n)
	estimates := make([][]float64, width)
	undefined := make([]bool, width)
	var out []float64
	for range n {
		drawBlocks(first, a.Block, rng)
		drawBlocks(second, b.Block, rng)
		out = figures(first, second, out[:0])
		for i, v := range out {
			undefined[i] = undefined[i] || math.IsNaN(v) || math.IsInf(v, 0)
			estimates[i] = append(estimates[i], v)
		}
	}
	for i := range low {
		if low[i], high[i] = math.NaN(), math.NaN(); !undefined[i] {
			low[i], high[i] = expanded(estimates[i], level, blocks)
		}
	}
	return low, high
}

// drawBlocks fills index with blocks of consecutive indexes that begin anywhere. The
// first index follows the last.
func drawBlocks(index []int, length int, rng *rand.Rand) {
	n := len(index)
	for i := 0; i < n; {
		from := rng.IntN(n)
		for k := 0; k < max(length, 1) && i < n; k++ {
			index[i] = (from + k) % n
			i++
		}
	}
}
