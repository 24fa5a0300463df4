package lead

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/transport"
)

// TestSpared has many functions block: after a few takeovers those that follow do not hold the
// loop.
func TestSpared(t *testing.T) {
	const n = 50
	r := newStrained(t, time.Millisecond, time.Hour)
	release := make(chan struct{})
	var others atomic.Int64
	for range n {
		r.put(func(*Hand) { <-release })
		r.put(func(*Hand) { others.Add(1) })
	}
	r.until("the others have run", func() bool { return others.Load() == n })
	stats := &r.role.Stats
	if taken, spared := stats.Takeovers.Load(), stats.Spared.Load(); taken != often || spared < n-often {
		t.Errorf("%d takeovers, spared %d times, want %d and at least %d", taken, spared, often, n-often)
	}
	close(release)
	r.until("all are back", func() bool { return r.back.Load() >= n })
	r.stop()
}

// TestForgiven has a few functions that return soon after they were taken over: that is no strain,
// so as many others as usual are borne after them.
func TestForgiven(t *testing.T) {
	r := newStrained(t, time.Millisecond, time.Hour)
	late := 0 // a busy machine may let it return late
	for i := range int64(pardons) {
		began := time.Now()
		r.put(func(h *Hand) {
			for h.Leading() {
				time.Sleep(100 * time.Microsecond)
			}
		})
		r.until("it has returned", func() bool { return r.back.Load() == i+1 })
		if time.Since(began) > time.Duration(soon) {
			late++
		}
	}
	release := make(chan struct{})
	r.until("the loop is spared", func() bool {
		r.put(func(*Hand) { <-release })
		return r.role.Stats.Spared.Load() > 0
	})
	if taken := r.role.Stats.Takeovers.Load(); late == 0 && taken != pardons+often {
		t.Errorf("%d takeovers before the loop is spared, want %d", taken, pardons+often)
	}
	close(release)
	r.stop()
}

// TestPardons counts takeovers that are soon over if they do not stop.
func TestPardons(t *testing.T) {
	var s strain
	s.init(recovery)
	now := int64(time.Hour)
	slow := func() (strained bool) {
		s.add(now)
		s.forgive(now, false)
		return s.until.Load() > now
	}
	n := 0
	for !slow() {
		n++
	}
	if want := pardons + often - 1; n != want {
		t.Errorf("%d are no strain, want %d", n, want)
	}
	now += max(often*recovery, pardons*pardon)
	for range pardons {
		if slow() {
			t.Error("a few are a strain again after a pause")
		}
	}
	for range 100 {
		s.add(now)
		s.forgive(now, true)
	}
	if s.until.Load() > now {
		t.Error("rare ones are a strain")
	}
}

// TestRecovered wants functions to hold the loop again when some time has passed without a
// takeover, or when one more is borne.
func TestRecovered(t *testing.T) {
	r := newStrained(t, time.Millisecond, 20*time.Millisecond)
	release := make(chan struct{})
	for range 3 {
		before := r.role.Stats.Spared.Load()
		r.until("the loop is spared", func() bool {
			r.put(func(*Hand) { <-release })
			return r.role.Stats.Spared.Load() > before
		})
		var leads atomic.Bool
		r.until("a function holds the loop", func() bool {
			r.put(func(h *Hand) { leads.Store(leads.Load() || h.Leading()) })
			return leads.Load()
		})
	}
	close(release)
	r.stop()
}

// TestWatch wants the watch of a call to be told when the role is taken over from it, and no other.
func TestWatch(t *testing.T) {
	r := newRig(t, 20*time.Millisecond) // a busy machine has not taken over before
	var told, wrong atomic.Int64
	good := &transport.Watch{Overran: func(*transport.Watch) { told.Add(1) }}
	bad := &transport.Watch{Overran: func(*transport.Watch) { wrong.Add(1) }}
	lose := func(h *Hand) {
		for h.Leading() {
			time.Sleep(100 * time.Microsecond)
		}
	}
	var done atomic.Int64
	for _, f := range []func(h *Hand){
		func(h *Hand) { // it has returned
			if h.Watch(bad) != nil {
				t.Error("something was named before")
			}
		},
		lose,
		func(h *Hand) { // it was replaced
			h.Watch(bad)
			if before := h.Watch(good); before != bad && h.Leading() {
				t.Errorf("%p was named before, want %p", before, bad)
			}
			lose(h)
			if h.Watch(nil) != nil {
				t.Error("it was not told")
			}
		},
		func(h *Hand) { // it was withdrawn
			h.Watch(bad)
			h.Watch(nil)
			lose(h)
		},
		func(h *Hand) { // the hand gave the role up by itself
			h.Watch(bad)
			h.Detach()
			lose(h)
		},
	} {
		n := done.Load()
		r.put(func(h *Hand) { f(h); done.Add(1) })
		r.until("it has returned", func() bool { return done.Load() == n+1 })
	}
	r.stop()
	if told.Load() != 1 || wrong.Load() != 0 {
		t.Errorf("told %d times, and %d times wrongly, want once", told.Load(), wrong.Load())
	}
}
