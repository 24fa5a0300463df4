package push

import (
	"fmt"
	"testing"
)

// TestInboxBounded: what waits for a loop that does not turn is bounded, also when it is in the middle of a
// batch of small events for many. Each gets what its queue has room for, and a gap that counts the rest.
func TestInboxBounded(t *testing.T) {
	const many = hurried/batchEvents + 50
	for _, c := range []struct {
		name         string
		most         int64
		size, events int
		inbox        int // events that may wait
	}{
		{"small events", 1 << 30, 1, mostInbox + 1000, mostInbox + batchEvents},
		{"little memory", 16 << 20, 1000, 3000, 1<<20/1500 + batchEvents},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, Options{MaxBytes: c.most, QueueEvents: 64, Rules: []Rule{{Pattern: "t", History: History{Events: -1}}}})
			publish(t, h, Event{Topic: "kept"})
			loop := newLooping()
			var all []*listener
			for range many {
				all = append(all, loop.listen(t, h, &joining{filters: []string{"t"}}))
			}
			loop.run()
			for range batchEvents {
				publish(t, h, Event{Topic: "t"})
			}
			visited := loop.by[loop.walks[0]()]
			sh := h.shards[len(h.plain)]
			for i := range c.events {
				publish(t, h, Event{Topic: "t", Data: make([]byte, c.size)})
				if n := len(sh.inbox); n > c.inbox {
					t.Fatalf("%d events wait for the loop after %d", n, i+1)
				}
			}
			if st := h.Stats(); st.Events != 1 || st.Bytes > c.most || st.Endings["memory"] > 0 {
				t.Errorf("got %+v, want the history to be kept", st)
			}
			visited.receive()
			loop.run()
			for _, l := range all {
				for l.turn() {
				}
				l.account(h.seq + 1)
				l.leave()
			}
			if n := sh.inboxBytes; n != 0 {
				t.Errorf("%d bytes are counted for an empty inbox", n)
			}
		})
	}
}

// TestRelieveOnce: newcomers that do not fit have the subscribers looked at once a tick, not each of them.
func TestRelieveOnce(t *testing.T) {
	const most = 4 << 20
	h := newHub(t, Options{MaxBytes: most})
	h.bytes.Add(most)
	defer h.bytes.Add(-most)
	for i := range 3 {
		if _, err := join(t, h, fmt.Sprint("t/", i)); err != errMemory {
			t.Fatal(err)
		}
		if h.relieved != h.ticks.Load() || h.relievedAt <= most {
			t.Error("the next one has everybody looked at again")
		}
	}
}
