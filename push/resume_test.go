package push

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// TestResumeBounded: a subscriber that resumes over very many topics examines a bounded part of
// the history under the hub's lock at a time, whatever it asks for. What is published and dropped
// between the parts is neither missed nor repeated.
//
//archtest:long the table names every kind of filter
func TestResumeBounded(t *testing.T) {
	const topics, kept, each = 20_000, 2, 3
	names := func(n int) (f []string) {
		for i := range n {
			f = append(f, fmt.Sprint("t/", i*7))
		}
		return f
	}
	for _, c := range []struct {
		name     string
		filters  []string
		selected int // topics
		turns    int // at least
	}{
		{"everything", []string{"**"}, topics, topics * kept / 256},
		{"one level", []string{"t/*"}, topics, topics * (kept + 1) / feedSlots},
		{"few of many", []string{"*/19999"}, 1, 1},
		{"none of many", []string{"t/*/x"}, 0, topics * (kept + 1) / feedSlots},
		{"many patterns", []string{"*/1", "*/2", "*/3", "*/4", "*/19999"}, 5, 1},
		{"a few names", names(5), 5, 1},
		{"many names", names(60), 60, topics / feedSlots},
		{"none", []string{"none/*"}, 0, 1},
		{"below a name", []string{"t/7/**"}, 1, 1},
		{"none and one", []string{"none/*/x", "t/7/**"}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := New(Options{Formats: []format.Format{plainText{}}, History: History{Events: kept}, Heartbeat: -1, Lifetime: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			var order []int // the topics of all events
			publish := func(i int) {
				order = append(order, i)
				if _, err := h.Publish(context.Background(), Event{Topic: fmt.Sprint("t/", i)}); err != nil {
					t.Fatal(err)
				}
			}
			for n := range each * topics {
				publish(n % topics)
			}
			l := listen(t, h, nil, &joining{filters: c.filters, lastID: h.id(0)})
			l.selects = func(seq uint64) bool {
				name := fmt.Sprint("t/", order[seq-1])
				return slices.ContainsFunc(c.filters, func(f string) bool { return topic.Match(f, name) })
			}
			turns := 0
			for l.sub.catching != nil {
				if turns++; turns > 1000 {
					t.Fatal("it does not reach the present")
				}
				if l.turn(); h.history.most-h.history.room > feedSlots {
					t.Fatalf("%d slots examined under one lock", h.history.most-h.history.room)
				}
				publish(turns * 31 % topics) // which drops another one
			}
			l.turn()
			l.account(h.seq + 1)
			if c.turns == 1 && turns > 5 {
				t.Errorf("%d turns for what the tree of topics answers at once", turns)
			}
			if turns < c.turns {
				t.Errorf("%d turns, want %d at least", turns, c.turns)
			}
			if least := c.selected*kept - turns; l.events < least {
				t.Errorf("%d events, want %d at least", l.events, least)
			}
			if c.selected > 0 && !l.gapFirst || c.selected == 0 && l.gaps > 0 {
				t.Errorf("%d gaps, the first one before all events: %v", l.gaps, l.gapFirst)
			}
		})
	}
}
