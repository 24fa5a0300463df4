package push

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push/format"
)

// watching joins a user that watches what it listens to.
func watching(t *testing.T, h *Hub, user string, asked ...string) (*watcherOf, error) {
	t.Helper()
	w := new(watcherOf)
	w.sink = w
	j := &joining{asked: asked, filters: without(asked), user: user, presence: true}
	if err := h.admit(&w.subscriber, j); err != nil {
		return nil, err
	}
	h.join(&w.subscriber, nil, j)
	return w, nil
}

// TestWatchersCount: what is kept for those who ask who is there counts for MaxBytes, also of filters that
// others of theirs cover, and is given back.
func TestWatchersCount(t *testing.T) {
	const n = 100
	h := presenceHub(t)
	base, before := h.bytes.Load(), heapBytes()
	var all []*watcherOf
	for i := range n {
		asked := []string{"**"}
		for k := range 63 {
			asked = append(asked, strings.Clone(fmt.Sprintf("%d-%d%s/*", i, k, strings.Repeat("/x", 20))))
		}
		w, err := watching(t, h, fmt.Sprint("u", i), asked...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	got, counted := heapBytes()-before, h.bytes.Load()-base
	t.Logf("%d bytes are held, %d counted", got, counted)
	if got > counted+1<<20 {
		t.Errorf("%d bytes are held, and %d counted", got, counted)
	}
	for _, w := range all {
		h.leave(&w.subscriber)
	}
	if n := h.bytes.Load(); n != base {
		t.Errorf("%d bytes are counted for nothing", n-base)
	}
}

// TestPresenceShares: those who are told who is there, and what they are told, have the half of MaxBytes
// that subscribers may take: the history stays.
func TestPresenceShares(t *testing.T) {
	const most = 8 << 20
	h := newHub(t, Options{MaxBytes: most, Rules: []Rule{{Pattern: "room/**", Presence: true}}})
	publish(t, h, Event{Topic: "kept"})
	pass(h, 0)
	for i := 0; ; i++ {
		var asked []string
		for k := range 64 {
			asked = append(asked, fmt.Sprint("room/", i, "/", k))
		}
		w, err := watching(t, h, fmt.Sprint("user ", i, strings.Repeat("x", 1000)), asked...)
		if err == errMemory && i > 0 {
			break
		}
		if err != nil || i > most>>10 {
			t.Fatal(i, err)
		}
		pass(h, 2*time.Second)
		w.state |= greeted
		u := turn{more: true}
		for u.more {
			h.turn(&w.subscriber, &u)
		}
		u.release()
	}
	h.tick()
	if st := h.Stats(); st.Events != 1 || st.Endings["memory"] != 0 || st.Bytes > most*5/8 {
		t.Errorf("got %+v, want about half of %d bytes, and the history", st, most)
	}
	for _, sh := range h.shards {
		for len(sh.all) > 0 {
			h.leave(sh.all[0])
		}
	}
	pass(h, 2*time.Hour)
	pass(h, 2*time.Hour)
	if n := h.presence.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are counted for nobody", n)
	}
}

// wide is a format whose events are long.
type wide struct{ plainText }

func (wide) AppendEvent(b []byte, e *format.Event) []byte {
	return append(plainText{}.AppendEvent(b, e), bytes.Repeat([]byte("\n"), longFrame)...)
}

// TestLongNews: an event of presence may be long in some format, and is given up like any other.
func TestLongNews(t *testing.T) {
	h, err := New(Options{Formats: []format.Format{wide{}}, Heartbeat: -1, Rules: []Rule{{Pattern: "room", Presence: true}}, PresenceGrace: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	base := h.bytes.Load()
	var all []*watcherOf
	for i := range 3 {
		w, err := watching(t, h, fmt.Sprint(i), "room")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	for range 3 {
		pass(h, 2*time.Second)
		for _, w := range all {
			u := turn{more: true}
			for u.more {
				h.turn(&w.subscriber, &u)
			}
			u.release()
		}
	}
	h.presence.mu.Lock()
	m := h.presence.here(h.presence.gatherings["room"])
	h.presence.mu.Unlock()
	if n := m.refs.Load(); n != 2 {
		t.Errorf("%d references to what was told last, want 2: the gathering's, and the test's", n)
	}
	m.release()
	for _, w := range all {
		h.leave(&w.subscriber)
	}
	pass(h, 2*time.Second)
	pass(h, 2*time.Second)
	if n := h.bytes.Load(); n != base {
		t.Errorf("%d bytes are counted for nothing", n-base)
	}
}

// TestAudienceOnce: one that watches a topic by many patterns is found once, and each time a topic changes.
func TestAudienceOnce(t *testing.T) {
	h := presenceHub(t)
	asked := []string{"room", "*", "**", "*/**", "room/**"}
	for i := range 10 {
		if _, err := watching(t, h, fmt.Sprint(i), asked...); err != nil {
			t.Fatal(err)
		}
	}
	p := &h.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 2 {
		if got := len(p.audience(p.gatherings["room"]).subs); got != 10 {
			t.Errorf("%d watchers, want 10", got)
		}
	}
}
