package push

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/redline-go/redline"
)

// refusing is a connection that takes one frame, and has not sent it.
type refusing struct {
	number int
	has    *frame
}

func (r *refusing) write(f *frame) bool {
	if r.has == nil {
		r.has = f
		return true
	}
	return false
}

func (r *refusing) pending() int {
	if r.has == nil {
		return 0
	}
	return len(r.has.bytes())
}

func (*refusing) end() {}

// A holder is a subscriber with such a connection.
type holder struct {
	looped
	refusing
}

// newHolders adds subscribers of everything, in all formats, on a loop.
func newHolders(t *testing.T, h *Hub, n int) (*fakeLoop, map[*redline.Subscription]*holder) {
	t.Helper()
	loop, all := new(fakeLoop), map[*redline.Subscription]*holder{}
	for i := range n {
		l := &holder{refusing: refusing{number: i}}
		l.on = new(redline.Subscription)
		l.sink = &l.looped
		j := &joining{filters: []string{"**"}, encoding: []uint8{0, 2, 3}[i%3]}
		if err := h.admit(&l.subscriber, j); err != nil {
			t.Fatal(err)
		}
		h.join(&l.subscriber, loop, j)
		l.turn(new(discard))
		all[l.on] = l
	}
	return loop, all
}

// TestMaxBytesIsHeld: what counts for MaxBytes is no less than the memory that the hub holds,
// whatever holds it: the history, in several encodings; queues, and frames that connections have
// refused, or were given and have not sent; batches.
func TestMaxBytesIsHeld(t *testing.T) {
	for _, c := range []struct {
		name         string
		size, events int
		delay        bool // events come together, as batches
		topics       int
	}{
		{name: "small", size: 100, events: 5000, topics: 1},
		{name: "large", size: 1 << 20, events: 40, topics: 1},
		{name: "batches", size: 400, events: 5000, delay: true, topics: 1},
		{name: "deep topics", size: 10, events: 3000, topics: 3000},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := New(Options{
				Heartbeat: -1, Lifetime: -1, MaxBytes: 1 << 40, QueueEvents: 8, QueueBytes: 1 << 30,
				History: History{Events: 8, Bytes: 8 << 20},
			})
			if err != nil {
				t.Fatal(err)
			}
			loop, subs := newHolders(t, h, 30)
			before := heapBytes()
			base := h.bytes.Load()
			data := make([]byte, c.size)
			for i := range c.events {
				e := Event{Topic: "t", Data: data}
				if c.topics > 1 {
					e.Topic = fmt.Sprintf("a%d/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", i%c.topics)
				}
				if _, err := h.Publish(context.Background(), e); err != nil {
					t.Fatal(err)
				}
				if c.delay && i%20 != 0 {
					continue
				}
				for len(loop.walks) > 0 {
					s := loop.walks[0]()
					if s == nil {
						loop.walks = loop.walks[1:]
						continue
					}
					// One connection in thirty moves, so that each has another frame.
					if subs[s].number == i%31 {
						subs[s].has = nil
					}
					subs[s].turn(&subs[s].refusing)
				}
			}
			got, counted := heapBytes()-before, h.bytes.Load()-base
			t.Logf("%d bytes are held, %d counted", got, counted)
			if got > counted+512<<10 {
				t.Errorf("%d bytes are held, and %d counted", got, counted)
			}
			for _, l := range subs {
				l.forget()
				h.leave(&l.subscriber)
			}
			for len(loop.walks) > 0 && loop.walks[0]() == nil {
				loop.walks = loop.walks[1:]
			}
			forgetAll(h)
			if n, err := h.bytes.Load(), h.Close(); n != 0 || err != nil {
				t.Errorf("%d bytes are counted for nothing; %v", n, err)
			}
		})
	}
}

// forgetAll empties the history.
func forgetAll(h *Hub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history.clear()
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
