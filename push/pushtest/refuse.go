package pushtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
)

func testRefused(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	for _, c := range []struct {
		method, query string
		header        http.Header
		want          int
	}{
		{"GET", "", nil, 400},
		{"GET", "?topic=", nil, 400},
		{"GET", "?topic=a%0Ab", nil, 400},
		{"GET", "?topic=**/a", nil, 400},
		{"GET", "?topic=" + strings.Repeat("a", 600), nil, 400},
		{"GET", "?" + manyTopics(65), nil, 400},
		{"GET", "?topic=a&topic=b%zz", nil, 400},
		{"GET", "?topic=a&topic=b;topic=c", nil, 400},
		{"GET", "?topic=a&last_event_id=" + strings.Repeat("a", 300), nil, 400},
		{"GET", "?topic=a&last_event_id=a%0Ab", nil, 400},
		{"GET", "?topic=a&format=xml", nil, 406},
		{"GET", "?topic=a", http.Header{"Accept": {"text/html, text/event-stream;q=0"}}, 406},
		{"POST", "?topic=a", nil, 405},
		{"DELETE", "?topic=a", nil, 405},
	} {
		status, text, _ := Refused(t, c.method, at+c.query, c.header)
		if status != c.want || strings.Count(text, "\n") > 1 || len(text) < 10 {
			t.Errorf("%s %.60s: %d %q, want %d and a line", c.method, c.query, status, text, c.want)
		}
	}
	status, text, header := Refused(t, "HEAD", at+"?topic=a", nil)
	if status != 200 || text != "" || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("HEAD: %d %q %v", status, text, header)
	}
	if n := hub.Stats().Subscribers; n != 0 {
		t.Errorf("%d subscribers", n)
	}
}

func manyTopics(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "&topic=t%d", i)
	}
	return b.String()
}

func testAuthorized(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	h := hub.Handler(func(r *http.Request) ([]string, error) {
		switch r.Header.Get("Authorization") {
		case "":
			return nil, push.ErrUnauthorized
		case "bad":
			return nil, fmt.Errorf("a secret reason")
		}
		return []string{"orders/*", "news"}, nil
	})
	h.Origins = []string{"https://example.com"}
	at := mount(t, h)
	as := func(who string) http.Header {
		return http.Header{"Authorization": {who}, "Origin": {"https://example.com"}}
	}
	for _, c := range []struct {
		query, who string
		want       int
	}{
		{"?topic=news", "", 401},
		{"?topic=news", "bad", 403},
		{"?topic=orders/**", "me", 403},
		{"?topic=news&topic=other", "me", 403},
		{"?topic=other%zz", "me", 400},
	} {
		header := as(c.who)
		if c.who == "" {
			header.Del("Authorization")
		}
		status, text, got := Refused(t, "GET", at+c.query, header)
		if status != c.want || strings.Contains(text, "secret") || got.Get("Access-Control-Allow-Origin") != "https://example.com" {
			t.Errorf("%s as %q: %d %q %v, want %d", c.query, c.who, status, text, got, c.want)
		}
	}
	if status, _, got := Refused(t, "OPTIONS", at, as("")); status != 204 || !strings.Contains(got.Get("Access-Control-Allow-Headers"), "Last-Event-ID") {
		t.Errorf("OPTIONS: %d %v", status, got)
	}
	all := Open(t, at, Query{Header: as("me")})
	some := Open(t, at, Query{Topics: []string{"orders/1"}, Header: as("me")})
	for _, topic := range []string{"other", "news", "orders/1", "orders/2"} {
		Publish(t, hub, topic, topic)
	}
	all.Want("news", "orders/1", "orders/2")
	some.Want("orders/1")
}

func testLimits(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{MaxSubscribers: 3, MaxPerUser: 1})
	h := hub.Handler(nil)
	h.User = func(r *http.Request) string { return r.Header.Get("X-User") }
	at := mount(t, h)
	refused := func(user string) {
		t.Helper()
		status, text, header := Refused(t, "GET", at+"?topic=a", http.Header{"X-User": {user}})
		if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(text, "too many") {
			t.Errorf("got %d %q %v, want 503 and Retry-After", status, text, header)
		}
	}
	a := Open(t, at, Query{Topics: []string{"a"}, Header: http.Header{"X-User": {"a"}}})
	refused("a")
	Open(t, at, Query{Topics: []string{"a"}, Header: http.Header{"X-User": {"b"}}})
	Open(t, at, on("a"))
	refused("c")
	a.Close()
	Until(t, "the client has left", func() bool { return hub.Stats().Subscribers == 2 })
	Open(t, at, Query{Topics: []string{"a"}, Header: http.Header{"X-User": {"a"}}})
	if st := hub.Stats(); st.Refusals["user"] != 1 || st.Refusals["subscribers"] != 1 || st.Subscribers != 3 {
		t.Errorf("got %+v", st)
	}
}

// testLeave has many clients come and go, with and without anything being sent to them.
func testLeave(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	stays := Open(t, at, on("t"))
	for round := range 3 {
		var all []*Stream
		for range 30 {
			all = append(all, Open(t, at, on("t", fmt.Sprint("own/", round))))
		}
		Publish(t, hub, "t", "x")
		for i, s := range all {
			if i%2 == 0 {
				s.Want("x")
			}
			s.Close()
		}
		Publish(t, hub, "t", "y")
		Until(t, "the clients have left", func() bool { return hub.Stats().Subscribers == 1 })
		if n := hub.Subscribers(fmt.Sprint("own/", round)); n != 0 {
			t.Errorf("%d are still listed", n)
		}
		stays.Want("x", "y")
	}
}

func testHeartbeat(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{Heartbeat: 100 * time.Millisecond})
	at := mount(t, hub.Handler(nil))
	for _, format := range []string{"sse", "ndjson", "protobuf"} {
		s := Open(t, at, Query{Topics: []string{"t"}, Format: format})
		s.Beat()
		Publish(t, hub, "t", "x")
		s.Want("x")
		s.Beat()
		s.Close()
	}
}

func testLifetime(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{Lifetime: 300 * time.Millisecond})
	at := mount(t, hub.Handler(nil))
	s := Open(t, at, on("t"))
	rest, err := s.End()
	if err != nil || len(rest) != 1 || rest[0].Bye == nil || rest[0].Bye.Reason != "lifetime" {
		t.Fatalf("got %+v, %v", rest, err)
	}
	Publish(t, hub, "t", "x")
	Open(t, at, Query{Topics: []string{"t"}, LastID: s.Start.ID}).Want("x")
}

func testShutdown(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{Spread: 50 * time.Millisecond})
	at := mount(t, hub.Handler(nil))
	var all []*Stream
	for range 20 {
		all = append(all, Open(t, at, on("t")))
	}
	for i := range 10 {
		Publish(t, hub, "t", fmt.Sprint(i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := hub.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		rest, err := s.End()
		if err != nil || len(rest) != 11 || string(rest[9].Data) != "9" || rest[10].Bye == nil || rest[10].Bye.Reason != "shutdown" {
			t.Fatalf("got %+v, %v", rest, err)
		}
	}
	if _, err := hub.Publish(ctx, push.Event{Topic: "t"}); err != push.ErrClosed {
		t.Errorf("Publish: %v", err)
	}
	if status, _, header := Refused(t, "GET", at+"?topic=t", nil); status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("got %d", status)
	}
}

func testClose(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	s := Open(t, at, on("t"))
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := s.End()
	if len(rest) != 0 {
		t.Errorf("got %+v", rest)
	}
	Until(t, "all are gone", func() bool { return hub.Stats().Subscribers == 0 })
}
