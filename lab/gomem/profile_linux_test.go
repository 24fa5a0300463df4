package gomem

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/gomem/functab"
)

// averages sums a value by the first function of package main and what its goroutines wait for.
func averages(p *profile.Profile, value int) map[string]int64 {
	m := map[string]int64{}
	for _, s := range p.Sample {
		var st Stack
		for _, l := range s.Location {
			for _, line := range l.Line {
				st.Frames = append(st.Frames, Frame{Func: functab.Printed(line.Function.Name)})
			}
		}
		if name := innermost(&Goroutine{Stack: &st}); name != "" && name != "main.main" {
			why := s.Label[LabelState][0]
			if why == "waiting" {
				why = s.Label[LabelWait][0]
			}
			m[name+" "+why] += s.Value[value]
		}
	}
	return m
}

// Goroutines that wait all the time have spent the whole window there.
func TestWall(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("start")
	p := x.open()
	settle(t, p, SnapshotOptions{}, func(s Snapshot) bool { return len(census(s)) == len(blocked) && s.Moved == 0 })
	out, err := Wall(t.Context(), p, 5*time.Millisecond, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	counts, times := averages(out, 0), averages(out, 1)
	for name, n := range blocked {
		if counts[name] != int64(n) {
			t.Errorf("%d goroutines in %s on average, want %d", counts[name], name, n)
		}
		want := int64(n) * out.DurationNanos
		if d := times[name] - want; max(d, -d) > int64(n) {
			t.Errorf("%s: %d ns, want %d", name, times[name], want)
		}
	}
	if out.SampleType[0].Type != "goroutine" || out.SampleType[1].Unit != "nanoseconds" || len(out.Comments) < 2 {
		t.Errorf("the profile is %v, %q", out.SampleType, out.Comments)
	}
}

// One snapshot as a profile has the same counts.
func TestSnapshotProfile(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("start")
	p := x.open()
	s := settle(t, p, SnapshotOptions{}, func(s Snapshot) bool { return len(census(s)) == len(blocked) && s.Moved == 0 })
	out, err := p.Profile(s)
	if err != nil {
		t.Fatal(err)
	}
	counts := averages(out, 0)
	for name, n := range census(s) {
		if counts[name] != int64(n) {
			t.Errorf("%d goroutines in %s, the snapshot has %d", counts[name], name, n)
		}
	}
}

// What was taken until the process ends or the caller stops is kept.
func TestWallEnds(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("start")
	p := x.open()
	if _, err := p.Goroutines(SnapshotOptions{}); err != nil {
		t.Fatal(err)
	}
	const long = 10 * time.Second // on a slow machine a short time has no snapshot
	var out *profile.Profile
	var err error
	for wait := 100 * time.Millisecond; out == nil && wait < long; wait *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		out, err = Wall(ctx, p, time.Millisecond, time.Hour)
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) || out == nil || len(out.Sample) == 0 {
		t.Errorf("stopped: %v, %v", err, out)
	}
	out = nil
	for wait := 100 * time.Millisecond; out == nil && wait < long; wait *= 4 {
		x = start(t, build(t, "blocked", nil, nil))
		x.own("start")
		p = x.open()
		if _, err := p.Goroutines(SnapshotOptions{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		time.AfterFunc(wait, func() {
			defer close(ended)
			x.end()
		})
		out, err = Wall(t.Context(), p, time.Millisecond, time.Hour)
		<-ended
	}
	if !errors.Is(err, ErrGone) || out == nil || len(out.Sample) == 0 || out.DurationNanos >= int64(time.Hour) {
		t.Errorf("the process has ended: %v, %v", err, out)
	}
	if out, err := Wall(t.Context(), p, time.Millisecond, time.Hour); !errors.Is(err, ErrGone) || out != nil {
		t.Errorf("after the end: %v, %v", err, out)
	}
	if _, err := p.Sites(HeapSites); !errors.Is(err, ErrGone) {
		t.Errorf("sites after the end: %v", err)
	}
}
