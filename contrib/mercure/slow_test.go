package mercure

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestSlow wants a subscriber that does not read to be disconnected, and to get all that it has
// missed when it comes back: it could not see that something is missing.
func TestSlow(t *testing.T) {
	// The history holds all that is published until the hub has disconnected it.
	history := push.History{Events: 1 << 16, Bytes: 1 << 30}
	serve(t, func(o *Options) { o.Push = push.Options{QueueEvents: 4, History: history} }, func(s *site) {
		c := s.subscribe(nil, "topic=a")
		published, padding := 0, strings.Repeat("x", 64<<10)
		pushtest.Until(t, "it is disconnected", func() bool {
			if s.e.Stats().Endings["slow"] > 0 {
				return true
			}
			if _, err := s.e.Publish(t.Context(), Update{Topics: []string{"a"}, Data: fmt.Sprint(published, " ", padding)}); err != nil {
				t.Fatal(err)
			}
			published++
			return false
		})
		give := time.AfterFunc(pushtest.Patience, func() { c.resp.Body.Close() })
		defer give.Stop()
		seen, last := 0, ""
		for {
			m, err := c.next()
			if err != nil {
				break
			}
			if len(m.Data) == 0 {
				continue
			}
			last = m.ID
			if want := fmt.Sprint(seen, " "); !strings.HasPrefix(string(m.Data), want) {
				t.Fatalf("got %.10q, want %s", m.Data, want)
			}
			seen++
		}
		if seen == published {
			t.Fatal("it was not too slow")
		}
		c = s.subscribe(http.Header{"Last-Event-ID": {last}}, "topic=a")
		if got := c.resp.Header.Get("Last-Event-ID"); got != last {
			t.Errorf("the stream goes on after %q, not %q", got, last)
		}
		for ; seen < published; seen++ {
			if m := c.read(); !strings.HasPrefix(string(m.Data), fmt.Sprint(seen, " ")) {
				t.Fatalf("got %.10q, want %d", m.Data, seen)
			}
		}
	})
}

// TestMalformedQuery wants nothing of a query to be ignored.
func TestMalformedQuery(t *testing.T) {
	serve(t, nil, func(s *site) {
		for _, query := range []string{"topic=a&topic=b%zz", "topic=a;topic=b", "topic=a&lastEventID=%"} {
			if got := s.status("GET", s.url+"?"+query, nil); got != http.StatusBadRequest {
				t.Errorf("%s: %d", query, got)
			}
		}
	})
}

// TestCannotFlush wants middleware through which nothing can be sent to be noticed.
func TestCannotFlush(t *testing.T) {
	serve(t, func(o *Options) { o.Push.Logger = slog.New(slog.DiscardHandler) }, func(s *site) {
		deaf := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.e.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
		})
		for name, serve := range pushtest.Servers {
			if got := s.status("GET", serve(t, deaf)+Path+"?topic=a", nil); got != http.StatusInternalServerError {
				t.Errorf("%s: %d", name, got)
			}
		}
	})
}
