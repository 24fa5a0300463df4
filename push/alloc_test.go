package push

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// discard is a client that accepts everything.
type discard struct{ frames int }

func (d *discard) write(*frame) bool { d.frames++; return true }
func (d *discard) pending() int      { return 0 }
func (d *discard) end()              {}

// crowd adds subscribers of a topic, on a loop of the test.
func crowd(t *testing.T, h *Hub, loop *fakeLoop, name string, n int) []*looped {
	t.Helper()
	all := make([]*looped, n)
	for i := range all {
		l := &looped{on: new(redline.Subscription)}
		l.sink = l
		j := &joining{filters: []string{name}}
		if err := h.admit(&l.subscriber, j); err != nil {
			t.Fatal(err)
		}
		h.join(&l.subscriber, loop, j)
		l.turn(new(discard)) // the start of the stream
		all[i] = l
	}
	return all
}

// TestBroadcastAllocates: what a publish allocates does not depend on how many subscribers
// there are, and each gets one frame.
func TestBroadcastAllocates(t *testing.T) {
	allocs := func(n int) float64 {
		h, err := New(Options{Heartbeat: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		loop, out := new(fakeLoop), new(discard)
		bySub := map[*redline.Subscription]*looped{}
		for _, l := range crowd(t, h, loop, "t", n) {
			bySub[l.on] = l
		}
		e := Event{Topic: "t", Data: []byte("data")}
		publish := func() {
			if _, err := h.Publish(context.Background(), e); err != nil {
				t.Fatal(err)
			}
			for _, next := range loop.walks {
				for s := next(); s != nil; s = next() {
					bySub[s].turn(out)
				}
			}
			loop.walks = loop.walks[:0]
		}
		for range 300 {
			publish() // the history is full from here on
		}
		out.frames = 0
		got := testing.AllocsPerRun(100, publish)
		if out.frames != 101*n {
			t.Fatalf("%d frames for %d subscribers and 101 events", out.frames, n)
		}
		return got
	}
	few, many := allocs(1), allocs(5000)
	if many > few+1 {
		t.Errorf("%v allocations with 5000 subscribers, %v with one", many, few)
	}
}

// TestCompany: events that wait for each other leave in one frame for each subscriber, and
// those of alternating topics in one turn.
func TestCompany(t *testing.T) {
	h, err := New(Options{Heartbeat: -1, MaxDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	loop := new(fakeLoop)
	one := crowd(t, h, loop, "a", 100)
	all := crowd(t, h, loop, "**", 10)
	published := func(topics ...string) (frames, visits int) {
		t.Helper()
		for _, topic := range topics {
			if _, err := h.Publish(context.Background(), Event{Topic: topic, Data: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		if len(loop.walks) != 0 || len(loop.later) != 1 {
			t.Fatalf("%d walks and %d timers", len(loop.walks), len(loop.later))
		}
		loop.later[0]()
		var out discard
		for _, next := range loop.walks {
			for s := next(); s != nil; s = next() {
				visits++
				for _, l := range append(one, all...) {
					if l.on == s {
						l.turn(&out)
					}
				}
			}
		}
		loop.later, loop.walks = nil, nil
		return out.frames, visits
	}
	if frames, visits := published("a", "a", "a", "a"); frames != 110 || visits != 110 {
		t.Errorf("%d frames in %d turns, want 110", frames, visits)
	}
	if frames, visits := published("a", "b", "a", "b"); frames != 2*100+4*10 || visits != 110 {
		t.Errorf("%d frames in %d turns, want 240 in 110", frames, visits)
	}
	if frames, visits := published("b"); frames != 10 || visits != 10 {
		t.Errorf("%d frames in %d turns, want 10", frames, visits)
	}
}

// TestCompanyWhileWalking: what is published while a walk runs waits for its own time, however
// long the walk takes.
func TestCompanyWhileWalking(t *testing.T) {
	h, err := New(Options{Heartbeat: -1, MaxDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	loop := new(fakeLoop)
	all := crowd(t, h, loop, "a", 10)
	publish := func() {
		t.Helper()
		if _, err := h.Publish(context.Background(), Event{Topic: "a", Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	var out discard
	// walk takes the turns of the one walk, and calls f before each.
	walk := func(f func()) {
		t.Helper()
		due := loop.later
		loop.later = nil
		due[0]()
		if len(loop.walks) != 1 {
			t.Fatalf("%d walks, want 1", len(loop.walks))
		}
		visits := 0
		for s := loop.walks[0](); s != nil; s = loop.walks[0]() {
			if visits++; visits > 2*len(all) {
				t.Fatal("the walk takes in what is published while it runs")
			}
			f()
			for _, l := range all {
				if l.on == s {
					l.turn(&out)
				}
			}
		}
		loop.walks = nil
	}
	publish()
	walk(publish)
	if out.frames != 10 {
		t.Errorf("%d frames, want 10 with the first event", out.frames)
	}
	if len(loop.later) != 1 {
		t.Fatalf("%d timers for the events that came meanwhile, want 1", len(loop.later))
	}
	walk(func() {})
	if out.frames != 20 {
		t.Errorf("%d frames, want 20: ten events in one for each subscriber", out.frames)
	}
}

// TestSubscriberMemory bounds what the hub itself keeps of a subscriber.
func TestSubscriberMemory(t *testing.T) {
	const n = 20_000
	h, err := New(Options{Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := crowd(t, h, new(fakeLoop), "t", n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	// 144 for the subscriber, about 25 for the slices that list it, and 48 for what stands
	// for the engine's part here.
	if got := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; got > 256 {
		t.Errorf("%d bytes", got)
	}
	runtime.KeepAlive(all)
}
