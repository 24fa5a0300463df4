package push

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push/format"
)

// A watcher of a test counts the events of presence that it gets.
type watcherOf struct {
	idle
	here, joins, leaves int
	users               int // that are there, as it was told
	named               int // in one event, at most
}

// turns takes what there is to be told.
func (w *watcherOf) turns(t *testing.T, h *Hub) {
	t.Helper()
	u := turn{more: true}
	for n := 0; u.more; n++ {
		if n > 100 {
			t.Fatal("there is always more")
		}
		h.turn(&w.subscriber, &u)
		for _, f := range u.frames {
			for line := range strings.Lines(string(f.bytes())) {
				var m struct {
					Type string
					Data struct {
						Users []string
						More  int
						Here  int
					}
				}
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err, line)
				}
				switch m.Type {
				case format.TypeHere:
					w.here++
				case format.TypeJoin:
					w.joins++
				case format.TypeLeave:
					w.leaves++
				default:
					continue
				}
				w.users, w.named = m.Data.Here, max(w.named, len(m.Data.Users))
			}
		}
	}
	u.release()
}

// gather joins users to a topic, who watch it.
func gather(t *testing.T, h *Hub, prefix string, n int) (all []*watcherOf) {
	t.Helper()
	for i := range n {
		w := new(watcherOf)
		w.sink = w
		j := &joining{filters: []string{"room"}, user: fmt.Sprint(prefix, i), presence: true}
		if err := h.admit(&w.subscriber, j); err != nil {
			t.Fatal(err)
		}
		h.join(&w.subscriber, nil, j)
		all = append(all, w)
	}
	return all
}

// pass lets the time pass, and has the hub tell what is due.
func pass(h *Hub, d time.Duration) {
	h.clockSkew.Add(int64(d))
	h.presence.round()
}

func presenceHub(t *testing.T) *Hub {
	t.Helper()
	h, err := New(Options{
		Formats: []format.Format{format.NDJSON}, Heartbeat: -1, Lifetime: -1, PresenceGrace: time.Hour, MaxBytes: 1 << 30,
		Rules: []Rule{{Pattern: "room", Presence: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	h.clockSkew.Add(int64(24 * time.Hour)) // the test's clock is far ahead of ticks
	h.presence.mu.Lock()
	h.presence.next = h.now() + int64(time.Hour) // and ticks tell nothing
	h.presence.mu.Unlock()
	h.clockSkew.Add(int64(2 * time.Hour))
	return h
}

// TestPresenceStorm has 10,000 users come while all of them watch, and go: each is told at most twice a
// round, of a hundred names, and not 10,000 times.
func TestPresenceStorm(t *testing.T) {
	const users, readers, steps = 10_000, 50, 10
	h := presenceHub(t)
	before := h.bytes.Load()
	first := gather(t, h, "first", readers)
	var all []*watcherOf
	rounds := 0
	every := func() {
		h.clockSkew.Add(int64(presenceEvery))
		h.presence.round()
		rounds++
		for _, w := range first {
			w.turns(t, h)
		}
	}
	for range steps {
		all = append(all, gather(t, h, fmt.Sprint("u", len(all), "-"), users/steps)...)
		h.presence.round() // another one, which is too early
		every()
	}
	events := 0
	for _, w := range all {
		w.turns(t, h)
		if w.users != users+readers || w.named > namedUsers {
			t.Fatalf("a user was told of %d users, %d by name, want %d", w.users, w.named, users+readers)
		}
		events += w.here + w.joins
	}
	if most := users * (mostNews + 2); events > most {
		t.Errorf("%d events for %d users, want at most %d", events, users, most)
	}
	told := 0
	for _, w := range first {
		if w.users != users+readers || w.joins > rounds+1 || w.here > 1 {
			t.Errorf("one that reads all is told %d times in %d rounds, and of %d users", w.joins+w.here, rounds, w.users)
		}
		told += w.joins + w.here
	}
	t.Logf("%d users who read late have %d events, and %d who read all %d in %d rounds", users, events, readers, told, rounds)
	for _, w := range all {
		h.leave(&w.subscriber)
	}
	if every(); first[0].leaves > 0 {
		t.Error("they have left before the time of grace is over")
	}
	h.clockSkew.Add(int64(h.o.PresenceGrace))
	if every(); first[0].leaves != 1 || first[0].users != readers {
		t.Errorf("%d events of %d users that have left, want one, and %d that are there: %d", first[0].leaves, users, readers, first[0].users)
	}
	for _, w := range first {
		h.leave(&w.subscriber)
	}
	h.clockSkew.Add(int64(h.o.PresenceGrace))
	h.presence.round()
	p := &h.presence
	if len(p.gatherings) > 0 || p.names.Len() > 0 || p.watchers.Len() > 0 || p.pending() || h.bytes.Load() != before {
		t.Errorf("%d gatherings, %d watched, %d bytes remain", len(p.gatherings), p.watchers.Len(), h.bytes.Load()-before)
	}
}

// TestPresenceFlaps has a user come and go between rounds and within them: it has joined once.
func TestPresenceFlaps(t *testing.T) {
	h := presenceHub(t)
	w := gather(t, h, "w", 1)[0]
	w.turns(t, h)
	pass(h, presenceEvery)
	w.turns(t, h)
	for i := range 50 {
		tab := gather(t, h, "ann", 1)[0]
		other := gather(t, h, "ann", 1)[0]
		if i%2 > 0 {
			pass(h, presenceEvery)
			w.turns(t, h)
		}
		h.leave(&tab.subscriber)
		h.leave(&other.subscriber)
		if i%3 > 0 {
			pass(h, presenceEvery)
			w.turns(t, h)
		}
	}
	pass(h, time.Hour)
	w.turns(t, h)
	if w.joins != 2 || w.leaves != 1 || w.users != 1 { // its own, and that of ann
		t.Errorf("%d joins, %d leaves, %d users", w.joins, w.leaves, w.users)
	}
}

// TestPresenceBehind wants one that is behind to keep nothing, and to be told who is there when it has
// caught up.
func TestPresenceBehind(t *testing.T) {
	h := presenceHub(t)
	w := gather(t, h, "w", 1)[0]
	w.turns(t, h)
	for i := range 100 {
		gather(t, h, fmt.Sprint("u", i, "-"), 1)
		pass(h, presenceEvery)
		if n := len(w.rare.watch.news); n > mostNews {
			t.Fatalf("%d events wait", n)
		}
	}
	w.turns(t, h)
	if w.here != 2 || w.joins != 0 || w.users != 101 {
		t.Errorf("told who is there %d times, of %d joins, %d users", w.here, w.joins, w.users)
	}
}
