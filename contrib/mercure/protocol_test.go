package mercure

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tests are named by the sections of mercure.rocks/spec. The sentences of the specification
// that they hold the endpoint to are in their comments.

// "The URL of the hub MUST be the well-known fixed path /.well-known/mercure." "The publisher
// SHOULD include at least one Link Header with rel=mercure"; "last-event-id: the identifier of
// the last event dispatched by the publisher at the time of the generation of this resource."
func TestDiscovery(t *testing.T) {
	serve(t, nil, func(s *site) {
		h := http.Header{}
		s.e.Discover(h, "https://example.com/a<b")
		want := []string{`</.well-known/mercure>; rel="mercure"; last-event-id="earliest"`, `<https://example.com/a%3Cb>; rel="self"`}
		if got := h["Link"]; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("got %q", got)
		}
		id := s.published("topic", "a", "data", "before")
		h = http.Header{}
		if s.e.Discover(h, ""); !strings.Contains(h.Get("Link"), id) {
			t.Errorf("got %q", h)
		}
		s.published("topic", "a", "data", "between")
		s.subscribe(nil, "topic=a&lastEventID="+url.QueryEscape(id)).want("between")
	})
}

// "The reserved string * matches all topics." "the hub MUST support exact matching and URI
// Templates".
func TestTopicSelectors(t *testing.T) {
	for _, c := range []struct {
		selector, topic string
		want            bool
	}{
		{"*", "anything", true},
		{"https://example.com/a", "https://example.com/a", true},
		{"https://example.com/a", "https://example.com/A", false},
		{"https://example.com/books/{id}", "https://example.com/books/1", true},
		{"https://example.com/books/{id}", "https://example.com/books/1/reviews", false},
		{"https://example.com/books/{id}", "https://example.com/books/{id}", true},
		{"https://example.com/{+path}", "https://example.com/a/b/c", true},
		{"https://example.com/{a}/x/{b}", "https://example.com/1/x/2", true},
		{"https://example.com/{a}/x/{b}", "https://example.com/1/y/2", false},
		{"/.well-known/mercure/subscriptions{/topic}{/subscriber}", "/.well-known/mercure/subscriptions/a/b", true},
		{"{x", "{x", true},
		{"{x", "y", false},
		{"a/*", "a/b", false},
		{"a/*", "a/*", true},
	} {
		s, err := newSelector(c.selector)
		if err != nil || s.match(c.topic) != c.want {
			t.Errorf("%q on %q: %v, %v", c.selector, c.topic, !c.want, err)
		}
	}
	for _, bad := range []string{"", strings.Repeat("a", 3000), "a\nb", "\xff", strings.Repeat("{a}", 17)} {
		if _, err := newSelector(bad); err == nil {
			t.Errorf("%.10q was accepted", bad)
		}
	}
}

// TestReserved wants no way to spell the topics of subscriptions that a reader of URLs (URL Standard,
// 4.4; RFC 3986, 5.2.4 and 6.2.2) takes for them.
func TestReserved(t *testing.T) {
	for topic, want := range map[string]bool{
		"/.well-known/mercure":                                       true,
		"/.well-known/mercure/subscriptions/a/b":                     true,
		"https://x.example/.well-known/mercure/x":                    true,
		"//x.example/.well-known/mercure/x":                          true,
		"https:/.well-known/mercure/x":                               true,
		"https:///x.example/.well-known/mercure/x":                   true,
		"/x/../.well-known/mercure/x":                                true,
		"/./.well-known/./mercure/x":                                 true,
		"https://x.example/../../.well-known/mercure":                true,
		"/x/%2e%2E/.well-known/mercure/x":                            true,
		"/.well-known/%6dercure/x":                                   true,
		"/.well-known%2Fmercure/x":                                   true,
		"/.well-known/mercure/subscriptions/%zz/x":                   true,
		`/.well-known\mercure\subscriptions`:                         true,
		`\\x.example\.well-known\mercure`:                            true,
		`https:\\x.example/a\..\.well-known/mercure?x`:               true,
		".well-known/mercure/x":                                      true,
		" /.well-known/mercure/x":                                    true,
		"//.well-known//mercure//x":                                  true,
		"/.well-known/mercure#x":                                     true,
		"/.well-known/mercurex":                                      false,
		"/.well-known/mercure/../x":                                  false,
		"/x?/.well-known/mercure/x":                                  false,
		"https://x.example/?next=/../.well-known/mercure":            false,
		"https://x.example/books/1":                                  false,
		"urn:uuid:1":                                                 false,
		"mercure":                                                    false,
		"/mercure/subscriptions/a/b":                                 false,
		"https://example.com/well-known/mercure/subscriptions/{x}/y": false,
	} {
		if got := reserved(topic); got != want {
			t.Errorf("%q: %v", topic, got)
		}
	}
}

// TestTemplates bounds what the selectors of a subscriber cost for each update.
func TestTemplates(t *testing.T) {
	sixteen := "https://example.com/" + strings.Repeat("{a}", 16)
	for _, c := range []struct {
		texts []string
		ok    bool
	}{
		{slices.Repeat([]string{sixteen}, 4), true},
		{slices.Repeat([]string{sixteen}, 5), false},
		{slices.Repeat([]string{"/a/{b}"}, 64), true},
		{append(slices.Repeat([]string{"/a/{b,c}"}, 32), "/d/{e}"), false},
		{append(slices.Repeat([]string{sixteen}, 4), "a", "*", "{,"), true},
	} {
		if _, err := newSelectors(c.texts); (err == nil) != c.ok {
			t.Errorf("%d of %.20q: %v", len(c.texts), c.texts[0], err)
		}
	}
	serve(t, func(o *Options) { o.Anonymous = false }, func(s *site) {
		q := url.Values{"topic": slices.Repeat([]string{sixteen}, 5)}
		if got := s.status("GET", s.url+"?"+q.Encode(), s.subscriber("*")); got != 400 {
			t.Errorf("of a request: %d", got)
		}
		if got := s.status("GET", s.url+"?topic=a", s.subscriber(slices.Repeat([]string{sixteen}, 5)...)); got != 401 {
			t.Errorf("of a token: %d", got)
		}
	})
}

// BenchmarkTemplates is what an update costs for a subscriber with the heaviest selectors: the literals
// decide, or the expressions alone do.
func BenchmarkTemplates(b *testing.B) {
	for _, size := range []int{50, 1900} {
		for kind, text := range map[string]string{"literals": "https://example.com/" + strings.Repeat("{a}", 16) + "Z", "expressions": strings.Repeat("{+a}", 16)} {
			b.Run(fmt.Sprint(kind, size), func(b *testing.B) {
				all, err := newSelectors(slices.Repeat([]string{text}, maxTemplates/maxVariables))
				if err != nil {
					b.Fatal(err)
				}
				name := "https://example.com/a" + strings.Repeat("x", size) + `"`
				for b.Loop() {
					matchAny(all, name)
				}
			})
		}
	}
}

// "The GET HTTP method MUST be used." "The hub MUST send these updates as text/event-stream
// compliant events." "The data property MUST contain the new version of the topic." "All other
// properties defined in the Server-Sent Events specification MAY be used and MUST be supported
// by hubs." "The subscriber MUST specify the list of topics".
func TestSubscription(t *testing.T) {
	serve(t, nil, func(s *site) {
		exact := s.subscribe(nil, "topic=https://example.com/books/1&topic=other")
		books := s.subscribe(nil, "topic="+url.QueryEscape("https://example.com/books/{id}"))
		all := s.subscribe(nil, "topic=*")
		long := "https://example.com/books/" + strings.Repeat("x", 1000)
		starred := s.subscribe(nil, "topic=a/*/b&topic="+long)
		id := s.published("topic", "https://example.com/books/1", "data", "one\nline\r\nand\ranother", "type", "kind", "retry", "1234")
		for _, c := range []*client{exact, books, all} {
			m := c.want("one\nline\nand\nanother")
			if m.ID != id || m.Type != "kind" || m.Retry != 1234*time.Millisecond {
				t.Errorf("got %+v, want the ID %s", m, id)
			}
		}
		s.published("topic", "https://example.com/books/2", "data", "two")
		s.published("topic", "https://example.com/books/2/reviews", "data", "review")
		s.published("topic", long, "data", "long")
		s.published("topic", "a/*/b", "data", "starred")
		s.published("topic", "other", "data", "other")
		exact.want("other")
		books.want("two", "long")
		all.want("two", "review", "long", "starred", "other")
		starred.want("long", "starred")
		for target, want := range map[string]int{
			"": 400, "?topic=": 400, "?topic=%00": 400, "?topic=" + strings.Repeat("%7Ba%7D", 17): 400,
			"?topic=a" + strings.Repeat("&topic=a", 64): 400,
			"?topic=a&lastEventID=%0A":                  400,
		} {
			if got := s.status("GET", s.url+target, nil); got != want {
				t.Errorf("%.30s: %d, want %d", target, got, want)
			}
		}
		if got := s.status("DELETE", s.url, nil); got != 405 {
			t.Errorf("DELETE: %d", got)
		}
		if got := s.status("HEAD", s.url+"?topic=a", nil); got != 200 {
			t.Errorf("HEAD: %d", got)
		}
		s.alone(4)
	})
}

// "topic: The identifiers of the updated topic. [...] If this name is present several times,
// the first occurrence is considered to be the canonical IRI of the topic, and other ones are
// considered to be alternate IRIs. The hub MUST dispatch this update to subscribers that are
// subscribed to both canonical or alternate IRIs."
func TestPublicationAlternates(t *testing.T) {
	serve(t, nil, func(s *site) {
		both := s.subscribe(nil, "topic=a&topic=b")
		alternate := s.subscribe(nil, "topic="+url.QueryEscape("c/{x}"))
		id := s.published("topic", "a", "topic", "b", "topic", "c/1", "data", "once")
		both.want("once")
		alternate.want("once")
		s.published("topic", "b", "topic", "c/2", "data", "next")
		both.want("next")
		alternate.want("next")
		s.subscribe(nil, "topic=b&lastEventID="+id).want("next")
		s.subscribe(nil, "topic=c/1&topic=c/2&lastEventID="+id).want("next")
	})
}

// "the request MUST be encoded using the application/x-www-form-urlencoded format". "On
// success, the hub MUST return a HTTP 2xx status code and the body MUST be the id associated
// to this update". "The provided ID MUST NOT start with the # character." "If omitted, the hub
// MUST generate a valid IRI." "If an invalid JWS is provided, or if a valid JWS is provided but
// it doesn't contain the mercure.publish claim [...] the hub MUST NOT dispatch the update".
func TestPublication(t *testing.T) {
	serve(t, func(o *Options) { o.MaxData = 1000 }, func(s *site) {
		all := s.subscribe(s.subscriber("*"), "topic=t")
		if id := s.published("topic", "t", "data", "1"); !strings.HasPrefix(id, "urn:uuid:") || all.want("1").ID != id {
			t.Errorf("got the ID %q", id)
		}
		if id := s.published("topic", "t", "data", "2", "id", "https://example.com/1"); id != "https://example.com/1" || all.want("2").ID != id {
			t.Errorf("got the ID %q", id)
		}
		// The hub MAY ignore an ID: here, because it would not say where to resume.
		if id := s.published("topic", "t", "data", "3", "id", "https://example.com/1"); id == "https://example.com/1" || all.want("3").ID != id {
			t.Errorf("got the ID %q again", id)
		}
		form := s.publisher("*")
		form.Set("Content-Type", "application/json")
		expired := bearer(token(t, publisherKey, map[string]any{"publish": []string{"*"}}, -time.Hour))
		for name, c := range map[string]struct {
			header http.Header
			form   []string
			want   int
		}{
			"not a form":      {form, []string{"topic", "t"}, 415},
			"no topic":        {s.publisher("*"), []string{"data", "x"}, 400},
			"bad topic":       {s.publisher("*"), []string{"topic", "a\x00"}, 400},
			"reserved ID":     {s.publisher("*"), []string{"topic", "t", "id", "#1"}, 400},
			"ID with lines":   {s.publisher("*"), []string{"topic", "t", "id", "1\ndata: forged"}, 400},
			"type with lines": {s.publisher("*"), []string{"topic", "t", "type", "a\rb"}, 400},
			"retry":           {s.publisher("*"), []string{"topic", "t", "retry", "-1"}, 400},
			"not UTF-8":       {s.publisher("*"), []string{"topic", "t", "data", "\xff"}, 400},
			"too large":       {s.publisher("*"), []string{"topic", "t", "data", strings.Repeat("x", 1001)}, 413},
			"far too large":   {s.publisher("*"), []string{"topic", "t", "data", strings.Repeat("x", 2<<20)}, 413},
			"no token":        {nil, []string{"topic", "t"}, 401},
			"expired":         {expired, []string{"topic", "t"}, 401},
			"subscriber's":    {s.subscriber("*"), []string{"topic", "t"}, 401},
			"no claim":        {bearer(token(t, publisherKey, nil, time.Hour)), []string{"topic", "t"}, 403},
			"empty claim":     {s.publisher(), []string{"topic", "t"}, 403},
			"another topic":   {s.publisher("u", "v/{id}"), []string{"topic", "t"}, 403},
			// All topics have to be allowed, or a publisher could reach those that are not.
			"one of two":      {s.publisher("t"), []string{"topic", "t", "topic", "u"}, 403},
			"forged event":    {s.publisher("*"), []string{"topic", "/.well-known/mercure/subscriptions/a/b"}, 403},
			"forged absolute": {s.publisher("*"), []string{"topic", "https://x.example/.well-known/mercure/subscriptions/a/b"}, 403},
			"forged by dots":  {s.publisher("*"), []string{"topic", "t", "topic", "/x/../.well-known/mercure/subscriptions/a/b"}, 403},
		} {
			if got, text := s.post(c.header, c.form...); got != c.want || text == "" {
				t.Errorf("%s: %d %q, want %d", name, got, text, c.want)
			}
		}
		s.published("topic", "t", "data", "end")
		all.want("end") // and nothing of what was refused
	})
}
