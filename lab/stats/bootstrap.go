package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bootstrap returns a confidence interval for stat, a location estimate such as [Median] or
// [HodgesLehmann], from n resamples of x (n is rounded up to an even number; 2000 are
// enough for a level of 0.95). It is the expanded percentile interval.
//
// The plain percentile interval is too short for few values: the resamples vary around the
// middle of x, and their spread is smaller than the true one by sqrt((n-1)/n); also, it
// uses normal quantiles where t quantiles are needed. With 9 blocks it covers 92 % instead
// of 95, with 6 blocks 87 %. The expanded interval (Hesterberg 2015, What Teachers Should
// Know About the Bootstrap) compensates for both by using quantiles of the resamples
// further out. In simulations with 6, 7, 8, 9, 12 and 20 values, with normal, uniform,
// log-normal, t3 and contaminated noise, it covers the Hodges-Lehmann estimate with 93.7 to
// 96.7 %, the median with 95.7 to 98.8 %. Bootstrap-t was tested as well: it is equal for
// Hodges-Lehmann, and covers the median with 80 to 97 %.
//
// For very few values (5 or less with a level of 0.95) no resampling results in a valid
// interval. The result is then the range of x, which covers the median with probability
// 1-2/2^len(x), which is below the level.
//
// Every resample is used twice, the second time mirrored (the smallest value instead of the
// largest and so on). Thus the interval of the negated values is exactly the negated
// interval: a comparison does not depend on which of the two is the baseline. It does not
// depend on the order of x either.
//
// stat receives its values in ascending order, must not retain or change them, and must
// return a value within their range. The interval always contains stat(x). Both ends are
// NaN if x is empty or contains a NaN, or if level is not between 0 and 1.
func Bootstrap(x []float64, stat func([]float64) float64, level float64, n int, rng *rand.Rand) (low, high float64) {
	s := ascending(x)
	values := make([]float64, len(s))
	return interval(s, level, n, rng, stat(s), func(counts []int) float64 {
		k := 0
		for i, c := range counts {
			for range c {
				values[k] = s[i]
				k++
			}
		}
		return stat(values)
	})
}

// HodgesLehmannInterval returns exactly the result of [Bootstrap] for [HodgesLehmann],
// about twenty times as fast.
func HodgesLehmannInterval(x []float64, level float64, n int, rng *rand.Rand) (low, high float64) {
	s := ascending(x)
	w := newWalsh(s)
	return interval(s, level, n, rng, HodgesLehmann(s), w.median)
}

// interval computes the bootstrap of values in ascending order. resampled returns the
// estimate of the resample that contains the value i counts[i] times.
func interval(s []float64, level float64, n int, rng *rand.Rand, estimate float64, resampled func(counts []int) float64) (low, high float64) {
	if len(s) == 0 || math.IsNaN(s[0]) || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	if 1-math.Ldexp(2, -len(s)) < level || s[0] == s[len(s)-1] {
		return s[0], s[len(s)-1]
	}
	n = max(2, n+n%2)
	estimates := make([]float64, 0, n)
	counts, mirrored := make([]int, len(s)), make([]int, len(s))
	for len(estimates) < n {
		clear(counts)
		for range s {
			counts[rng.IntN(len(s))]++
		}
		for i, c := range counts {
			mirrored[len(s)-1-i] = c
		}
		estimates = append(estimates, resampled(counts), resampled(mirrored))
	}
	low, high = expanded(estimates, level, len(s))
	return min(low, estimate), max(high, estimate)
}

// expanded returns the ends of the expanded percentile interval from the estimates of
// resamples of so many values. It sorts the estimates.
func expanded(estimates []float64, level float64, values int) (low, high float64) {
	slices.Sort(estimates)
	n := len(estimates)
	// The k-th from either end, rounded outwards.
	k := max(1, int(float64(n+1)*expandedTail(level, values)))
	return estimates[k-1], estimates[n-k]
}

// expandedTail returns the fraction of the resamples beyond each end of an expanded
// percentile interval from n values.
func expandedTail(level float64, n int) float64 {
	t := studentQuantile(level, n-1) * math.Sqrt(float64(n)/float64(n-1))
	return math.Erfc(t/math.Sqrt2) / 2
}

// studentQuantile returns the t with P(|T| <= t) = level for Student's T with df
// degrees of freedom.
func studentQuantile(level float64, df int) float64 {
	low, high := 0.0, 1.0
	for studentWithin(high, df) < level {
		high *= 2
	}
	for range 60 { // each step halves the error, down to the last bit
		mid := (low + high) / 2
		if studentWithin(mid, df) < level {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// studentWithin returns P(|T| <= t) for Student's T with df degrees of freedom:
// Abramowitz and Stegun, 26.7.3 and 26.7.4.
func studentWithin(t float64, df int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(df)))
	sin, cos := math.Sincos(theta)
	odd := df%2 == 1
	term, sum := 1.0, 0.0
	if odd {
		term = cos
	}
	for k := df % 2; k < df; k += 2 {
		sum += term
		// The coefficients are 1, 2/3, 2/3*4/5, ... or 1, 1/2, 1/2*3/4, ...
		term *= cos * cos * float64(k+1) / float64(k+2)
	}
	if odd {
		return 2 / math.Pi * (theta + sin*sum)
	}
	return sin * sum
}

// walsh contains the Walsh averages of a sample in ascending order. A resample has the same
// averages with other multiplicities, so its median is found in one pass, without sorting.
type walsh struct {
	size     int // of the sample
	averages []average
	a, b     []int // scratch, see median
}

type average struct {
	value float64
	i, j  int // indexes into a and b, see median
}

func newWalsh(s []float64) *walsh {
	n := len(s)
	w := &walsh{size: n, averages: make([]average, 0, n*(n+1)/2), a: make([]int, n), b: make([]int, 2*n)}
	for i := range s {
		w.averages = append(w.averages, average{s[i], i, n + i})
		for j := i + 1; j < n; j++ {
			w.averages = append(w.averages, average{(s[i] + s[j]) / 2, i, j})
		}
	}
	slices.SortFunc(w.averages, func(p, q average) int {
		switch {
		case p.value < q.value:
			return -1
		case p.value > q.value:
			return 1
		default:
			return 0
		}
	})
	return w
}

// median returns the Hodges-Lehmann estimate of the resample that contains the value i
// counts[i] times.
func (w *walsh) median(counts []int) float64 {
	// The average of the values i and j occurs c[i]*c[j] times, that of i with itself
	// c[i]*(c[i]+1)/2 times. Doubled, both are a product a[i]*b[k], which avoids a branch
	// in the loop: b has 2*c[j] at j and c[i]+1 at n+i.
	for i, c := range counts {
		w.a[i] = c
		w.b[i] = 2 * c
		w.b[w.size+i] = c + 1
	}
	total := w.size * (w.size + 1) // doubled, like everything below
	lower, upper := (total/2-1)/2*2, total/4*2
	seen, k := 0, 0
	for ; ; k++ {
		v := &w.averages[k]
		if seen += w.a[v.i] * w.b[v.j]; seen > lower {
			break
		}
	}
	first := w.averages[k].value
	if lower == upper {
		return first
	}
	for seen <= upper {
		k++
		v := &w.averages[k]
		seen += w.a[v.i] * w.b[v.j]
	}
	return (first + w.averages[k].value) / 2
}
