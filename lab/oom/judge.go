package oom

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/report"
)

// Thresholds say when something has given way.
type Thresholds struct {
	Latency float64 // p99 as a multiple of that of the first step
	GC      float64 // share of the CPU time
	Errors  float64 // share of the requests
}

const (
	gcSpan    = 1.0 // least seconds over which the share of the collector is taken
	leastCPU  = 0.2 // cores: the share of an idle program means nothing
	reactTime = 0.2 // seconds: errors this soon before the end was noticed are its consequence
)

// Judge finds what gave way, in the order of time, and whether the run is valid. It also fills the
// shares of the collector.
func (r *Run) Judge(t Thresholds) {
	r.shareGC()
	r.fold()
	// A second sign of one kind says nothing more.
	r.Signs = slices.DeleteFunc(r.Signs, func(s Sign) bool { return slices.Contains([]string{SignLatency, SignGC, SignErrors}, s.Kind) })
	for _, find := range []func(Thresholds) (Sign, bool){r.latency, r.collector, r.errors} {
		if s, ok := find(t); ok {
			r.Signs = append(r.Signs, s)
		}
	}
	if len(r.Steps) > 0 && r.Steps[0].P99 == nil {
		r.Missing = append(r.Missing, "when latency gave way: the first step had too few answers for a p99; use a longer --step")
	}
	slices.SortStableFunc(r.Signs, func(a, b Sign) int { return cmp.Compare(a.T, b.T) })
	r.validate()
}

// validate says whether the outcome is known. That the kernel killed is known however the load was.
func (r *Run) validate() {
	r.Why = nil
	if len(r.Kills) == 0 && r.Outcome == Held {
		for i, s := range r.Steps {
			if !s.Valid {
				r.Why = append(r.Why, fmt.Sprintf("step %d: %s", i+1, s.Why))
			}
		}
	}
	r.Valid = len(r.Why) == 0
}

// latency finds when the p99 was a multiple of that of the first step.
func (r *Run) latency(t Thresholds) (Sign, bool) {
	if len(r.Steps) == 0 || r.Steps[0].P99 == nil || *r.Steps[0].P99 == 0 {
		return Sign{}, false
	}
	most := t.Latency * *r.Steps[0].P99
	for i, s := range r.Steps {
		if i == 0 || s.P99 == nil || *s.P99 <= most {
			continue
		}
		at := s.Ended
		for _, p := range s.Points {
			if p.P99 > most {
				at = p.T
				break
			}
		}
		return Sign{SignLatency, i, at, fmt.Sprintf("p99 %s, %.1f times that of the first step", report.Micros(*s.P99, " "), *s.P99 / *r.Steps[0].P99)}, true
	}
	return Sign{}, false
}

// collector finds when garbage collection took most of the CPU time.
func (r *Run) collector(t Thresholds) (Sign, bool) {
	for _, s := range r.Samples {
		if s.GC != nil && *s.GC > t.GC {
			return Sign{SignGC, r.stepAt(s.T), s.T, fmt.Sprintf("garbage collection took %s of the CPU time of the program", report.Share(*s.GC))}, true
		}
	}
	return Sign{}, false
}

// errors finds when requests failed, before the end of the server made all of them fail.
func (r *Run) errors(t Thresholds) (Sign, bool) {
	for i, s := range r.Steps {
		for _, p := range s.Points {
			if p.Errors > t.Errors && (r.Outcome == Held || p.T < r.End-reactTime) {
				return Sign{SignErrors, i, p.T, fmt.Sprintf("%s of the requests failed", report.Share(p.Errors))}, true
			}
		}
		if s.Errors != nil && *s.Errors > t.Errors && !s.Cut && len(s.Points) == 0 {
			return Sign{SignErrors, i, s.Ended, fmt.Sprintf("%s of the requests failed", report.Share(*s.Errors))}, true
		}
	}
	return Sign{}, false
}

// shareGC computes the share of the collector at each sample. The runtime counts CPU time when a
// collection ends, so the span is from one such time to another.
func (r *Run) shareGC() {
	from := 0
	for i := range r.Samples {
		s := &r.Samples[i]
		for from+1 < i && s.T-r.Samples[from+1].T >= gcSpan {
			from++
		}
		f := &r.Samples[from]
		if s.GCSeconds == nil || s.GoSeconds == nil || f.GCSeconds == nil || f.GoSeconds == nil || s.T-f.T < gcSpan {
			continue
		}
		if all := *s.GoSeconds - *f.GoSeconds; all > leastCPU*(s.T-f.T) {
			share := min(max((*s.GCSeconds-*f.GCSeconds)/all, 0), 1)
			s.GC = &share
		}
	}
}

// fold takes the highest values of each step, and the last ones of the run, from the samples.
func (r *Run) fold() {
	r.Last = State{}
	for _, s := range r.Samples {
		for _, f := range s.fields(&r.Last) {
			if f.from != nil {
				*f.to = f.from
			}
		}
		i := r.stepAt(s.T)
		if i < 0 {
			continue
		}
		for _, f := range s.fields(&r.Steps[i].Most) {
			if f.from != nil && (*f.to == nil || **f.to < *f.from) {
				*f.to = f.from
			}
		}
	}
}

type field struct {
	from *float64
	to   **float64
}

func (s *Sample) fields(to *State) []field {
	return []field{{s.Group, &to.Group}, {s.RSS, &to.RSS}, {s.HeapLive, &to.HeapLive}, {s.HeapGoal, &to.HeapGoal}, {s.GC, &to.GC}}
}

// stepAt returns the step of a time: the last one that began before; -1 without steps.
func (r *Run) stepAt(at float64) int {
	for i := len(r.Steps) - 1; i >= 0; i-- {
		if r.Steps[i].Began <= at {
			return i
		}
	}
	return min(0, len(r.Steps)-1)
}
