package push

import (
	"testing"
	"time"
)

// TestShutdownDelay: a hub that is shut down waits for MaxDelay no longer, also with an event whose
// Publish has begun before.
func TestShutdownDelay(t *testing.T) {
	for _, c := range []struct {
		name string
		on   loop
	}{{"net/http", nil}, {"loop", new(fakeLoop)}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, Options{MaxDelay: time.Minute, Spread: -1})
			l := listen(t, h, c.on, &joining{filters: []string{"t"}})
			l.turn()
			publish(t, h, Event{Topic: "t"})
			m := h.newMessage(&Event{Topic: "t"})
			h.mu.Lock()
			var r Receipt
			_, posted := h.sequence(m, h.seq+1)
			h.mu.Unlock()
			h.close()
			h.deliver(m, &r, posted)
			m.release()
			for range 100 {
				if on, ok := c.on.(*fakeLoop); ok {
					for _, next := range on.walks {
						for next() != nil {
							l.turn()
						}
					}
					on.walks = nil
				}
				if h.dismiss(1); l.ended {
					break
				}
				l.turn()
			}
			if l.events != 2 || l.bye != "shutdown" {
				t.Errorf("%d events and the bye %q", l.events, l.bye)
			}
			l.leave()
		})
	}
}

// TestIdleKeepsNothing: what was sent to a subscriber on net/http is not kept until something else
// is sent.
func TestIdleKeepsNothing(t *testing.T) {
	h := newHub(t, Options{})
	s, err := join(t, h, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer h.leave(&s.subscriber)
	var u turn
	h.turn(&s.subscriber, &u)
	publish(t, h, Event{Topic: "t", Data: make([]byte, 1<<10)})
	if h.turn(&s.subscriber, &u); len(u.frames) != 1 {
		t.Fatalf("%d frames", len(u.frames))
	}
	h.turn(&s.subscriber, &u) // the one after which it waits
	for _, f := range u.frames[:cap(u.frames)] {
		if f != nil {
			t.Errorf("%d bytes are kept", len(f.bytes()))
		}
	}
}
