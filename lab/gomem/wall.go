package gomem

import (
	"context"
	"time"

	"github.com/google/pprof/profile"
)

// Labels of the samples of [Profile] and [Wall].
const (
	LabelState = "state" // Goroutine.State
	LabelWait  = "wait"  // Goroutine.Reason
)

// Profile returns a snapshot as a profile in the format of pprof: one sample type,
// goroutine/count, by stack, state and what the goroutine waits for. If only some goroutines were
// looked at, the counts are estimates. p is the process that the snapshot was taken of.
func (p *Process) Profile(s Snapshot) (*profile.Profile, error) {
	syms, err := p.symbolize()
	if err != nil {
		return nil, err
	}
	c := syms.collect("goroutine", "count")
	c.out.PeriodType, c.out.Period = &profile.ValueType{Type: "goroutine", Unit: "count"}, 1
	c.out.TimeNanos = s.At.UnixNano()
	sums := map[*profile.Sample]float64{}
	addSnapshot(c, sums, &s, 1)
	for sample, n := range sums {
		sample.Value[0] = max(int64(n+0.5), 1)
	}
	return c.profile()
}

// addSnapshot adds a weight for each goroutine.
func addSnapshot(c *collector, sums map[*profile.Sample]float64, s *Snapshot, weight float64) {
	if s.Walked > 0 {
		weight *= float64(s.All) / float64(s.Walked)
	}
	type group struct {
		stack       *Stack
		state, wait string
	}
	groups := map[group]int{}
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		st := g.Stack
		if st == nil {
			st = c.syms.began(g)
		}
		groups[group{st, g.State, g.Reason}]++
	}
	for g, n := range groups {
		sums[c.sample(g.stack, LabelState, g.state, LabelWait, g.wait)] += float64(n) * weight
	}
}

// began returns a stack of the function that a goroutine began with.
func (s *symbols) began(g *Goroutine) *Stack {
	st, ok := s.roots[g.Entry]
	if !ok {
		st = &Stack{Frames: []Frame{{Func: g.Entry, Symbol: g.Entry}}, Cut: true}
		if !s.full() {
			s.roots[g.Entry] = st
		}
	}
	return st
}

// busyShare is the share of its time that [Wall] reads at most.
const busyShare = 10 // one in

// Wall takes snapshots of all goroutines of the program, one in every interval for as long as
// window, and returns where they have spent their time: a profile in the format of pprof with
// sample types goroutine/count, which is how many goroutines were there on average, and
// wall/nanoseconds, which is the time of all of them together. Labels are [LabelState] and
// [LabelWait]. A goroutine that runs has no stack, and is shown as the function that it began
// with; its CPU time is for another profile.
//
// The interval is extended if a snapshot takes more than a tenth of it. The comments of the
// profile say how many there were.
//
// If the process ends or the context is done, the profile is of the time until then, and the
// error is [ErrGone] or the context's; the profile is nil if there was none.
func Wall(ctx context.Context, p *Process, every, window time.Duration) (*profile.Profile, error) {
	syms, err := p.symbolize()
	if err != nil {
		return nil, err
	}
	every = max(every, time.Millisecond)
	c := syms.collect("goroutine", "count", "wall", "nanoseconds")
	c.out.PeriodType, c.out.Period = &profile.ValueType{Type: "wall", Unit: "nanoseconds"}, int64(every)
	c.out.DefaultSampleType = "wall"
	w := wall{collector: c, sums: map[*profile.Sample]float64{}}
	began := time.Now()
	c.out.TimeNanos = began.UnixNano()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var stopped error
	for stopped == nil && time.Since(began) < window {
		select {
		case <-ctx.Done():
			stopped = ctx.Err()
			continue
		case <-timer.C:
		}
		var s Snapshot
		if s, stopped = p.Goroutines(SnapshotOptions{}); stopped == nil {
			w.take(s)
			next := max(every, s.Took*busyShare) - s.Took
			timer.Reset(max(min(next, window-time.Since(began)), 0))
		}
	}
	if w.snapshots == 0 {
		return nil, stopped
	}
	w.flush(time.Now())
	out, err := w.finish()
	if err == nil {
		err = stopped
	}
	return out, err
}

// A wall adds up snapshots. Each counts for the time until the next one.
type wall struct {
	*collector
	sums      map[*profile.Sample]float64 // nanoseconds
	last      Snapshot
	snapshots int
	moved     int
	seen      int
	reused    int
	total     time.Duration
	busy      time.Duration
	sampled   bool
}

func (w *wall) take(s Snapshot) {
	w.flush(s.At)
	w.last = s
	w.snapshots++
	w.moved += s.Moved
	w.reused += s.Reused
	w.seen += len(s.Goroutines)
	w.busy += s.Took
	w.sampled = w.sampled || s.Walked < s.All
}

// flush counts the last snapshot until a time.
func (w *wall) flush(until time.Time) {
	if w.snapshots == 0 {
		return
	}
	d := until.Sub(w.last.At)
	w.total += d
	addSnapshot(w.collector, w.sums, &w.last, float64(d))
}

func (w *wall) finish() (*profile.Profile, error) {
	w.out.DurationNanos = int64(w.total)
	for s, n := range w.sums {
		s.Value[1] = int64(n + 0.5)
		if w.total > 0 {
			s.Value[0] = int64(n/float64(w.total) + 0.5)
		}
	}
	w.note("%d snapshots, %d goroutines on average; reading took %s", w.snapshots, w.seen/w.snapshots, w.busy.Round(time.Microsecond))
	w.note("%d of %d stacks were those of the snapshot before; %d goroutines ran while they were read", w.reused, w.seen, w.moved)
	if w.sampled {
		w.note("not all goroutines were looked at: the values are estimates")
	}
	return w.profile()
}
