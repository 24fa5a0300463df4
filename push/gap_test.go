package push

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/push/format"
)

// lines takes a turn of a subscriber whose format is plainText.
func lines(h *Hub, s *idle) []string {
	var t turn
	h.turn(&s.subscriber, &t)
	var text strings.Builder
	for _, f := range t.frames {
		text.Write(f.bytes())
	}
	h.turn(&s.subscriber, &t) // it is no longer busy
	t.release()
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// TestGapBeforeUnplaced: a gap that is followed by events without a place in the order names a
// position that exists, from which a client can resume without missing anything.
func TestGapBeforeUnplaced(t *testing.T) {
	local, placed := (*Hub).publishLocally, func(h *Hub, e *Event) Receipt {
		r, err := h.Publish(context.Background(), *e)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		name    string
		publish []func(*Hub, *Event) Receipt
		want    []string
	}{
		{"alone", []func(*Hub, *Event) Receipt{local}, []string{"G =1 =1 =1 0 broker", "E = t"}},
		{"then others", []func(*Hub, *Event) Receipt{local, local, placed}, []string{"G =1 =1 =2 0 broker", "E = t", "E = t", "E =2 t"}},
		{"dropped", []func(*Hub, *Event) Receipt{local, local, local, local}, []string{"G =1 =1 =1 0 broker", "G = =1 =1 1 slow", "E = t", "E = t", "E = t"}},
		{"dropped, then others", []func(*Hub, *Event) Receipt{local, local, local, placed}, []string{"G =1 =1 =2 0 broker", "G = =1 =2 1 slow", "E = t", "E = t", "E =2 t"}},
	} {
		h, err := New(Options{Formats: []format.Format{plainText{}}, QueueEvents: 3, Heartbeat: -1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := join(t, h, "t")
		if err != nil {
			t.Fatal(err)
		}
		placed(h, &Event{Topic: "t"})
		lines(h, s)
		h.mu.Lock()
		h.tell("broker", false)
		h.mu.Unlock()
		for _, publish := range c.publish {
			publish(h, &Event{Topic: "t"})
		}
		got := lines(h, s)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], h.era()+"-", "")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		h.leave(&s.subscriber)
		_ = h.Close()
	}
}
