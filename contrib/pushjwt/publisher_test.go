package pushjwt_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// send sends a request, and returns the answer.
func send(t *testing.T, method, target, body string, header http.Header) (status int, text string, h http.Header) {
	t.Helper()
	transport := pushtest.NewTransport()
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// TestPublisher wants those whose tokens allow it to publish, once for each Idempotency-Key, and nobody else.
func TestPublisher(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}, Cookie: "session"})
			hub := pushtest.Hub(t, push.Options{MaxEventBytes: 1000})
			mux := http.NewServeMux()
			mux.Handle("/events", hub.Handler(nil))
			mux.Handle("/publish", tokens.Publisher(hub, 2000))
			at := serve(t, mux)
			do := func(method, query, body string, header http.Header) (status int, text string, h http.Header) {
				t.Helper()
				return send(t, method, at+"/publish"+query, body, header)
			}
			token := sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"publish": []string{"a/*"}})
			good := http.Header{"Authorization": {"Bearer " + token}}
			once := good.Clone()
			once.Set("Idempotency-Key", "order-1")
			s := pushtest.Open(t, at+"/events", pushtest.Query{Topics: []string{"a/*"}})
			status, text, h := do("POST", "?topic=a/1&type=kind", "hello", once)
			var got struct {
				ID        string
				Duplicate bool
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.ID != "order-1" || got.Duplicate || h.Get("Content-Type") != "application/json" {
				t.Errorf("got %d %s %v, %v", status, text, h, err)
			}
			if status, text, _ = do("POST", "?topic=a/1", "hello", once); status != 200 || !strings.Contains(text, `"duplicate":true`) {
				t.Errorf("again: %d %s", status, text)
			}
			forged := http.Header{"Cookie": {"session=" + token}, "Origin": {"https://evil.example"}}
			bad := good.Clone()
			bad.Set("Idempotency-Key", strings.Repeat("x", 300))
			for what, c := range map[string]struct {
				method, query, body string
				header              http.Header
				want                int
			}{
				"GET":            {"GET", "?topic=a/1", "", good, 405},
				"no token":       {"POST", "?topic=a/1", "x", http.Header{}, 401},
				"another topic":  {"POST", "?topic=b", "x", good, 403},
				"another's page": {"POST", "?topic=a/1", "x", forged, 403},
				"no topic":       {"POST", "", "x", good, 400},
				"a pattern":      {"POST", "?topic=a/*", "x", good, 400},
				"a bad type":     {"POST", "?topic=a/1&type=hub:gap", "x", good, 400},
				"a bad ID":       {"POST", "?topic=a/1", "x", bad, 400},
				"large":          {"POST", "?topic=a/1", strings.Repeat("x", 1001), good, 413},
				"very large":     {"POST", "?topic=a/1", strings.Repeat("x", 2001), good, 413},
			} {
				if status, text, h := do(c.method, c.query, c.body, c.header); status != c.want || strings.Count(text, "\n") != 1 || h.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: %d %q, want %d", what, status, text, c.want)
				}
			}
			do("POST", "?topic=a/2", "end", good)
			if m := s.Want("hello"); m.Type != "kind" || m.ID != "order-1" {
				t.Errorf("got %+v", m)
			}
			s.Want("end") // and nothing of what was refused
			_ = hub.Close()
			if status, text, h := do("POST", "?topic=a/2", "late", good); status != 503 || h.Get("Retry-After") == "" || !strings.Contains(text, "Idempotency-Key") {
				t.Errorf("after the end: %d %s", status, text)
			}
		})
	}
}
