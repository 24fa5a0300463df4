package tally

import "testing"

func TestFlight(t *testing.T) {
	var f Flight
	f.Add(4, 100)
	f.Add(-4, 150)
	if mean, most := f.Take(200); mean != 1 || most != 4 { // 4 over 50 of 200
		t.Errorf("mean %v, most %d", mean, most)
	}
	f.Add(2, 250)
	f.Begin(300, 1000)
	f.Add(1, 400)
	f.Add(-2, 390) // late: it counts from 400
	f.Add(0, 500)
	if mean, most := f.Take(500); mean != 1.5 || most != 3 {
		t.Errorf("mean %v, most %d", mean, most)
	}
	if mean, most := f.Take(700); mean != 1 || most != 1 {
		t.Errorf("mean %v, most %d", mean, most)
	}
	if mean, most := f.Window(); mean != 1.25 || most != 3 {
		t.Errorf("window: mean %v, most %d", mean, most)
	}
	f.Add(-9, 800) // more than there are: none are left
	f.Add(1, 900)
	if mean, most := f.Take(1000); most != 1 || mean < 0.66 || mean > 0.67 {
		t.Errorf("mean %v, most %d", mean, most)
	}
	if mean, most := f.Take(1000); mean != 0 || most != 1 {
		t.Errorf("nothing: mean %v, most %d", mean, most)
	}
}
