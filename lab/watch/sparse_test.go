package watch

import (
	"testing"
	"time"
)

// A summary says of how many samples it was made, and how many were due.
func TestSamplesDue(t *testing.T) {
	var last Event
	often := &scripted{read: func(_ int, r *Reading) error { r.Set("often", 1); return nil }}
	seldom := &scripted{every: time.Second, read: func(_ int, r *Reading) error { r.Count("seldom", 0, 1); return nil }}
	w, err := New(Options{Every: 200 * time.Millisecond, Samplers: []Sampler{often, seldom}}, func(e Event) error { last = e; return nil })
	if err != nil {
		t.Fatal(err)
	}
	step := func(at time.Duration) {
		if err := w.Step(t.Context(), start.Add(at)); err != nil || last.Sample == nil {
			t.Fatal(err)
		}
	}
	step(0)
	w.ended = start.Add(8 * time.Second)
	s := w.Summary(EndTime)
	if s.Samples != 1 || s.Due != 41 || s.Seconds != 8 || !s.Sparse() {
		t.Errorf("%+v", s)
	}
	if f := s.Figures["often"]; f.Samples != 1 || f.Due != 41 || !f.Sparse() {
		t.Errorf("%+v", f)
	}
	for i := 1; i <= 40; i++ {
		step(time.Duration(i) * 200 * time.Millisecond)
	}
	s = w.Summary(EndTime)
	if f := s.Figures["often"]; s.Samples != 41 || s.Sparse() || f.Samples != 41 || f.Sparse() {
		t.Errorf("%+v", s)
	}
	if f := s.Figures["seldom"]; f.Samples != 8 || f.Due != 9 || f.Sparse() {
		t.Errorf("%+v", f)
	}
}
