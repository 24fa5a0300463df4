package push_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// A deaf ResponseWriter hides what the server's own can do.
type deaf struct{ w http.ResponseWriter }

func (d deaf) Header() http.Header         { return d.w.Header() }
func (d deaf) Write(b []byte) (int, error) { return d.w.Write(b) }
func (d deaf) WriteHeader(status int)      { d.w.WriteHeader(status) }

// lines are those of a log.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// A wrapper unwraps to another.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestCannotFlush wants middleware through which nothing can be sent to be noticed: by the
// client, whose stream would end at once and for ever, and in the log.
func TestCannotFlush(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			log := make(lines, 100)
			hub := pushtest.Hub(t, push.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
			h := hub.Handler(nil)
			at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.Header.Get("X-Wrap") {
				case "deaf":
					w = deaf{w}
				case "inside":
					w = wrapper{deaf{w}}
				default:
					w = wrapper{wrapper{w}}
				}
				h.ServeHTTP(w, r)
			}))
			for _, wrap := range []string{"deaf", "inside", "deaf"} {
				status, text, _ := pushtest.Refused(t, "GET", at+"?topic=t", http.Header{"X-Wrap": {wrap}})
				if status != 500 || !strings.Contains(text, "cannot send events") {
					t.Errorf("%s: %d %q", wrap, status, text)
				}
			}
			if n := hub.Stats().Subscribers; n != 0 {
				t.Errorf("%d subscribers", n)
			}
			s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}})
			pushtest.Publish(t, hub, "t", "x")
			s.Want("x")
			if len(log) != 1 {
				t.Fatalf("%d lines in the log", len(log))
			}
			if line := <-log; !strings.Contains(line, "push_test.deaf") {
				t.Errorf("in the log: %s", line)
			}
		})
	}
}

// TestVary wants each name in the field Vary once, on each server.
func TestVary(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			h := pushtest.Hub(t, push.Options{}).Handler(nil)
			h.Origins = []string{"https://example.com"}
			r, err := http.NewRequestWithContext(t.Context(), "GET", serve(t, h)+"?topic=t", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "https://example.com")
			transport := pushtest.NewTransport()
			defer transport.CloseIdleConnections()
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := strings.Join(resp.Header["Vary"], " "); got != "Origin Accept" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestManyGrants wants a client that asks for nothing to get all that it may, although it
// could not ask for so much.
func TestManyGrants(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{MaxFilters: 5})
	topics := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("t/", i))
		}
		return all
	}
	at := pushtest.Plain(t, hub.Handler(func(r *http.Request) ([]string, error) {
		n, err := strconv.Atoi(r.Header.Get("X-Granted"))
		return append(topics(n), topics(n)...), err
	}))
	granted := func(n int) http.Header { return http.Header{"X-Granted": {strconv.Itoa(n)}} }
	s := pushtest.Open(t, at, pushtest.Query{Header: granted(80)})
	pushtest.Publish(t, hub, "t/0", "first")
	pushtest.Publish(t, hub, "t/79", "last")
	s.Want("first", "last")
	pushtest.Open(t, at, pushtest.Query{Topics: topics(5), Header: granted(80)})
	if status, text, _ := pushtest.Refused(t, "GET", pushtest.Query{Topics: topics(6)}.URL(at), granted(80)); status != 400 {
		t.Errorf("6 are asked for: %d %q", status, text)
	}
	if status, text, _ := pushtest.Refused(t, "GET", at, granted(81)); status != 400 || !strings.Contains(text, "?topic=") {
		t.Errorf("81 are granted: %d %q", status, text)
	}
}

// A noting ResponseWriter notes what is called, in order.
type noting struct {
	header http.Header
	calls  []string
}

func (n *noting) Header() http.Header { return n.header }

func (n *noting) WriteHeader(status int) { n.calls = append(n.calls, strconv.Itoa(status)) }

func (n *noting) Write(b []byte) (int, error) {
	n.calls = append(n.calls, "write")
	return len(b), nil
}

func (n *noting) FlushError() error {
	n.calls = append(n.calls, "flush")
	return nil
}

// TestOrderOfCalls: a ResponseWriter of another protocol sees the head of a stream first, then its
// messages, and what is to leave before the handler returns is flushed. A bye instead of a stream needs no
// flush.
func TestOrderOfCalls(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{MaxSubscribers: 1})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ask := func(accept, want string) {
		t.Helper()
		r, w := httptest.NewRequestWithContext(gone, "GET", "/?topic=t", nil), &noting{header: http.Header{}}
		r.Header.Set("Accept", accept)
		hub.Handler(nil).ServeHTTP(w, r)
		if got := strings.Join(w.calls, " "); got != want {
			t.Errorf("%s: %s, want %s", accept, got, want)
		}
	}
	ask("text/event-stream", "200 flush write flush")
	pushtest.Open(t, pushtest.Plain(t, hub.Handler(nil)), pushtest.Query{Topics: []string{"t"}})
	ask("text/event-stream", "200 write")
	ask("application/x-ndjson", "503 write")
}
