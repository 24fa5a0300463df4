package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// series has values around a level, each correlated with the one before.
func series(n int, level, noise, correlation float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	state := rng.NormFloat64()
	for i := range x {
		state = correlation*state + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
		x[i] = level * math.Exp(noise*state)
	}
	return x
}

// meanRatio is the log ratio of the means of two series.
func meanRatio(x, y []float64) func(a, b []int, out []float64) []float64 {
	mean := func(of []float64, index []int) (sum float64) {
		for _, i := range index {
			sum += of[i]
		}
		return sum / float64(len(index))
	}
	return func(a, b []int, out []float64) []float64 {
		return append(out, math.Log(mean(y, b))-math.Log(mean(x, a)))
	}
}

// Intervals of two runs alike contain no difference, about as often as they should,
// whether the slices are correlated or not.
func TestCompareSlicesCovers(t *testing.T) {
	const runs, slices, resamples = 400, 150, 200
	for _, c := range []struct {
		name        string
		correlation float64
		least       float64 // share of the intervals that contain the truth
	}{{"independent", 0, 0.93}, {"correlated", 0.5, 0.90}, {"strongly correlated", 0.8, 0.85}} {
		t.Run(c.name, func(t *testing.T) {
			rng, hit, naive := source(3), 0, 0
			for range runs {
				x, y := series(slices, 100, 0.1, c.correlation, rng), series(slices, 100, 0.1, c.correlation, rng)
				low, high := CompareSlices(Sliced{slices, BlockLength(x)}, Sliced{slices, BlockLength(y)}, meanRatio(x, y), Level, resamples, rng)
				if low[0] <= 0 && 0 <= high[0] {
					hit++
				}
				low, high = CompareSlices(Sliced{slices, 1}, Sliced{slices, 1}, meanRatio(x, y), Level, resamples, rng)
				if low[0] <= 0 && 0 <= high[0] {
					naive++
				}
			}
			share := float64(hit) / runs
			t.Logf("%.3f of the intervals contain the truth, without blocks %.3f", share, float64(naive)/runs)
			if share < c.least {
				t.Errorf("%.3f of the intervals contain the truth, want %.2f", share, c.least)
			}
			if c.correlation > 0 && naive >= hit {
				t.Error("blocks make no difference")
			}
		})
	}
}

func TestBlockLength(t *testing.T) {
	rng := source(5)
	last := 0
	for _, correlation := range []float64{0, 0.5, 0.8} {
		total := 0
		for range 50 {
			total += BlockLength(series(400, 1, 0.1, correlation, rng))
		}
		if total <= last {
			t.Errorf("correlation %v: mean block of %v slices, not more than with less of it", correlation, float64(total)/50)
		}
		last = total
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   int
	}{
		{"nothing", nil, 1},
		{"one", []float64{3}, 1},
		{"constant", make([]float64, 64), 4},
		{"a trend", func() (x []float64) {
			for i := range 80 {
				x = append(x, float64(i))
			}
			return x
		}(), 10},
		{"no number", append(make([]float64, 63), math.NaN()), 4},
	} {
		if got := BlockLength(c.values); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCompareSlicesRefuses(t *testing.T) {
	all := func(v float64) func(a, b []int, out []float64) []float64 {
		return func(_, _ []int, out []float64) []float64 { return append(out, 1, v) }
	}
	for name, c := range map[string]struct {
		a, b  Sliced
		v     float64
		level float64
		ok    [2]bool
	}{
		"well":           {Sliced{20, 2}, Sliced{20, 2}, 2, 0.95, [2]bool{true, true}},
		"too few slices": {Sliced{19, 2}, Sliced{40, 2}, 2, 0.95, [2]bool{}},
		"one block":      {Sliced{20, 20}, Sliced{40, 2}, 2, 0.95, [2]bool{}},
		"no level":       {Sliced{20, 2}, Sliced{20, 2}, 2, 1, [2]bool{}},
		"undefined":      {Sliced{20, 2}, Sliced{20, 2}, math.Inf(1), 0.95, [2]bool{true, false}},
		"nothing":        {Sliced{}, Sliced{}, 2, 0.95, [2]bool{}},
	} {
		low, high := CompareSlices(c.a, c.b, all(c.v), c.level, 50, source(1))
		for i, ok := range c.ok {
			if got := !math.IsNaN(low[i]) && !math.IsNaN(high[i]); got != ok {
				t.Errorf("%s: figure %d has the interval %v to %v", name, i, low[i], high[i])
			}
		}
	}
}

// A block continues with the first slice after the last; all slices are equally likely.
func TestDrawBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var seen [10]int
	for range 3000 {
		index := make([]int, 10)
		drawBlocks(index, 4, rng)
		for i := range index {
			seen[index[i]]++
			if i%4 > 0 && index[i] != (index[i-1]+1)%10 {
				t.Fatalf("%v", index)
			}
		}
	}
	for i, n := range seen {
		if n < 2700 || n > 3300 {
			t.Errorf("slice %d was drawn %d times of about 3000", i, n)
		}
	}
}
