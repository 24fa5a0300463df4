package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

var uslLoads = []float64{1, 2, 4, 8, 16, 32, 64, 128}

// Throughputs that follow the law give its parameters back.
func TestFitUSL(t *testing.T) {
	for _, want := range []USL{
		{Lambda: 1000},
		{Lambda: 1000, Sigma: 0.05},
		{Lambda: 1000, Sigma: 1},
		{Lambda: 250, Sigma: 0.02, Kappa: 0.0005},
		{Lambda: 40, Kappa: 0.01},
	} {
		var x []float64
		for _, n := range uslLoads {
			x = append(x, want.At(n))
		}
		got, err := FitUSL(uslLoads, x, 1)
		if err != nil || math.Abs(got.Lambda/want.Lambda-1) > 1e-6 || math.Abs(got.Sigma-want.Sigma) > 1e-6 || math.Abs(got.Kappa-want.Kappa) > 1e-8 {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if want.Sigma != 1 && got.R2 < 0.9999 {
			t.Errorf("%+v explains only %v", want, got.R2)
		}
	}
}

// With noise the true values are mostly within their intervals.
func TestUSLIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	truth := USL{Lambda: 1000, Sigma: 0.06, Kappa: 0.0004}
	within := 0
	const tries = 100
	for i := range tries {
		var x []float64
		for _, n := range uslLoads {
			x = append(x, truth.At(n)*math.Exp(0.03*rng.NormFloat64()))
		}
		u, err := FitUSL(uslLoads, x, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		if u.SigmaInterval[0] <= truth.Sigma && truth.Sigma <= u.SigmaInterval[1] && u.KappaInterval[0] <= truth.Kappa && truth.Kappa <= u.KappaInterval[1] {
			within++
		}
	}
	if within < tries*6/10 { // eight points and three parameters: the residuals are too small
		t.Errorf("both within their intervals in %d of %d", within, tries)
	}
}

func TestUSLPeak(t *testing.T) {
	u := USL{Lambda: 100, Sigma: 0.1, Kappa: 0.001}
	if peak := u.Peak(); math.Abs(peak-30) > 1e-9 || u.At(peak) < u.At(peak-1) || u.At(peak) < u.At(peak+1) || u.Ceiling() != u.At(peak) {
		t.Errorf("peak %v, ceiling %v", peak, u.Ceiling())
	}
	if c := (USL{Lambda: 100, Sigma: 0.1}).Ceiling(); math.Abs(c-1000) > 1e-9 {
		t.Errorf("ceiling %v", c)
	}
	if c := (USL{Lambda: 100}).Ceiling(); !math.IsInf(c, 1) {
		t.Errorf("ceiling %v", c)
	}
	if c := (USL{Lambda: 100, Sigma: 1.5, Kappa: 0.1}).Ceiling(); c != 100 {
		t.Errorf("ceiling %v", c)
	}
}

func TestUSLRefused(t *testing.T) {
	if _, err := FitUSL([]float64{1, 2, 2, 1, 4}, []float64{1, 2, 2, 1, 3}, 1); !errors.Is(err, ErrPoints) {
		t.Error(err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := FitUSL([]float64{1, 2, 4, 8}, []float64{1, 2, bad, 3}, 1); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
