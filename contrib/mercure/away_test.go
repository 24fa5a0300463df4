package mercure

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline/push/pushtest"
)

func TestShutdown(t *testing.T) {
	serve(t, func(o *Options) { o.Push.Spread = -1 }, func(s *site) {
		c := s.subscribe(nil, "topic=t")
		ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
		defer cancel()
		if err := s.e.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(c.resp.Body); err != nil || !strings.Contains(string(rest), "retry: ") {
			t.Errorf("got %q, %v", rest, err)
		}
		if status, _ := s.post(s.publisher("*"), "topic", "t"); status != 503 {
			t.Errorf("publish: %d", status)
		}
		s.wantTurnedAway()
	})
}

// TestLimit wants a subscriber too many to be told when to come again, and not to count as one.
func TestLimit(t *testing.T) {
	serve(t, func(o *Options) { o.Push.MaxSubscribers = 1 }, func(s *site) {
		all := s.subscriber("/.well-known/mercure/subscriptions{/topic}{/subscriber}", "/.well-known/mercure/subscriptions")
		s.subscribe(nil, "topic=t")
		s.wantTurnedAway()
		if status, doc := s.documents(all, "/subscriptions"); status != 200 || len(doc.Subscriptions) != 1 {
			t.Errorf("subscriptions: %d %+v", status, doc)
		}
	})
}

// wantTurnedAway wants an EventSource to get a stream that says when to come again and ends, and others 503.
func (s *site) wantTurnedAway() {
	s.t.Helper()
	for _, accept := range []string{"text/event-stream", "text/html, Text/Event-Stream;q=0.9"} {
		resp := s.do("GET", s.url+"?topic=t", http.Header{"Accept": {accept}, "Last-Event-Id": {"1"}}, "")
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(string(body), "retry: ") {
			s.t.Errorf("%s: %d %v %q, %v", accept, resp.StatusCode, resp.Header, body, err)
		}
	}
	for _, header := range []http.Header{nil, {"Accept": {"*/*"}}, {"Accept": {"application/json"}}} {
		status, text, got := pushtest.Refused(s.t, "GET", s.url+"?topic=t", header)
		if status != 503 || got.Get("Retry-After") == "" || strings.Count(text, "\n") != 1 {
			s.t.Errorf("%v: %d %v %q", header, status, got, text)
		}
	}
}
