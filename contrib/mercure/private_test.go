package mercure

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// "If an Authorization HTTP header is present, its token MUST be used; otherwise the query
// parameter authorization; otherwise the cookie mercureAuthorization." "the hub MUST verify
// that the Origin HTTP header matches" for a POST with a cookie.
func TestAuthorization(t *testing.T) {
	serve(t, func(o *Options) {
		o.Anonymous = false
		o.Origins = []string{"https://app.example"}
	}, func(s *site) {
		good := strings.TrimPrefix(s.subscriber("*").Get("Authorization"), "Bearer ")
		bad := token(t, subscriberKey, nil, -time.Hour)
		for _, c := range []struct {
			header, query, cookie string
			want                  int
		}{
			{"", "", "", 401},
			{good, "", "", 200},
			{"", good, "", 200},
			{"", "", good, 200},
			{bad, good, good, 401},
			{"", bad, good, 401},
			{good, bad, bad, 200},
			{"", "", bad, 401},
			{"x.y.z", "", "", 401},
		} {
			h := http.Header{}
			if c.header != "" {
				h = bearer(c.header)
			}
			if c.cookie != "" {
				h.Set("Cookie", "mercureAuthorization="+c.cookie)
			}
			resp := s.do("GET", s.url+"?topic=t&authorization="+c.query, h, "")
			if resp.StatusCode != c.want || c.want == 401 && resp.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%d %d %d: got %d %v, want %d", len(c.header), len(c.query), len(c.cookie), resp.StatusCode, resp.Header, c.want)
			}
			resp.Body.Close()
		}
		publisher := strings.TrimPrefix(s.publisher("*").Get("Authorization"), "Bearer ")
		for origin, want := range map[string]int{"https://app.example": 200, "https://evil.example": 403} {
			h := http.Header{"Cookie": {"mercureAuthorization=" + publisher}, "Origin": {origin}}
			if got, text := s.post(h, "topic", "t"); got != want {
				t.Errorf("a cookie sent from %s: %d %s", origin, got, text)
			}
			delete(h, "Origin")
			h.Set("Referer", origin+"/page?x")
			if got, text := s.post(h, "topic", "t"); got != want {
				t.Errorf("a cookie sent from a page of %s: %d %s", origin, got, text)
			}
			delete(h, "Referer")
			h.Set("Origin", origin)
			resp := s.do("OPTIONS", s.url, h, "")
			if got := resp.Header.Get("Access-Control-Allow-Origin"); (got == origin) != (want == 200) || resp.StatusCode != 204 {
				t.Errorf("OPTIONS from %s: %d %q", origin, resp.StatusCode, got)
			}
		}
		for _, referer := range []string{"", "no URL", "about:blank", "https://app.example.evil.example/"} {
			h := http.Header{"Cookie": {"mercureAuthorization=" + publisher}, "Referer": {referer}}
			if got, text := s.post(h, "topic", "t"); got != 403 {
				t.Errorf("a cookie with the referer %q: %d %s", referer, got, text)
			}
		}
	})
}

// TestVary wants a cache to tell apart what pages of different origins get, and what clients with
// different fields Accept get.
func TestVary(t *testing.T) {
	serve(t, func(o *Options) { o.Origins = []string{"https://app.example"} }, func(s *site) {
		for _, target := range []string{"?topic=t", "?topic=", "/subscriptions", "/nothing"} {
			for _, origin := range []string{"https://app.example", "https://evil.example", ""} {
				h := http.Header{}
				if origin != "" {
					h.Set("Origin", origin)
				}
				resp := s.do("GET", s.url+target, h, "")
				if got := strings.Join(resp.Header.Values("Vary"), ", "); strings.Count(got, "Origin") != 1 {
					t.Errorf("%s from %q: %d, Vary %q", target, origin, resp.StatusCode, got)
				}
				resp.Body.Close()
			}
		}
	})
}

// "To receive updates marked as private, a subscriber MUST send a JWS containing an array of
// topic selectors named mercure.subscribe [...] at least one of the topics of the update
// (canonical or alternate) matches at least one of the provided selectors." "private: if this
// name is present, the update MUST NOT be dispatched to unauthorized subscribers."
func TestSubscribers(t *testing.T) {
	serve(t, nil, func(s *site) {
		anybody := s.subscribe(nil, "topic=*")
		books := s.subscribe(s.subscriber("https://example.com/books/{id}"), "topic=*")
		one := s.subscribe(s.subscriber("https://example.com/books/1"), "topic="+url.QueryEscape("https://example.com/books/{id}"))
		user := s.subscribe(s.subscriber("https://example.com/users/me/{?topic}"), "topic=https://example.com/books/3")
		all := s.subscribe(s.subscriber("*"), "topic=https://example.com/books/2")
		s.published("topic", "https://example.com/books/1", "data", "1", "private", "on")
		s.published("topic", "https://example.com/books/2", "data", "2", "private", "")
		s.published("topic", "other", "data", "secret", "private", "on")
		s.published("topic", "https://example.com/books/3", "topic", "https://example.com/users/me/?topic=x", "data", "3", "private", "on")
		s.published("topic", "https://example.com/books/2", "topic", "https://example.com/books/3", "data", "public")
		anybody.want("public")
		books.want("1", "2", "3", "public")
		one.want("1", "public")
		user.want("3", "public")
		all.want("2", "public")
		// The history is no way around it.
		s.subscribe(nil, "topic=*&lastEventID=earliest").want("public")
		s.subscribe(s.subscriber("other"), "topic=*&lastEventID=earliest").want("secret", "public")
	})
}

// "the hub MUST close the connection" when the token expires.
func TestSubscribersExpiry(t *testing.T) {
	serve(t, func(o *Options) { o.Push.Heartbeat = 100 * time.Millisecond }, func(s *site) {
		var c *client
		pushtest.Until(t, "it has subscribed before its token expired", func() bool {
			short := token(t, subscriberKey, map[string]any{"subscribe": []string{"*"}}, 2*time.Second)
			resp := s.do("GET", s.url+"?topic=t", bearer(short), "")
			c = &client{s.t, resp, nil}
			return resp.StatusCode == http.StatusOK
		})
		give := time.AfterFunc(pushtest.Patience, func() { c.resp.Body.Close() })
		defer give.Stop()
		if _, err := io.Copy(io.Discard, c.resp.Body); err != nil {
			t.Errorf("the stream did not end in order: %v", err)
		}
		s.alone(0)
	})
}

// "the subscriber MUST send the event id [...] in a Last-Event-ID HTTP header", "the hub MUST
// also allow to pass the last event id in a query parameter named lastEventID". "If both are
// present, the HTTP header MUST take precedence." "The reserved value earliest can be used to
// hint the hub to send all updates it has". "the hub MUST set a Last-Event-ID header on the
// HTTP response": the ID before the first event sent, or earliest.
func TestReconnection(t *testing.T) {
	serve(t, func(o *Options) { o.Push.History = push.History{Events: 3} }, func(s *site) {
		var ids []string
		for _, data := range []string{"0", "1", "2", "3"} {
			ids = append(ids, s.published("topic", "t", "data", data))
		}
		id := url.QueryEscape
		header := func(last string) http.Header { return http.Header{"Last-Event-ID": {last}} }
		for name, c := range map[string]struct {
			header http.Header
			query  string
			from   string
			want   []string
		}{
			"header":     {header(ids[2]), "", ids[2], []string{"3"}},
			"query":      {nil, "&lastEventID=" + id(ids[1]), ids[1], []string{"2", "3"}},
			"both":       {header(ids[2]), "&lastEventID=" + id(ids[1]), ids[2], []string{"3"}},
			"older name": {nil, "&Last-Event-ID=" + id(ids[1]), ids[1], []string{"2", "3"}},
			"polyfill":   {nil, "&lastEventId=" + id(ids[1]), ids[1], []string{"2", "3"}},
			"earliest":   {nil, "&lastEventID=earliest", "earliest", []string{"1", "2", "3"}},
			"the last":   {nil, "&lastEventID=" + id(ids[3]), ids[3], nil},
			"dropped":    {nil, "&lastEventID=" + id(ids[0]), ids[0], []string{"1", "2", "3"}},
			"unknown":    {nil, "&lastEventID=urn:uuid:unknown", "earliest", []string{"1", "2", "3"}},
			"none":       {nil, "", "", nil},
		} {
			client := s.subscribe(c.header, "topic=t"+c.query)
			if got := client.resp.Header.Get("Last-Event-ID"); got != c.from {
				t.Errorf("%s: Last-Event-ID %q, want %q", name, got, c.from)
			}
			client.want(c.want...)
			client.resp.Body.Close()
		}
	})
}

// A subscriber whose last update is not held any more continues after it: that is neither a loss
// nor a reason to skip what is held.
func TestReconnectionQuiet(t *testing.T) {
	serve(t, func(o *Options) { o.Push.History = push.History{Events: 2} }, func(s *site) {
		s.subscribe(nil, "topic=quiet").resp.Body.Close()
		last := s.published("topic", "busy", "topic", "quiet", "data", "first")
		resume := func(topic, from string, want ...string) {
			t.Helper()
			c := s.subscribe(nil, "topic="+topic+"&lastEventID="+url.QueryEscape(last))
			if got := c.resp.Header.Get("Last-Event-ID"); got != from {
				t.Errorf("%s: Last-Event-ID %q, want %q", topic, got, from)
			}
			c.want(want...)
			c.resp.Body.Close()
		}
		for _, data := range []string{"1", "2", "3", "4"} {
			s.published("topic", "busy", "data", data)
		}
		resume("quiet", last)
		s.published("topic", "quiet", "data", "second")
		resume("quiet", last, "second")
		resume("busy", "earliest", "3", "4")
	})
}

func (s *site) documents(header http.Header, path string) (status int, doc collection) {
	s.t.Helper()
	resp := s.do("GET", s.url+path, header, "")
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode == 200 {
		if kind := resp.Header.Get("Content-Type"); kind != "application/ld+json" {
			s.t.Errorf("Content-Type %q", kind)
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			s.t.Fatal(err)
		}
	}
	return resp.StatusCode, doc
}

// "the hub MUST publish an update when a subscription is created or terminated", private, on
// "/.well-known/mercure/subscriptions/{topic}/{subscriber}", a JSON-LD document with payload.
func TestSubscriptionEvents(t *testing.T) {
	serve(t, nil, func(s *site) {
		const events = "/.well-known/mercure/subscriptions{/topic}{/subscriber}"
		watcher := s.subscribe(s.subscriber(events), "topic="+url.QueryEscape(events))
		watcher.read() // its own
		nobody := s.subscribe(nil, "topic=end&topic="+url.QueryEscape(events))
		watcher.read()
		watcher.read()
		const topic = "https://example.com/{id}"
		c := s.subscribe(s.subscriber(), "topic="+url.QueryEscape(topic))
		var doc subscription
		for _, active := range []bool{true, false} {
			m := watcher.read()
			if err := json.Unmarshal(m.Data, &doc); err != nil {
				t.Fatal(err)
			}
			want := Path + "/subscriptions/https%3A%2F%2Fexample.com%2F%7Bid%7D/" + url.QueryEscape(doc.Subscriber)
			if doc.ID != want || doc.Type != "Subscription" || doc.Context != ldContext || doc.Topic != topic || doc.Active != active {
				t.Errorf("got %s, want the ID %s", m.Data, want)
			}
			if payload, _ := doc.Payload.(map[string]any); payload["who"] != "me" {
				t.Errorf("got the payload %v", doc.Payload)
			}
			c.resp.Body.Close()
		}
		s.published("topic", "end", "data", "end")
		nobody.want("end")
	})
}

// TestSubscriptionTopics wants the history of what was published to outlast any number of joins
// and leaves, and a watcher to be able to resume among them.
func TestSubscriptionTopics(t *testing.T) {
	serve(t, func(o *Options) { o.Push.MaxTopics = 4 }, func(s *site) {
		const events = "/.well-known/mercure/subscriptions{/topic}{/subscriber}"
		s.published("topic", "t", "data", "first")
		all := s.subscriber(events)
		_, doc := s.documents(all, "/subscriptions")
		for i := range 8 {
			s.subscribe(nil, fmt.Sprint("topic=", i)).resp.Body.Close()
		}
		s.alone(0)
		watcher := s.subscribe(all, "topic="+url.QueryEscape(events)+"&lastEventID="+url.QueryEscape(doc.LastEventID))
		if got := watcher.resp.Header.Get("Last-Event-ID"); got != doc.LastEventID {
			t.Errorf("it goes on after %q, want %q", got, doc.LastEventID)
		}
		for range 17 { // its own begin is the last
			watcher.read()
		}
		s.subscribe(nil, "topic=t&lastEventID=earliest").want("first")
	})
}

// "The web API MUST expose endpoints following these patterns". "If the requested subscription
// does not exist, a 404 status code MUST be returned." "the lastEventID property".
func TestSubscriptionAPI(t *testing.T) {
	serve(t, nil, func(s *site) {
		all := s.subscriber("/.well-known/mercure/subscriptions{/topic}{/subscriber}")
		if status, doc := s.documents(all, "/subscriptions"); status != 200 || doc.LastEventID != "earliest" || doc.Type != "Subscriptions" || doc.Subscriptions == nil || len(doc.Subscriptions) > 0 {
			t.Errorf("without subscriptions: %d %+v", status, doc)
		}
		const topic = "https://example.com/a b"
		s.subscribe(nil, "topic="+url.QueryEscape(topic)+"&topic=x&topic=x")
		s.subscribe(s.subscriber(), "topic=x")
		status, doc := s.documents(all, "/subscriptions")
		if status != 200 || len(doc.Subscriptions) != 3 || doc.ID != Path+"/subscriptions" || doc.LastEventID == "earliest" {
			t.Fatalf("all: %d %+v", status, doc)
		}
		one := doc.Subscriptions[0]
		if status, doc = s.documents(all, "/subscriptions/https%3A%2F%2Fexample.com%2Fa%20b"); status != 200 || len(doc.Subscriptions) != 1 || doc.Subscriptions[0].Topic != topic {
			t.Errorf("of a topic: %d %+v", status, doc)
		}
		if status, doc = s.documents(all, strings.TrimPrefix(one.ID, Path)); status != 200 || doc.ID != one.ID || doc.LastEventID == "" || doc.Type != "Subscription" {
			t.Errorf("one: %d %+v", status, doc)
		}
		for path, want := range map[string]int{
			"/subscriptions/x/urn%3Auuid%3Ano": 404, "/subscriptions/x/y/z": 404, "/subscriptions/": 404, "/subs": 404,
		} {
			if status, _ = s.documents(all, path); status != want {
				t.Errorf("%s: %d, want %d", path, status, want)
			}
		}
		if status, _ = s.documents(nil, "/subscriptions"); status != 401 {
			t.Errorf("nobody: %d", status)
		}
		tag := func(path, given string) (status int, tag string) {
			h := all.Clone()
			h.Set("If-None-Match", given)
			resp := s.do("GET", s.url+path, h, "")
			return resp.StatusCode, resp.Header.Get("ETag")
		}
		for _, path := range []string{"/subscriptions", strings.TrimPrefix(one.ID, Path)} {
			_, now := tag(path, "")
			for given, want := range map[string]int{now: 304, "W/" + now: 304, `"x", ` + now: 304, "*": 304, `"x"`: 200, "": 200} {
				if status, _ := tag(path, given); status != want {
					t.Errorf("%s, If-None-Match: %s: %d, want %d", path, given, status, want)
				}
			}
			s.subscribe(nil, "topic=x")
			if status, then := tag(path, now); status != 200 || then == now {
				t.Errorf("%s after a change: %d %s", path, status, then)
			}
		}
		x := s.subscriber("/.well-known/mercure/subscriptions/x")
		if status, _ = s.documents(x, "/subscriptions"); status != 403 {
			t.Errorf("all, with a right to one: %d", status)
		}
		if status, doc = s.documents(x, "/subscriptions/x"); status != 200 || len(doc.Subscriptions) != 4 {
			t.Errorf("one, with a right to it: %d %+v", status, doc)
		}
		if got := s.status("POST", s.url+"/subscriptions", all); got != 405 {
			t.Errorf("POST: %d", got)
		}
	})
}

// TestCutAfterLeave closes the endpoint while its clients leave.
func TestCutAfterLeave(t *testing.T) {
	for range 20 {
		serve(t, nil, func(s *site) {
			var all []*client
			for range 4 {
				all = append(all, s.subscribe(nil, "topic=t"))
			}
			for _, c := range all {
				c.resp.Body.Close()
			}
			_ = s.e.Close()
			s.alone(0)
		})
	}
}
