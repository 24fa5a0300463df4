package watch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/stats"
)

// A Mark is a threshold on what a watch sees.
type Mark struct {
	Name    string
	Meaning string
	Unit    string   // of the limit, for people
	Limit   float64  // crossed beyond it
	Below   bool     // beyond is below
	Lasting bool     // crossed only in the third evaluation in a row: one jump in the middle of the span is no slope
	Needs   []string // figures; without one of them the mark is not evaluated
	value   func(h *history) (v float64, known bool)
}

// span is the time that marks look back.
const span = 10 * time.Second

// Marks returns all marks with their default limits. The caller owns the list.
func Marks() []Mark {
	return []Mark{
		{
			Name: "rss-slope", Limit: 15, Unit: "MB/s", Lasting: true, Needs: []string{"rss_bytes"},
			Meaning: "resident memory grows: the Theil-Sen slope of 10 s",
			value:   func(h *history) (float64, bool) { v, ok := h.slope("rss_bytes"); return v / 1e6, ok },
		},
		{
			Name: "descriptors-slope", Limit: 5, Unit: "1/s", Lasting: true, Needs: []string{"descriptors"},
			Meaning: "more descriptors are opened than closed: the Theil-Sen slope of 10 s",
			value:   func(h *history) (float64, bool) { return h.slope("descriptors") },
		},
		{
			Name: "throttled", Limit: 0.01, Unit: "share", Needs: []string{"cgroup_periods", "cgroup_throttled_periods"},
			Meaning: "the control group used up its CPU quota: share of the periods of 10 s",
			value: func(h *history) (float64, bool) {
				return h.ratio("cgroup_throttled_periods", "cgroup_periods", 1)
			},
		},
		{
			Name: "accept-drops", Limit: 0, Unit: "connections", Needs: []string{"accept_drops"},
			Meaning: "listeners of the process dropped connections within 10 s: the accept queue overflowed",
			value:   func(h *history) (float64, bool) { v, _, ok := h.grown("accept_drops"); return v, ok },
		},
		{
			Name: "retransmits", Limit: 0.001, Unit: "share", Needs: []string{"tcp_retransmits", "tcp_segments_sent"},
			Meaning: "segments sent again, as a share of the segments that the process sent in 10 s; from 1,000 segments on",
			value: func(h *history) (float64, bool) {
				return h.ratio("tcp_retransmits", "tcp_segments_sent", 1000)
			},
		},
		{
			Name: "goroutines-slope", Limit: 5, Unit: "1/s", Lasting: true, Needs: []string{"goroutines", "requests"},
			Meaning: "goroutines grow (Theil-Sen slope of 10 s) while the rate of requests does not",
			value:   leaking,
		},
		{
			Name: "gc-interval", Limit: 2, Below: true, Unit: "s", Needs: []string{"gc_cycles"},
			Meaning: "seconds from one garbage collection to the next, in the last 10 s",
			value: func(h *history) (float64, bool) {
				n, seconds, ok := h.grown("gc_cycles")
				return seconds / max(n, 1), ok && seconds >= span.Seconds()/2
			},
		},
		{
			Name: "gc-cpu", Limit: 0.25, Unit: "share", Needs: []string{"gc_cpu", "go_cpu"},
			Meaning: "garbage collection's share of the CPU time of the runtime, in the last 10 s",
			value:   func(h *history) (float64, bool) { return h.ratio("gc_cpu", "go_cpu", 0.1) },
		},
	}
}

// leaking is the slope of the goroutines, 0 while the requests grow too: by more than a
// twentieth of their rate in the span.
func leaking(h *history) (float64, bool) {
	slope, ok := h.slope("goroutines")
	rates, ok2 := h.slope("requests")
	if !ok || !ok2 {
		return 0, false
	}
	list := h.series["requests"].y
	if rates*span.Seconds() > 0.05*list[len(list)-1] {
		return 0, true
	}
	return slope, true
}

// SetMarks changes limits: each text is NAME=VALUE, or NAME=off to remove the mark.
func SetMarks(marks []Mark, texts []string) ([]Mark, error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(marks, func(m Mark) bool { return m.Name == name })
		if !ok || i < 0 {
			var names []string
			for _, m := range Marks() {
				names = append(names, m.Name)
			}
			return nil, fmt.Errorf("%q: write NAME=VALUE or NAME=off, with one of the names %s", text, strings.Join(names, ", "))
		}
		if value == "off" {
			marks = slices.Delete(marks, i, i+1)
			continue
		}
		limit, err := strconv.ParseFloat(value, 64)
		if err != nil || limit != limit || limit < 0 {
			return nil, fmt.Errorf("%q: write a number of 0 or more, such as %s=%v", text, name, marks[i].Limit)
		}
		marks[i].Limit = limit
	}
	return marks, nil
}

// Crossed says that a mark was crossed.
type Crossed struct {
	T     float64 `json:"t"` // seconds since the watch began
	Mark  string  `json:"mark"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	below bool
}

// beyond reports whether a value crosses the limit.
func (m *Mark) beyond(v float64) bool {
	if m.Below {
		return v < m.Limit
	}
	return v > m.Limit
}

// history is what the marks look at: the figures that they need, over the last seconds.
type history struct {
	marks  []Mark
	needed map[string]bool // figure: was it ever read
	series map[string]*series
	next   float64        // the marks are not evaluated before
	row    map[string]int // evaluations in a row that crossed a mark
}

// series has the values of a figure, or the totals of a counter.
type series struct {
	x, y   []float64
	totals []float64
}

const (
	evaluateEvery = 1.0 // seconds
	lasting       = 3
	spacing       = 0.2 // the least time between two points, in seconds
)

func newHistory(marks []Mark) history {
	h := history{marks: marks, needed: map[string]bool{}, series: map[string]*series{}, row: map[string]int{}}
	for _, m := range marks {
		for _, f := range m.Needs {
			h.needed[f] = false
		}
	}
	return h
}

// add adds a sample and evaluates the marks once a second.
func (h *history) add(s *Sample) (crossed []Crossed) {
	for f := range h.needed {
		v, valued := s.Values[f]
		total, counted := s.Totals[f]
		if !valued && !counted {
			continue
		}
		h.needed[f] = true
		if h.series[f] == nil {
			h.series[f] = &series{}
		}
		h.series[f].add(s.T, v, total)
	}
	if s.T < h.next {
		return nil
	}
	h.next = s.T + evaluateEvery
	for i := range h.marks {
		m := &h.marks[i]
		v, known := m.value(h)
		if !known || !m.beyond(v) {
			h.row[m.Name] = 0
			continue
		}
		if h.row[m.Name]++; !m.Lasting || h.row[m.Name] >= lasting {
			crossed = append(crossed, Crossed{T: s.T, Mark: m.Name, Value: v, Limit: m.Limit, Unit: m.Unit, below: m.Below})
		}
	}
	return crossed
}

func (s *series) add(t, v, total float64) {
	// The tolerance allows a tick that is early.
	if n := len(s.x); n > 0 && t-s.x[n-1] < spacing*0.75 {
		return
	}
	s.x, s.y, s.totals = append(s.x, t), append(s.y, v), append(s.totals, total)
	first := 0
	for first < len(s.x)-2 && s.x[first+1] <= t-span.Seconds() {
		first++
	}
	s.x, s.y, s.totals = slices.Delete(s.x, 0, first), slices.Delete(s.y, 0, first), slices.Delete(s.totals, 0, first)
}

// slope is the Theil-Sen slope of a figure, known from half of the span on.
func (h *history) slope(figure string) (float64, bool) {
	s := h.series[figure]
	if s == nil || s.x[len(s.x)-1]-s.x[0] < span.Seconds()/2 {
		return 0, false
	}
	return stats.TheilSen(s.x, s.y), true
}

// grown is what a counter counted in the span, and the seconds of that.
func (h *history) grown(figure string) (n, seconds float64, known bool) {
	s := h.series[figure]
	if s == nil || len(s.x) < 2 {
		return 0, 0, false
	}
	last := len(s.x) - 1
	return s.totals[last] - s.totals[0], s.x[last] - s.x[0], true
}

// ratio divides what two counters counted in the span. It is unknown below least.
func (h *history) ratio(part, all string, least float64) (float64, bool) {
	a, _, ok := h.grown(part)
	b, _, ok2 := h.grown(all)
	if !ok || !ok2 || b < least {
		return 0, false
	}
	return a / b, true
}

// idle lists the marks that were never evaluated because a figure is missing.
func (h *history) idle() map[string][]string {
	idle := map[string][]string{}
	for _, m := range h.marks {
		for _, f := range m.Needs {
			if !h.needed[f] {
				idle[m.Name] = append(idle[m.Name], f)
			}
		}
	}
	return idle
}
