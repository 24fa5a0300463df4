package push_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
	"github.com/redline-go/redline/push/pushtest"
)

// rooms announces who is in a room.
var rooms = []push.Rule{{Pattern: "rooms/secret"}, {Pattern: "rooms/*", Presence: true}}

// users serves a hub whose clients say who they are.
func users(hub *push.Hub) *push.Handler {
	h := hub.Handler(func(r *http.Request) ([]string, error) {
		if r.Header.Get("X-User") == "mallory" {
			return []string{"rooms/7"}, nil
		}
		return []string{"**"}, nil
	})
	h.User = func(r *http.Request) string { return r.Header.Get("X-User") }
	return h
}

// as is what a user asks for who wants to know who is there.
func visitor(user string, topics ...string) pushtest.Query {
	return pushtest.Query{Topics: topics, Presence: true, Header: http.Header{"X-User": {user}}}
}

// wantNews reads an event of presence.
func wantNews(t *testing.T, s *pushtest.Stream, want string) {
	t.Helper()
	m := s.Next()
	var n struct {
		Users []string
		Here  int
	}
	if err := json.Unmarshal(m.Data, &n); err != nil || m.ID != "" {
		t.Fatalf("got %+v (%.200s), want %s", m, m.Data, want)
	}
	if got := fmt.Sprintf("%s %s %d", strings.TrimPrefix(m.Type, "hub:"), strings.Join(n.Users, ","), n.Here); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// settles reads events of presence until they say that these users are in these topics. Its own joining
// may be in the first one, or follow.
func settles(t *testing.T, s *pushtest.Stream, want string) {
	t.Helper()
	there := map[string]map[string]bool{}
	for range 20 {
		m := s.Next()
		var n struct{ Users []string }
		if err := json.Unmarshal(m.Data, &n); err != nil || m.ID != "" {
			t.Fatalf("got %+v, want %s", m, want)
		}
		if there[m.Topic] == nil || m.Type == "hub:here" {
			there[m.Topic] = map[string]bool{}
		}
		for _, u := range n.Users {
			if there[m.Topic][u] = true; m.Type == "hub:leave" {
				delete(there[m.Topic], u)
			}
		}
		var got []string
		for topic, users := range there {
			for u := range users {
				got = append(got, topic+"="+u)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") == want {
			return
		}
	}
	t.Fatalf("there is never %s, but %v", want, there)
}

// TestPresence wants those who ask to be told who comes and goes, once for each user, in each format and
// on each server, and events of publishers to be what they would be without.
func TestPresence(t *testing.T) {
	t.Parallel()
	for name, serve := range pushtest.Servers {
		for _, format := range []string{"sse", "ndjson", "protobuf"} {
			t.Run(name+" "+format, func(t *testing.T) {
				t.Parallel()
				testPresence(t, serve, format)
			})
		}
	}
}

func testPresence(t *testing.T, serve pushtest.Serve, format string) {
	hub := pushtest.Hub(t, push.Options{Rules: rooms, PresenceGrace: -1})
	at := serve(t, users(hub))
	ask := visitor("", "rooms/1")
	ask.Format = format
	s := pushtest.Open(t, at, ask)
	wantNews(t, s, "here  0")
	ann := pushtest.Open(t, at, visitor("ann", "rooms/1"))
	wantNews(t, s, "join ann 1")
	settles(t, ann, "=ann")
	second := pushtest.Open(t, at, visitor("ann", "rooms/1", "rooms/2"))
	quiet := pushtest.Open(t, at, pushtest.Query{Topics: []string{"rooms/1"}})
	bob := pushtest.Open(t, at, visitor("bob", "rooms/1", "rooms/secret"))
	wantNews(t, s, "join bob 2")
	settles(t, bob, "rooms/1=ann rooms/1=bob")
	before := hub.Stats()
	position := hub.Position()
	ann.Close()
	pushtest.Until(t, "one of two has left", func() bool { return hub.Stats().Subscribers == 4 })
	bob.Close()
	wantNews(t, s, "leave bob 1")
	second.Close()
	wantNews(t, s, "leave ann 0")
	if after := hub.Stats(); after.Published != 0 || after.Delivered != before.Delivered || after.Queued != before.Queued || after.Events != 0 || hub.Position() != position {
		t.Errorf("events of presence count as events: %+v", after)
	}
	id := pushtest.Publish(t, hub, "rooms/1", "hello").ID
	if m := s.Want("hello"); m.ID != id {
		t.Errorf("got %+v", m)
	}
	quiet.Want("hello")
	if p, err := hub.Read(t.Context(), push.Range{Topics: []string{"**"}}); err != nil || len(p.Events) != 1 {
		t.Errorf("in the history: %+v, %v", p, err)
	}
}

// TestPresencePatterns wants a pattern's subscribers to hear who is in its topics, and those with the same
// pattern who has it; nobody hears from topics without the rule, or from those that it may not read.
func TestPresencePatterns(t *testing.T) {
	t.Parallel()
	hub := pushtest.Hub(t, push.Options{Rules: rooms, PresenceGrace: -1})
	at := pushtest.Plain(t, users(hub))
	all := pushtest.Open(t, at, visitor("", "rooms/*", "**"))
	wantNews(t, all, "here  0")
	mallory := pushtest.Open(t, at, visitor("mallory", "rooms/7"))
	settles(t, mallory, "=mallory")
	wantNews(t, all, "join mallory 1")
	for _, topics := range [][]string{{"rooms/secret"}, {"other"}, {"**"}, {"rooms/1/2"}} {
		pushtest.Open(t, at, visitor("ann", topics...))
	}
	pushtest.Open(t, at, pushtest.Query{Topics: []string{"rooms/1"}}) // nobody
	same := pushtest.Open(t, at, visitor("bob", "rooms/*"))
	wantNews(t, all, "join bob 1")
	settles(t, same, "rooms/*=bob rooms/7=mallory")
	pushtest.Open(t, at, visitor("carl", "rooms/1"))
	wantNews(t, all, "join carl 1")
	wantNews(t, same, "join carl 1")
	pushtest.Publish(t, hub, "rooms/7", "x")
	mallory.Want("x") // and of the others nothing
}

// TestPresenceOff wants nobody to be told without a rule, and what cannot be read to be refused.
func TestPresenceOff(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	at := pushtest.Plain(t, users(hub))
	s := pushtest.Open(t, at, visitor("ann", "rooms/1", "**"))
	pushtest.Open(t, at, visitor("bob", "rooms/1"))
	pushtest.Publish(t, hub, "rooms/1", "x")
	s.Want("x")
	if status, _, _ := pushtest.Refused(t, "GET", at+"?topic=a&presence=yes", nil); status != 400 {
		t.Errorf("presence=yes: %d", status)
	}
	if _, err := hub.Publish(t.Context(), push.Event{Topic: "t", Type: "hub:join"}); !errors.Is(err, push.ErrBadEvent) {
		t.Errorf("a publisher forges who joins: %v", err)
	}
}

// TestPresenceGrace wants a user that connects again to have been there all the time.
func TestPresenceGrace(t *testing.T) {
	t.Parallel()
	hub := pushtest.Hub(t, push.Options{Rules: rooms, PresenceGrace: time.Hour})
	at := pushtest.Plain(t, users(hub))
	s := pushtest.Open(t, at, visitor("", "rooms/1"))
	wantNews(t, s, "here  0")
	for i := range 3 {
		ann := pushtest.Open(t, at, visitor("ann", "rooms/1"))
		if i == 0 {
			wantNews(t, s, "join ann 1")
		}
		ann.Close()
		pushtest.Until(t, "ann has left", func() bool { return hub.Stats().Subscribers == 1+i })
		pushtest.Open(t, at, visitor(fmt.Sprint("other", i), "rooms/1"))
		wantNews(t, s, fmt.Sprintf("join other%d %d", i, 2+i))
	}
}

// TestPresenceCluster wants the users of all nodes to be named, also those who were there before a node
// began, and those of a node that is lost to leave.
func TestPresenceCluster(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched %v", watched), func(t *testing.T) {
			t.Parallel()
			m := memory.NewRegistry(nil)
			var r push.Registry = m
			if !watched {
				r = struct{ push.Registry }{m}
			}
			node := func(name string) string {
				hub := pushtest.Hub(t, push.Options{Registry: r, Node: name, Rules: rooms, PresenceGrace: -1})
				return pushtest.Plain(t, users(hub))
			}
			one := node("one")
			pushtest.Open(t, one, visitor("ann", "rooms/1"))
			pushtest.Until(t, "ann is known", func() bool {
				n, err := m.Counts(t.Context(), []string{"rooms/1"})
				return err == nil && slices.Equal(n, []int{1})
			})
			two := node("two")
			s := pushtest.Open(t, two, visitor("", "rooms/1"))
			if !watched {
				wantNews(t, s, "here  0")
				pushtest.Open(t, one, visitor("bob", "rooms/1"))
				pushtest.Open(t, two, visitor("carl", "rooms/1"))
				wantNews(t, s, "join carl 1")
				return
			}
			wantNews(t, s, "here ann 1")
			tab := pushtest.Open(t, two, visitor("ann", "rooms/1")) // on another node: still one user
			bob := pushtest.Open(t, one, visitor("bob", "rooms/1"))
			wantNews(t, s, "join bob 2")
			tab.Close()
			bob.Close()
			wantNews(t, s, "leave bob 1")
			if err := m.Update(t.Context(), push.Update{Node: "one", TTL: time.Minute, Whole: true}); err != nil {
				t.Fatal(err)
			}
			wantNews(t, s, "leave ann 0")
		})
	}
}
