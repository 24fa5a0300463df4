package run

import "testing"

func TestDrift(t *testing.T) {
	var cold, warm, jump []float64
	for i := range 50 {
		cold = append(cold, 174+float64(i)*(1030-174)/49)
		warm = append(warm, 1000+float64(i%7))
		jump = append(jump, 1000)
	}
	jump[20] = 0 // a stall is no trend
	if d := drift(cold); d < 1 {
		t.Errorf("cold: %v", d)
	}
	for _, rates := range [][]float64{warm, jump, nil, cold[:5]} {
		if d := drift(rates); d != 0 {
			t.Errorf("%v: %v", rates, d)
		}
	}
}
