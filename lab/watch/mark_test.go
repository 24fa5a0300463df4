package watch

import (
	"math"
	"slices"
	"testing"
)

// Each mark is crossed by figures beyond its limit, and not by those within it.
func TestMarks(t *testing.T) {
	const n = 60 // 12 s
	seconds := func(step int) float64 { return float64(step) / 5 }
	for _, c := range []struct {
		mark string
		want bool
		read func(s float64, r *Reading)
	}{
		{"rss-slope", true, func(s float64, r *Reading) { r.Set("rss_bytes", 1e9+16e6*s) }},
		{"rss-slope", false, func(s float64, r *Reading) { r.Set("rss_bytes", 1e9+14e6*s) }},
		{"rss-slope", false, func(s float64, r *Reading) { // one jump is no slope
			r.Set("rss_bytes", 1e9)
			if s > 6 {
				r.Set("rss_bytes", 3e9)
			}
		}},
		{"descriptors-slope", true, func(s float64, r *Reading) { r.Set("descriptors", math.Floor(10*s)) }},
		{"descriptors-slope", false, func(s float64, r *Reading) { r.Set("descriptors", 1000+math.Mod(10*s, 3)) }},
		{"throttled", true, func(s float64, r *Reading) {
			r.Count("cgroup_periods", 0, 10*s)
			r.Count("cgroup_throttled_periods", 0, s)
		}},
		{"throttled", false, func(s float64, r *Reading) {
			r.Count("cgroup_periods", 0, 10*s)
			r.Count("cgroup_throttled_periods", 0, 7)
		}},
		{"accept-drops", true, func(s float64, r *Reading) { r.Count("accept_drops", 5, math.Floor(s/11)) }},
		{"accept-drops", false, func(_ float64, r *Reading) { r.Count("accept_drops", 5, 1000) }},
		{"retransmits", true, func(s float64, r *Reading) {
			r.Count("tcp_segments_sent", 0, 1000*s)
			r.Count("tcp_retransmits", 0, 2*s)
		}},
		{"retransmits", false, func(s float64, r *Reading) {
			r.Count("tcp_segments_sent", 0, 10000*s)
			r.Count("tcp_retransmits", 0, 2*s)
		}},
		{"retransmits", false, func(s float64, r *Reading) { // too few segments
			r.Count("tcp_segments_sent", 0, 90*s)
			r.Count("tcp_retransmits", 0, s)
		}},
		{"goroutines-slope", true, func(s float64, r *Reading) {
			r.Set("goroutines", 10*s)
			r.Count("requests", 0, 1000*s)
		}},
		{"goroutines-slope", false, func(s float64, r *Reading) { // the rate grows too
			r.Set("goroutines", 10*s)
			r.Count("requests", 0, 1000*s*s)
		}},
		{"gc-interval", true, func(s float64, r *Reading) { r.Count("gc_cycles", 0, math.Floor(s)) }},
		{"gc-interval", false, func(s float64, r *Reading) { r.Count("gc_cycles", 0, math.Floor(s/3)) }},
		{"gc-cpu", true, func(s float64, r *Reading) { r.Count("go_cpu", 0, s); r.Count("gc_cpu", 0, 0.3*s) }},
		{"gc-cpu", false, func(s float64, r *Reading) { r.Count("go_cpu", 0, s); r.Count("gc_cpu", 0, 0.2*s) }},
	} {
		events, w := steps(t, n, Marks(), &scripted{read: func(step int, r *Reading) error { c.read(seconds(step), r); return nil }})
		var crossed []string
		for _, e := range events {
			if e.Crossed != nil {
				crossed = append(crossed, e.Crossed.Mark)
			}
		}
		if c.want != slices.Equal(crossed, []string{c.mark}) || !c.want && len(crossed) > 0 {
			t.Errorf("%s, want %v: %v", c.mark, c.want, crossed)
		}
		for _, m := range w.Summary(EndTime).Marks {
			if (m.Times > 0) != (c.want && m.Mark == c.mark) || (len(m.Missing) == 0) != (m.Mark == c.mark) {
				t.Errorf("%s: summary %+v", c.mark, m)
			}
		}
	}
}

// A slope is that of the last ten seconds, whatever was before.
func TestSpan(t *testing.T) {
	h := newHistory(Marks())
	for i := range 500 {
		s := &Sample{T: float64(i) / 5, Values: map[string]float64{"rss_bytes": float64(max(i, 400))}, Totals: map[string]float64{}}
		h.add(s)
	}
	s := h.series["rss_bytes"]
	if first, last := s.x[0], s.x[len(s.x)-1]; last-first < 9.5 || last-first > 10.5 || len(s.x) != len(s.y) || len(s.x) != len(s.totals) {
		t.Errorf("%v to %v, %d values", first, last, len(s.x))
	}
	if v, known := h.slope("rss_bytes"); !known || math.Abs(v-5) > 1e-9 {
		t.Errorf("slope %v %v, want 5", v, known)
	}
}

func TestSetMarks(t *testing.T) {
	marks, err := SetMarks(Marks(), []string{"rss-slope=2.5", "gc-cpu=off"})
	if err != nil || marks[0].Limit != 2.5 || len(marks) != len(Marks())-1 {
		t.Errorf("%+v, %v", marks, err)
	}
	for _, bad := range []string{"", "rss-slope", "rss=1", "rss-slope=", "rss-slope=x", "rss-slope=-1", "rss-slope=NaN"} {
		if _, err := SetMarks(Marks(), []string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
