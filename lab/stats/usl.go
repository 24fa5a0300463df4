package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// A USL is a fit of the universal scalability law,
//
//	X(N) = λN / (1 + σ(N-1) + κN(N-1))
//
// to the throughput X of a system at concurrency N (N. J. Gunther, Guerrilla Capacity Planning,
// 2007, chapter 4). λ is the throughput of one user alone. σ is contention: the share of the
// work that only one user at a time can do. κ is coherence: the cost of agreement between each
// two users, which makes throughput fall beyond a peak.
type USL struct {
	Lambda float64 `json:"lambda"` // per second
	Sigma  float64 `json:"sigma"`
	Kappa  float64 `json:"kappa"`

	SigmaInterval [2]float64 `json:"sigma_interval"` // 95 %, bootstrap of the residuals
	KappaInterval [2]float64 `json:"kappa_interval"`
	R2            float64    `json:"r2"` // share of the variance of X that the fit explains
}

// uslPoints is the least number of different concurrencies: there are three parameters.
const uslPoints = 4

// ErrPoints is the error of a fit to too few points.
var ErrPoints = errors.New("the scalability law needs 4 different concurrencies or more")

// FitUSL fits the law to throughputs x at the concurrencies n, by least squares of the relative
// errors with σ and κ of 0 or more. Equal seeds give equal intervals.
func FitUSL(n, x []float64, seed uint64) (USL, error) {
	different := slices.Clone(n)
	slices.Sort(different)
	if len(n) != len(x) || len(slices.Compact(different)) < uslPoints {
		return USL{}, ErrPoints
	}
	for i := range n {
		if !positive(n[i]) || !positive(x[i]) {
			return USL{}, errors.New("concurrency and throughput must be positive")
		}
	}
	u := fitUSL(n, x)
	u.R2 = u.explained(n, x)
	u.intervals(n, x, rand.New(rand.NewPCG(seed, 1)))
	return u, nil
}

// At returns the throughput at a concurrency.
func (u USL) At(n float64) float64 {
	return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// Peak returns the concurrency of the highest throughput. It is +Inf if κ is 0.
func (u USL) Peak() float64 {
	if u.Kappa == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(max(1-u.Sigma, 0) / u.Kappa)
}

// Ceiling returns the highest throughput: at the peak, or the limit for high concurrency. It is
// +Inf if the law knows none.
func (u USL) Ceiling() float64 {
	switch peak := u.Peak(); {
	case !math.IsInf(peak, 1):
		return u.At(max(peak, 1))
	case u.Sigma > 0:
		return u.Lambda / u.Sigma
	}
	return math.Inf(1)
}

// fitUSL solves N/X = a + b(N-1) + cN(N-1), in which a = 1/λ, b = σ/λ and c = κ/λ: linear, with
// weights that make the errors relative. Of the solutions with and without b and c, it takes the
// best one in which neither is negative.
func fitUSL(n, x []float64) USL {
	best, least := USL{}, math.Inf(1)
	for _, use := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		p, ok := solveUSL(n, x, use)
		if !ok || p[0] <= 0 || p[1] < 0 || p[2] < 0 {
			continue
		}
		u := USL{Lambda: 1 / p[0], Sigma: p[1] / p[0], Kappa: p[2] / p[0]}
		sum := 0.0
		for i := range n {
			e := 1 - x[i]/u.At(n[i])
			sum += e * e
		}
		if sum < least*(1-1e-9) {
			best, least = u, sum
		}
	}
	return best
}

// solveUSL solves the normal equations of the weighted fit with some of the three terms.
func solveUSL(n, x []float64, use []int) (p [3]float64, ok bool) {
	var m [3][4]float64 // matrix and right side, for the terms in use
	for i := range n {
		w := x[i] / n[i]
		row := [3]float64{w, w * (n[i] - 1), w * n[i] * (n[i] - 1)}
		for a, ta := range use {
			for b, tb := range use {
				m[a][b] += row[ta] * row[tb]
			}
			m[a][3] += row[ta] // the target, N/X, times w is 1
		}
	}
	k := len(use)
	for c := range k { // Gauss-Jordan with pivoting
		pivot := c
		for r := c + 1; r < k; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		if m[c], m[pivot] = m[pivot], m[c]; m[c][c] == 0 {
			return p, false
		}
		for r := range k {
			if r == c {
				continue
			}
			f := m[r][c] / m[c][c]
			for j := c; j < 4; j++ {
				m[r][j] -= f * m[c][j]
			}
		}
	}
	for a, t := range use {
		p[t] = m[a][3] / m[a][a]
	}
	return p, !math.IsNaN(p[0] + p[1] + p[2])
}

func (u USL) explained(n, x []float64) float64 {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	left, all := 0.0, 0.0
	for i := range n {
		left += (x[i] - u.At(n[i])) * (x[i] - u.At(n[i]))
		all += (x[i] - mean) * (x[i] - mean)
	}
	if all == 0 {
		return 0
	}
	return max(0, 1-left/all)
}

const uslResamples = 400

// intervals sets the intervals of σ and κ from fits to the law with the residuals drawn anew.
func (u *USL) intervals(n, x []float64, rng *rand.Rand) {
	residuals := make([]float64, len(n))
	for i := range n {
		residuals[i] = x[i] / u.At(n[i])
	}
	var sigmas, kappas []float64
	drawn := make([]float64, len(n))
	for range uslResamples {
		for i := range n {
			drawn[i] = u.At(n[i]) * residuals[rng.IntN(len(residuals))]
		}
		fit := fitUSL(n, drawn)
		sigmas, kappas = append(sigmas, fit.Sigma), append(kappas, fit.Kappa)
	}
	slices.Sort(sigmas)
	slices.Sort(kappas)
	low, high := uslResamples*25/1000, uslResamples*975/1000-1
	u.SigmaInterval = [2]float64{min(sigmas[low], u.Sigma), max(sigmas[high], u.Sigma)}
	u.KappaInterval = [2]float64{min(kappas[low], u.Kappa), max(kappas[high], u.Kappa)}
}
