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
	w, err := New(Options{Every: 200 * time.Millisecond, Samplers: []Sampler{often, seldom}, Cost: free}, func(e Event) error { last = e; return nil })
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

// A sampler rests for the CPU time that it used, and not for the time that it took.
func TestRest(t *testing.T) {
	for used, want := range map[time.Duration]int{0: 6, costly: 6, 2 * costly: 2} { // 10 ms: a rest of half a second
		slow := &scripted{read: func(_ int, r *Reading) error {
			time.Sleep(2 * costly)
			r.Set("a", 1)
			return nil
		}}
		cost := func(f func()) time.Duration {
			f()
			return used
		}
		w, err := New(Options{Every: 200 * time.Millisecond, Samplers: []Sampler{slow}, Cost: cost}, func(Event) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			if err := w.Step(t.Context(), start.Add(time.Duration(i)*w.options.Every)); err != nil {
				t.Fatal(err)
			}
		}
		if slow.step != want {
			t.Errorf("%v of CPU: %d readings in 6 samples, want %d", used, slow.step, want)
		}
	}
}
