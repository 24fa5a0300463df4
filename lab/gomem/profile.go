package gomem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// maxSamples bounds the different samples of a profile. What is beyond is added to one sample.
const maxSamples = 1 << 15

// A collector makes a profile in the format of pprof of stacks.
type collector struct {
	out       *profile.Profile
	syms      *symbols
	samples   map[sampleKey]*profile.Sample
	locations map[locationKey]*profile.Location
	functions map[functionKey]*profile.Function
	rest      *Stack // of samples beyond the bound
}

type sampleKey struct {
	stack  *Stack
	labels string
}

type locationKey struct {
	pc    uint64
	depth int // frames
}

type functionKey struct {
	name, file string
	start      int
}

// collect begins a profile with types of samples: name, unit, name, unit...
func (s *symbols) collect(types ...string) *collector {
	from, to := s.table.Text()
	m := &profile.Mapping{
		ID: 1, Start: from + s.bias, Limit: to + s.bias, File: s.path,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	c := &collector{
		out: &profile.Profile{Mapping: []*profile.Mapping{m}}, syms: s,
		samples: map[sampleKey]*profile.Sample{}, locations: map[locationKey]*profile.Location{}, functions: map[functionKey]*profile.Function{},
		rest: &Stack{Frames: []Frame{{Symbol: "[more stacks]"}}, Cut: true},
	}
	for i := 0; i+1 < len(types); i += 2 {
		c.out.SampleType = append(c.out.SampleType, &profile.ValueType{Type: types[i], Unit: types[i+1]})
	}
	return c
}

// sample returns the sample of a stack with some labels: name, value, name, value... Its values
// are added to by the caller.
func (c *collector) sample(st *Stack, labels ...string) *profile.Sample {
	key := sampleKey{st, strings.Join(labels, "\x00")}
	if s, ok := c.samples[key]; ok {
		return s
	}
	if len(c.samples) >= maxSamples && st != c.rest {
		return c.sample(c.rest)
	}
	s := c.add(st.Frames)
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			if s.Label == nil {
				s.Label = map[string][]string{}
			}
			s.Label[labels[i]] = []string{labels[i+1]}
		}
	}
	c.samples[key] = s
	return s
}

// add appends a sample.
func (c *collector) add(frames []Frame) *profile.Sample {
	s := &profile.Sample{Value: make([]int64, len(c.out.SampleType)), Location: c.path(frames)}
	c.out.Sample = append(c.out.Sample, s)
	return s
}

// path returns the locations of a stack: functions that were inlined share that of the function
// which has their code.
func (c *collector) path(frames []Frame) []*profile.Location {
	var list []*profile.Location
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		list = append(list, c.location(frames[:n]))
		frames = frames[n:]
	}
	return list
}

func (c *collector) location(frames []Frame) *profile.Location {
	key := locationKey{frames[0].PC, len(frames)}
	l, ok := c.locations[key]
	if ok && frames[0].PC != 0 {
		return l
	}
	l = &profile.Location{ID: uint64(len(c.out.Location) + 1)}
	if frames[0].PC != 0 {
		l.Mapping, l.Address = c.out.Mapping[0], frames[0].PC+c.syms.bias
		c.locations[key] = l
	}
	for _, f := range frames {
		l.Line = append(l.Line, profile.Line{Function: c.function(f), Line: int64(f.Line)})
	}
	c.out.Location = append(c.out.Location, l)
	return l
}

func (c *collector) function(f Frame) *profile.Function {
	key := functionKey{f.Symbol, f.File, f.Start}
	fn, ok := c.functions[key]
	if !ok {
		fn = &profile.Function{ID: uint64(len(c.out.Function) + 1), Name: f.Symbol, SystemName: f.Symbol, Filename: f.File, StartLine: int64(f.Start)}
		c.functions[key] = fn
		c.out.Function = append(c.out.Function, fn)
	}
	return fn
}

// note adds a comment to the profile.
func (c *collector) note(format string, args ...any) {
	c.out.Comments = append(c.out.Comments, fmt.Sprintf(format, args...))
}

// profile returns the profile without samples that are nothing.
func (c *collector) profile() (*profile.Profile, error) {
	some := c.out.Sample[:0]
	for _, s := range c.out.Sample {
		for _, v := range s.Value {
			if v != 0 {
				some = append(some, s)
				break
			}
		}
	}
	c.out.Sample = some
	if err := c.out.CheckValid(); err != nil {
		return nil, fmt.Errorf("make a profile: %w", err)
	}
	return c.out, nil
}

// Labels of the samples of [Profile] and [Wall].
const (
	LabelState = "state" // Goroutine.State
	LabelWait  = "wait"  // Goroutine.Reason, or WaitTimer
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
	var last group
	row := 0 // goroutines one after the other that do the same, as most do
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		is := group{g.Stack, g.State, g.wait()}
		if is.stack == nil {
			is.stack = c.syms.began(g)
		}
		if is != last {
			groups[last] += row
			last, row = is, 0
		}
		row++
	}
	groups[last] += row
	delete(groups, group{}) // before the first one
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

const (
	busyShare = 10 // the share of its time that [Wall] reads at most is one in
	lately    = 5  // snapshots of which the quickest tells what one costs: others had to wait for a CPU
)

// Wall takes snapshots of all goroutines of the program, one in every interval for as long as
// window, and returns where they have spent their time: a profile in the format of pprof with
// sample types goroutine/count, which is how many goroutines were there on average, and
// wall/nanoseconds, which is the time of all of them together. Labels are [LabelState] and
// [LabelWait]. A goroutine that runs has no stack, and is shown as the function that it began
// with; its CPU time is for another profile.
//
// The interval is extended if a snapshot costs more than a tenth of it. The comments of the
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
		now := time.Now()
		var s Snapshot
		if s, stopped = p.Goroutines(SnapshotOptions{}); stopped == nil {
			w.take(s, now)
			next := max(every, w.cost()*busyShare) - time.Since(now)
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
	took      [lately]time.Duration
	sampled   bool
}

// take adds a snapshot that was begun at a time.
func (w *wall) take(s Snapshot, began time.Time) {
	w.flush(s.At)
	w.last = s
	w.snapshots++
	w.moved += s.Moved
	w.reused += s.Reused
	w.seen += len(s.Goroutines)
	w.sampled = w.sampled || s.Walked < s.All
	w.took[w.snapshots%lately] = time.Since(began)
	w.busy += w.took[w.snapshots%lately]
}

// cost estimates how long a snapshot takes.
func (w *wall) cost() time.Duration {
	if w.snapshots < lately {
		return slices.Min(w.took[1 : w.snapshots+1])
	}
	return slices.Min(w.took[:])
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
