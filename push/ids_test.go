package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push/format"
)

// told returns what a client that resumes gets until it is live.
func told(t *testing.T, h *Hub, lastID string, filters ...string) (all []string) {
	t.Helper()
	s := new(idle)
	s.sink = s
	j := &joining{filters: filters, lastID: lastID}
	if err := h.admit(&s.subscriber, j); err != nil {
		t.Fatal(err)
	}
	h.join(&s.subscriber, nil, j)
	defer h.leave(&s.subscriber)
	for _, line := range catchUpLines(t, h, s) {
		if line != "S =" {
			all = append(all, strings.ReplaceAll(strings.ReplaceAll(line, h.era()+"-", ""), "=", ""))
		}
	}
	return all
}

// catchUpLines takes turns of a subscriber whose format is plainText, until it is live.
func catchUpLines(t *testing.T, h *Hub, s *idle) (all []string) {
	t.Helper()
	u := turn{more: true}
	for n := 0; u.more; n++ {
		if n > 1000 {
			t.Fatal("it does not become live")
		}
		h.turn(&s.subscriber, &u)
		for _, f := range u.frames {
			for line := range strings.Lines(string(f.bytes())) {
				all = append(all, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	u.release()
	return all
}

func newHub(t *testing.T, o Options) *Hub {
	t.Helper()
	o.Formats, o.Heartbeat, o.Lifetime = []format.Format{plainText{}}, -1, -1
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func publish(t *testing.T, h *Hub, e Event) Receipt {
	t.Helper()
	r, err := h.Publish(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOwnIDs: an ID of a publisher says where to resume, and that an event is known, whether the
// event is held or not.
func TestOwnIDs(t *testing.T) {
	h := newHub(t, Options{History: History{Events: 3, Age: time.Minute}, Rules: []Rule{{Pattern: "bare", History: History{Events: -1}}}})
	n := 0
	next := func(topic string) {
		n++
		publish(t, h, Event{Topic: topic, ID: fmt.Sprint("e", n)})
	}
	want := func(what, lastID string, filters []string, want ...string) {
		t.Helper()
		if got := told(t, h, lastID, filters...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	next("bare")
	next("ticks")
	next("orders")
	want("of a topic without a history", "e1", []string{"*"}, "E e2 ticks", "E e3 orders")
	for range 4 {
		next("ticks")
	}
	want("dropped", "e2", []string{"ticks", "orders"}, "G 2 e2 e5 0 history", "E e3 orders", "E e5 ticks", "E e6 ticks", "E e7 ticks")
	want("another topic's traffic", "e2", []string{"orders"}, "E e3 orders")
	for _, id := range []string{"e1", "e2", "e3", "e7"} {
		if r := publish(t, h, Event{Topic: "ticks", ID: id}); !r.Duplicate {
			t.Errorf("%s is published again", id)
		}
	}
	h.clockSkew.Add(int64(time.Hour))
	h.mu.Lock()
	h.history.expire(1)
	h.mu.Unlock()
	want("aged out, and nothing since", "e7", []string{"**"})
	want("aged out, and another one", "e6", []string{"**"}, "G 7 e6 7 0 history")
	next("orders")
	want("unknown", "garbage", []string{"**"}, "G 7 garbage e8 0 unknown-id", "E e8 orders")
	want("yet to come", h.id(99), []string{"**"}, "G 8 99 8 0 unknown-id")
	want("another epoch", "0123456789abcdef-8", []string{"**"}, "G 7 0123456789abcdef-8 e8 0 epoch", "E e8 orders")
	want("earliest", "earliest", []string{"**"}, "S 0", "E e8 orders")
}

// TestForgottenIDs: the IDs of events that are not held take a bounded part of the memory; the
// oldest go first, and who has one of them gets everything.
func TestForgottenIDs(t *testing.T) {
	const most = 1 << 20
	h := newHub(t, Options{MaxBytes: most, History: History{Events: 2}})
	pad := strings.Repeat("x", 100)
	for i := range 5000 {
		publish(t, h, Event{Topic: "t", ID: fmt.Sprint(pad, i)})
		if f := &h.history.former; f.bytes > most/8 || len(f.places) != len(f.order) {
			t.Fatalf("%d bytes, %d and %d IDs", f.bytes, len(f.places), len(f.order))
		}
	}
	want := []string{"E " + pad + "4998 t", "E " + pad + "4999 t"}
	gap := func(id, reason string) string { return "G 4998 " + id + " " + pad + "4998 0 " + reason }
	for id, reason := range map[string]string{pad + "0": "unknown-id", pad + "4900": "history"} {
		if got := told(t, h, id, "t"); len(got) != 3 || got[0] != gap(id, reason) || !slices.Equal(got[1:], want) {
			t.Errorf("got %q, want %q and %q", got, gap(id, reason), want)
		}
	}
}

// TestIDsOfHubs: what looks like a position, or is asked for by a client that wants everything, is
// no ID for an event.
func TestIDsOfHubs(t *testing.T) {
	h := newHub(t, Options{})
	for _, id := range []string{h.id(7), "0123456789abcdef-2", earliest} {
		if _, err := h.Publish(context.Background(), Event{Topic: "t", ID: id}); !errors.Is(err, ErrBadEvent) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"0123456789abcdef", "0123456789abcdeg-2", "0123456789abcdef-x", "a:0123456789abcdef-2", "123-2"} {
		publish(t, h, Event{Topic: "t", ID: id})
	}
}

// TestPosition: who takes the position, and subscribes later, misses nothing.
func TestPosition(t *testing.T) {
	h := newHub(t, Options{})
	at := []string{h.Position()}
	for i := range 3 {
		publish(t, h, Event{Topic: "t", ID: fmt.Sprint("e", i)})
		at = append(at, h.Position())
	}
	for i, p := range at {
		if got, want := told(t, h, p, "t"), []string{"E e0 t", "E e1 t", "E e2 t"}[i:]; !slices.Equal(got, want) {
			t.Errorf("after %d events: got %q, want %q", i, got, want)
		}
	}
}
