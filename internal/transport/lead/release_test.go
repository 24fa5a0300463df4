package lead

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"
)

// useInput wants nobody else to use the hand's input.
func useInput(t *testing.T, h *Hand, b byte) {
	p := h.Input()
	for i := range p {
		p[i] = b
	}
	if bytes.Count(p, []byte{b}) != len(p) || len(p) < minInput {
		t.Errorf("input of %d bytes is changed by another goroutine", len(p))
	}
}

// TestRelease wants input to go from leader to leader when it is released, before
// the hand loses the loop or after it, and not otherwise.
func TestRelease(t *testing.T) {
	const n = 50
	take := func(h *Hand, give func()) {
		for ; h.Leading(); time.Sleep(100 * time.Microsecond) {
			give()
		}
	}
	const never, soon = time.Hour, time.Millisecond // to be taken over; soon may be before anything else
	for name, c := range map[string]struct {
		takeover time.Duration
		run      func(h *Hand)
		most     int
	}{
		"detached":          {never, func(h *Hand) { h.Release(); h.Detach() }, 1},
		"detached before":   {never, func(h *Hand) { h.Detach(); h.Release() }, 2},
		"taken over":        {soon, func(h *Hand) { h.Release(); take(h, func() {}) }, 2},
		"taken over before": {soon, func(h *Hand) { take(h, func() {}); h.Release() }, 2},
		"while taken over":  {soon, func(h *Hand) { take(h, h.Release) }, 2},
	} {
		r := newRig(t, c.takeover)
		release := make(chan struct{})
		inputs := map[*byte]bool{}
		var done atomic.Int64
		for i := range n {
			r.put(func(h *Hand) {
				inputs[&h.Input()[0]] = true
				useInput(t, h, byte(i))
				c.run(h)
				done.Add(1)
				<-release
			})
			r.until("it is released", func() bool { return done.Load() == int64(i+1) })
		}
		r.put(func(*Hand) {})
		r.until("the last has lost the loop", func() bool { return r.ran.Load() == 1 })
		if len(inputs) > c.most {
			t.Errorf("%s: %d hands that have released their input had %d, want %d at most", name, n, len(inputs), c.most)
		}
		close(release)
		r.until("all are back", func() bool { return r.back.Load() >= n })
		r.stop()
	}
}
