package pushtest

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
)

// Registry tests whether a registry keeps what a hub needs of it. open returns one without
// members, and a function that lets the time pass as the registry sees it.
func Registry(t *testing.T, open func(t *testing.T) (r push.Registry, pass func(time.Duration))) {
	t.Run("Updates", func(t *testing.T) {
		r, pass := open(t)
		testRegistryUpdates(t, r, pass)
	})
	t.Run("Hubs", func(t *testing.T) {
		r, _ := open(t)
		testRegistryHubs(t, r)
	})
	t.Run("Presence", func(t *testing.T) {
		r, _ := open(t)
		w, ok := r.(push.Watcher)
		if !ok {
			t.Skip("it cannot be watched")
		}
		testRegistryPresence(t, w)
	})
}

func counts(t *testing.T, r push.Registry, filters ...string) []int {
	t.Helper()
	n, err := r.Counts(t.Context(), filters)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func testRegistryUpdates(t *testing.T, r push.Registry, pass func(time.Duration)) {
	const ttl = 10 * time.Second
	member := func(id string, filters ...string) push.Member {
		return push.Member{ID: id, User: "u" + id, Address: "192.0.2.1", Filters: filters, Since: time.Unix(1_700_000_000, 0)}
	}
	update := func(u push.Update) {
		t.Helper()
		u.TTL = ttl
		if err := r.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, n ...int) {
		t.Helper()
		if got := counts(t, r, "a", "b/*", "c"); !slices.Equal(got, n) {
			t.Errorf("%s: got %v, want %v", what, got, n)
		}
	}
	want("empty", 0, 0, 0)
	one, two, three := member("1", "a"), member("2", "a", "b/*"), member("3", "b/*")
	update(push.Update{Node: "x", Whole: true, Joined: []push.Member{one, two}})
	update(push.Update{Node: "y", Joined: []push.Member{three}})
	want("joined", 2, 2, 0)
	update(push.Update{Node: "x", Joined: []push.Member{one}})
	want("told twice", 2, 2, 0)
	got, err := r.Members(t.Context(), "b/*", 10)
	if err != nil || len(got) != 2 {
		t.Fatalf("Members: %+v, %v", got, err)
	}
	slices.SortFunc(got, func(a, b push.Member) int { return int(a.ID[0]) - int(b.ID[0]) })
	if g, w := fmt.Sprintf("%+v %v", got[0].Filters, got[0].Since.Unix()), fmt.Sprintf("%+v %v", two.Filters, two.Since.Unix()); got[0].ID != "2" || got[0].User != "u2" || got[0].Address != two.Address || g != w {
		t.Errorf("Members: got %+v, want %+v", got[0], two)
	}
	if got, err := r.Members(t.Context(), "b/*", 1); err != nil || len(got) != 1 {
		t.Errorf("at most one: %+v, %v", got, err)
	}
	update(push.Update{Node: "x", Left: []push.Member{two}})
	want("left", 1, 1, 0)
	update(push.Update{Node: "x", Whole: true, Joined: []push.Member{member("4", "c")}})
	want("reconciled", 0, 1, 1)
	pass(ttl * 6 / 10)
	update(push.Update{Node: "x"})
	pass(ttl * 6 / 10)
	want("one node has not renewed its lease", 0, 0, 1)
	update(push.Update{Node: "x", Whole: true})
	want("everybody left", 0, 0, 0)
}

// testRegistryHubs has a hub keep the registry up to date.
func testRegistryHubs(t *testing.T, r push.Registry) {
	hub := Hub(t, push.Options{Registry: r, Node: "node", RegistryTTL: time.Minute})
	at := Plain(t, hub.Handler(nil))
	a, _ := Open(t, at, on("t")), Open(t, at, on("t", "u/*"))
	Until(t, "both are known", func() bool { return slices.Equal(counts(t, r, "t", "u/*"), []int{2, 1}) })
	a.Close()
	Until(t, "one has left", func() bool { return slices.Equal(counts(t, r, "t", "u/*"), []int{1, 1}) })
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	Until(t, "the node has left", func() bool { return slices.Equal(counts(t, r, "t", "u/*"), []int{0, 0}) })
}

// testRegistryPresence has two hubs tell who is there, wherever: also of one that began before the other,
// and of one that is gone and begins again under its name.
func testRegistryPresence(t *testing.T, r push.Registry) {
	node := func(name string) (*push.Hub, string) {
		hub := Hub(t, push.Options{
			Registry: r, Node: name, RegistryTTL: time.Minute, PresenceGrace: -1,
			Rules: []push.Rule{{Pattern: "rooms/*", Presence: true}},
		})
		h := hub.Handler(nil)
		h.User = func(r *http.Request) string { return r.Header.Get("X-User") }
		return hub, Plain(t, h)
	}
	as := func(user string) Query {
		return Query{Topics: []string{"rooms/1"}, Presence: true, Header: http.Header{"X-User": {user}}}
	}
	one, first := node("one")
	Open(t, first, as("ann"))
	Until(t, "ann is known", func() bool { return slices.Equal(counts(t, r, "rooms/1"), []int{1}) })
	_, second := node("two")
	s := Open(t, second, as(""))
	news := func(typ string, data string) {
		t.Helper()
		if m := s.Next(); m.Type != typ || string(m.Data) != data || m.ID != "" {
			t.Fatalf("got %+v (%s), want %s %s", m, m.Data, typ, data)
		}
	}
	news("hub:here", `{"users":["ann"],"here":1}`)
	Open(t, second, as("ann")) // on another node: still one user
	bob := Open(t, first, as("bob"))
	news("hub:join", `{"users":["bob"],"here":2}`)
	bob.Close()
	news("hub:leave", `{"users":["bob"],"here":1}`)
	Open(t, first, as("carl"))
	news("hub:join", `{"users":["carl"],"here":2}`)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	news("hub:leave", `{"users":["carl"],"here":1}`)
	_, first = node("one")
	Open(t, first, as("dora"))
	news("hub:join", `{"users":["dora"],"here":2}`)
}
