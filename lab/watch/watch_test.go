package watch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

// scripted is a sampler whose readings are functions of the step.
type scripted struct {
	step  int
	every time.Duration
	read  func(step int, r *Reading) error
}

func (s *scripted) Name() string         { return "script" }
func (s *scripted) Every() time.Duration { return s.every }
func (s *scripted) Close() error         { return nil }
func (s *scripted) Sample(_ context.Context, r *Reading) error {
	s.step++
	return s.read(s.step-1, r)
}

// free is what a scripted reading costs.
func free(f func()) time.Duration {
	f()
	return 0
}

// start is the time of the first step of tests.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// steps plays a script at five samples a second, and returns the events.
func steps(t *testing.T, n int, marks []Mark, list ...*scripted) ([]Event, *Watcher) {
	t.Helper()
	var events []Event
	o := Options{Every: 200 * time.Millisecond, Marks: marks, Cost: free}
	for _, s := range list {
		o.Samplers = append(o.Samplers, s)
	}
	w, err := New(o, func(e Event) error { events = append(events, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Step(t.Context(), start.Add(time.Duration(i)*o.Every)); err != nil {
			t.Fatal(err)
		}
	}
	return events, w
}

func samples(events []Event) (list []*Sample) {
	for _, e := range events {
		if e.Sample != nil {
			list = append(list, e.Sample)
		}
	}
	return list
}

func TestCounters(t *testing.T) {
	// By step, the parts of a counter, and the rate and the total that are expected.
	nan := math.NaN()
	for _, c := range []struct {
		name         string
		parts        []map[uint64]float64
		rates, total []float64
	}{
		{"one part", []map[uint64]float64{{0: 100}, {0: 110}, {0: 110}}, []float64{nan, 50, 0}, []float64{0, 10, 10}},
		{"a part that begins", []map[uint64]float64{{1: 5}, {1: 5, 2: 4}}, []float64{nan, 20}, []float64{0, 4}},
		{"a part that ends", []map[uint64]float64{{1: 5, 2: 100}, {1: 7}}, []float64{nan, 10}, []float64{0, 2}},
		{"an id that is used again", []map[uint64]float64{{1: 100}, {1: 3}}, []float64{nan, 15}, []float64{0, 3}},
		{"without a part at first", []map[uint64]float64{{}, {1: 3}}, []float64{nan, 15}, []float64{0, 3}},
		{"not read once", []map[uint64]float64{{0: 10}, nil, {0: 14}}, []float64{nan, nan, 10}, []float64{0, nan, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, _ := steps(t, len(c.parts), nil, &scripted{read: func(step int, r *Reading) error {
				if c.parts[step] != nil {
					r.Counter("x")
				}
				for part, v := range c.parts[step] {
					r.Count("x", part, v)
				}
				return nil
			}})
			for i, s := range samples(events) {
				rate, known := s.Values["x"]
				if known == math.IsNaN(c.rates[i]) || known && math.Abs(rate-c.rates[i]) > 1e-9 {
					t.Errorf("step %d: rate %v %v, want %v", i, rate, known, c.rates[i])
				}
				total, known := s.Totals["x"]
				if known == math.IsNaN(c.total[i]) || known && total != c.total[i] {
					t.Errorf("step %d: total %v %v, want %v", i, total, known, c.total[i])
				}
			}
		})
	}
}

// What is missing is reported once for a source and reason, and is never 0.
func TestMissing(t *testing.T) {
	events, w := steps(t, 5, nil, &scripted{read: func(step int, r *Reading) error {
		r.Miss("/proc/7/smaps_rollup", "permission denied", "pss_bytes")
		names := []string{"a", "b", "c"}
		r.Miss("netlink", "permission denied", append(names[step%3:3:3], names[:step%3]...)...) // as from a map
		if step == 3 {
			return errors.New("broken")
		}
		return nil
	}})
	var missed []Missing
	for _, e := range events {
		if e.Missing != nil {
			missed = append(missed, *e.Missing)
		}
	}
	if got := fmt.Sprint(missed); got != "[{[pss_bytes] /proc/7/smaps_rollup permission denied} {[a b c] netlink permission denied} {[] script broken}]" {
		t.Error(got)
	}
	for _, s := range samples(events) {
		if len(s.Values) > 0 {
			t.Errorf("values %v", s.Values)
		}
	}
	if s := w.Summary(EndTime); len(s.Missing) != 3 || s.Missing[2].Figures == nil || s.Samples != 5 || s.End != EndTime {
		t.Errorf("summary %+v", s)
	}
}

// The samples until the end of the process are kept.
func TestGone(t *testing.T) {
	n := 0
	w, err := New(Options{Every: LeastEvery, Cost: free, Samplers: []Sampler{&scripted{read: func(step int, r *Reading) error {
		if r.Set("a", float64(step)); step == 3 {
			return fmt.Errorf("process 7: %w", ErrGone)
		}
		return nil
	}}}}, func(Event) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Run(t.Context())
	if err != nil || s.End != EndGone || s.Samples != 3 || n != 3 || s.Figures["a"] != (Range{Min: 0, Median: 1, Max: 2, Last: 2, Samples: 3, Due: s.Figures["a"].Due}) {
		t.Errorf("%+v, %v, %d events", s, err, n)
	}
}

func TestRunEnds(t *testing.T) {
	still := &scripted{read: func(int, *Reading) error { return nil }}
	w, err := New(Options{Every: LeastEvery, For: 3 * LeastEvery, Samplers: []Sampler{still}, Cost: free}, func(Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if s, err := w.Run(t.Context()); err != nil || s.End != EndTime || s.Samples == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := w.Run(ctx); err != nil || s.End != EndInterrupted {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := New(Options{Every: time.Millisecond, Cost: free}, nil); err == nil {
		t.Error("a millisecond between samples is accepted")
	}
	if _, err := New(Options{Every: LeastEvery}, nil); err == nil {
		t.Error("a watch that does not know what its samplers cost is accepted")
	}
}

// A sampler with an interval is called that often, and the others are not delayed.
func TestEvery(t *testing.T) {
	slow := &scripted{every: time.Second, read: func(_ int, r *Reading) error { r.Set("slow", 1); return nil }}
	quick := &scripted{read: func(_ int, r *Reading) error { r.Set("quick", 1); return nil }}
	steps(t, 11, nil, slow, quick)
	if slow.step != 3 || quick.step != 11 {
		t.Errorf("%d and %d calls, want 3 and 11", slow.step, quick.step)
	}
}

// The values that are kept are bounded; smallest and largest are exact.
func TestKept(t *testing.T) {
	var k kept
	const n = 5*mostValues + 1
	for i := range n {
		k.add(float64(i))
	}
	if len(k.values) > mostValues || k.Min != 0 || k.Max != n-1 || k.Samples != n {
		t.Errorf("%d values, %+v", len(k.values), k.Range)
	}
	middle := k.values[len(k.values)/2]
	if math.Abs(middle/n-0.5) > 0.2 {
		t.Errorf("the value in the middle is %v of %d", middle, n)
	}
}

// Names are unique, and every figure of a mark exists.
func TestFigures(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Figures() {
		if known[f.Name] || f.Source == "" || f.Meaning == "" || f.Unit == "" {
			t.Errorf("%+v", f)
		}
		known[f.Name] = true
	}
	for _, m := range Marks() {
		for _, f := range m.Needs {
			if !known[f] {
				t.Errorf("%s needs %s", m.Name, f)
			}
		}
	}
}

// A counter that is new counts from where it was 0, if that is known.
func TestZero(t *testing.T) {
	l, last := ledger{}, &Sample{}
	for i, known := range []bool{false, true, true} {
		r := NewReading(time.Unix(int64(10+2*i), 0))
		r.Count("old", 0, float64(5*i+5))
		r.Zero("old", r.At.Add(-2*time.Second))
		if i == 0 {
			r = NewReading(r.At)
			r.Count("old", 0, 5)
		}
		if known {
			r.Zero("new", r.At.Add(-2*time.Second))
			r.Count("new", 0, float64(6*i))
		}
		last = &Sample{Values: map[string]float64{}, Totals: map[string]float64{}}
		l.add(r, last)
	}
	if last.Totals["old"] != 10 || last.Totals["new"] != 12 || last.Values["new"] != 3 || last.Values["old"] != 2.5 {
		t.Errorf("%+v", last)
	}
}

func TestFamily(t *testing.T) {
	for name, want := range map[string]string{"syscalls{read}": "syscalls read", "peer_wait{[::1]:80}": "peer_wait [::1]:80"} {
		family, member, ok := Family(name)
		if !ok || family+" "+member != want || Member(family+"{x}", member) != name {
			t.Errorf("%s: %s %s %v", name, family, member, ok)
		}
	}
	for _, name := range []string{"rss_bytes", "a{b", "a}", ""} {
		if _, _, ok := Family(name); ok {
			t.Errorf("%q is a family", name)
		}
	}
	values := map[string]int{"syscalls{write}": 2, "syscalls{read}": 1, "syscalls_all": 3, "syscall{x}": 4}
	list := In(Figure{Name: "syscalls{call}"}, values)
	if len(list) != 2 || list[0] != (Named[int]{"syscalls{read}", "read", 1}) || list[1].Member != "write" {
		t.Errorf("%+v", list)
	}
	if list := In(Figure{Name: "syscalls_all"}, values); len(list) != 1 || list[0].Value != 3 || len(In(Figure{Name: "none"}, values)) != 0 {
		t.Errorf("%+v", list)
	}
}
