package push_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
	"github.com/redline-go/redline/push/pushtest"
)

// known is a handler whose requests say who they are, by headers.
func known(hub *push.Hub) *push.Handler {
	h := hub.Handler(func(*http.Request) ([]string, error) { return []string{"**"}, nil })
	h.User = func(r *http.Request) string { return r.Header.Get("X-User") }
	h.Token = func(r *http.Request) string { return r.Header.Get("X-Token") }
	return h
}

func as(user, token string) pushtest.Query {
	return pushtest.Query{Topics: []string{"t"}, Header: http.Header{"X-User": {user}, "X-Token": {token}}}
}

// bye wants a stream to end, and returns the reason.
func bye(t *testing.T, s *pushtest.Stream) string {
	t.Helper()
	rest, err := s.End()
	if err != nil || len(rest) != 1 || rest[0].Bye == nil {
		t.Fatalf("got %+v %v, want a bye", rest, err)
	}
	return rest[0].Bye.Reason
}

// TestEnd ends subscribers by user, token and connection, on each server. Nobody else is.
func TestEnd(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			hub := pushtest.Hub(t, push.Options{})
			at := serve(t, known(hub))
			end := func(e push.Ending, want int) {
				t.Helper()
				if n, err := hub.End(t.Context(), e); n != want || err != nil {
					t.Fatalf("%+v: %d %v, want %d", e, n, err, want)
				}
			}
			ann1, ann2, bob := pushtest.Open(t, at, as("ann", "t1")), pushtest.Open(t, at, as("ann", "t2")), pushtest.Open(t, at, as("bob", "t3"))
			end(push.Ending{User: "nobody"}, 0)
			end(push.Ending{User: "ann", Reason: "logged out"}, 2)
			if a, b := bye(t, ann1), bye(t, ann2); a != "logged out" || b != a {
				t.Errorf("got %q and %q", a, b)
			}
			ann1 = pushtest.Open(t, at, as("ann", "t1")) // it may come again
			end(push.Ending{Token: "t1"}, 1)
			if got := bye(t, ann1); got != "ended" {
				t.Errorf("got %q", got)
			}
			pushtest.Until(t, "three have left", func() bool { return hub.Stats().Subscribers == 1 })
			pushtest.Publish(t, hub, "t", "x")
			bob.Want("x")
			all := slices.Collect(hub.Connections())
			if len(all) != 1 || all[0].User != "bob" {
				t.Fatalf("got %+v", all)
			}
			end(push.Ending{Connection: all[0].ID + "0"}, 0)
			end(push.Ending{Connection: all[0].ID}, 1)
			bye(t, bob)
			if got := hub.Stats().Endings["ended"]; got != 4 {
				t.Errorf("%d endings are counted", got)
			}
		})
	}
}

// TestRevoke: a token that was withdrawn ends its subscribers, and does not resume, until it expires or
// that is taken back. The answer is the same for an EventSource: it has to log in.
func TestRevoke(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			hub := pushtest.Hub(t, push.Options{})
			at := serve(t, known(hub))
			revoke := func(e push.Ending, want int) {
				t.Helper()
				if n, err := hub.End(t.Context(), e); n != want || err != nil {
					t.Fatalf("%d %v, want %d", n, err, want)
				}
			}
			refused := func(q pushtest.Query) {
				t.Helper()
				for _, accept := range []string{"text/event-stream", "*/*"} {
					header := q.Header.Clone()
					header.Set("Accept", accept)
					header.Set("Last-Event-ID", "earliest")
					for _, method := range []string{"GET", "HEAD"} {
						if status, _, got := pushtest.Refused(t, method, q.URL(at), header); status != 401 || got.Get("WWW-Authenticate") == "" {
							t.Errorf("%s %s: %d %v, want 401", method, accept, status, got)
						}
					}
				}
			}
			s, other := pushtest.Open(t, at, as("ann", "t1")), pushtest.Open(t, at, as("ann", "t2"))
			revoke(push.Ending{Token: "t1", Until: time.Now().Add(time.Hour)}, 1)
			if got := bye(t, s); got != "revoked" {
				t.Errorf("got %q", got)
			}
			refused(as("ann", "t1"))
			revoke(push.Ending{User: "bob", Until: time.Now().Add(time.Hour)}, 0)
			refused(as("bob", "t9"))
			pushtest.Open(t, at, as("ann", "t3")).Close()
			if st := hub.Stats(); st.Revoked != 2 || st.Refusals["revoked"] != 8 || st.Endings["revoked"] != 1 {
				t.Errorf("got %+v", st)
			}
			revoke(push.Ending{User: "bob", Until: time.Now().Add(-time.Second)}, 0)
			pushtest.Open(t, at, as("bob", "t9")).Close()
			pushtest.Publish(t, hub, "t", "x")
			other.Want("x")
		})
	}
}

func TestBadEndings(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	for _, e := range []push.Ending{
		{},
		{User: "a", Token: "b"},
		{Connection: "x-1", Until: time.Now().Add(time.Hour)},
		{User: "a", Reason: "a\nb"},
		{User: "a", Reason: strings.Repeat("x", 256)},
		{Token: strings.Repeat("x", 1025)},
	} {
		if _, err := hub.End(t.Context(), e); !errors.Is(err, push.ErrBadEnding) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// TestEndCluster: the nodes of a cluster end their subscribers too, and one that starts later knows who may
// not listen. Subscribers of everything see nothing of it, also those that resume through the broker.
func TestEndCluster(t *testing.T) {
	broker := memory.NewBroker(1000)
	node := func(o push.Options) (*push.Hub, string) {
		o.Broker = broker
		hub := pushtest.Hub(t, o)
		pushtest.Until(t, "the node is ready", hub.Ready)
		return hub, pushtest.Plain(t, known(hub))
	}
	one, _ := node(push.Options{})
	two, at := node(push.Options{})
	all := pushtest.Open(t, at, pushtest.Query{Topics: []string{"**"}})
	user, token := pushtest.Open(t, at, as("ann", "t1")), pushtest.Open(t, at, as("bob", "t2"))
	bob := slices.IndexFunc(slices.Collect(two.Connections()), func(c push.Connection) bool { return c.User == "bob" })
	id := slices.Collect(two.Connections())[bob].ID
	pushtest.Publish(t, one, "t", "first")
	first := all.Want("first")
	user.Want("first")
	token.Want("first")
	for _, e := range []push.Ending{
		{User: "ann", Reason: "moved"},
		{Connection: id, Reason: "closed"},
		{Token: "t2", Until: time.Now().Add(time.Hour)},
	} {
		if n, err := one.End(t.Context(), e); n != 0 || err != nil {
			t.Fatalf("%+v: %d %v", e, n, err)
		}
	}
	if a, b := bye(t, user), bye(t, token); a != "moved" || b != "closed" {
		t.Errorf("got %q and %q", a, b)
	}
	pushtest.Publish(t, one, "t", "last")
	all.Want("last")
	late, lateAt := node(push.Options{History: push.History{Events: -1}}) // reads all of the broker
	for name, at := range map[string]string{"the other": at, "a later one": lateAt} {
		if status, _, _ := pushtest.Refused(t, "GET", as("", "t2").URL(at), as("", "t2").Header); status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	pushtest.Open(t, lateAt, pushtest.Query{Topics: []string{"**"}, LastID: first.ID}).Want("last")
	if got := late.Topics("**"); len(got) != 1 {
		t.Errorf("the topics are %q", got)
	}
}

// TestConnections lists subscribers, and wants no lock held meanwhile.
func TestConnections(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			before := time.Now().Add(-time.Millisecond) // it is kept in milliseconds
			hub := pushtest.Hub(t, push.Options{Node: "n"})
			at := serve(t, known(hub))
			q := pushtest.Query{Topics: []string{"a", "b/*"}, Format: "ndjson", Header: http.Header{"X-User": {"ann"}, "X-Token": {"t1"}}}
			pushtest.Open(t, at, q)
			pushtest.Open(t, at, as("", ""))
			seen := map[string]push.Connection{}
			for c := range hub.Connections() {
				seen[c.User] = c
				pushtest.Publish(t, hub, "other", "x")
				if hub.Stats().Subscribers != 2 {
					t.Error("one has left")
				}
			}
			c := seen["ann"]
			transport := map[string]string{"nethttp": "goroutine", "redline": "loop"}[name]
			if len(seen) != 2 || !strings.HasPrefix(c.ID, "n-") || c.Token != "t1" || c.Address != "127.0.0.1" || c.Format != "ndjson" ||
				!slices.Equal(c.Filters, q.Topics) || c.Transport != transport || c.Since.Before(before) || c.Since.After(time.Now()) {
				t.Errorf("got %+v", seen)
			}
			for range hub.Connections() {
				break
			}
		})
	}
}
