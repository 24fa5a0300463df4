package push_test

import (
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
	"github.com/redline-go/redline/push/topic"
)

// mounts finds where a text mounts the handler of a hub.
var mounts = regexp.MustCompile(`[hH]andle\("(?:", ")?([^"]*)", (?:(?:hub|tokens|h)\.|events\))`)

// TestMounts wants the handler as documents and examples mount it to serve pages of other
// origins, also when they resume: then the browser asks with OPTIONS first.
func TestMounts(t *testing.T) {
	files := []string{"doc.go", "../README.md", "../docs/push.md", "../docs/push-cluster.md", "../docs/push-contrib.md", "../examples/live/main.go", "../contrib/examples/cluster/main.go"}
	for _, name := range files {
		text := read(t, name)
		found := mounts.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s mounts no handler", name)
		}
		for _, m := range found {
			t.Run(name+" "+m[1], func(t *testing.T) { testForeign(t, m[1]) })
		}
	}
}

// testForeign resumes from a page of another origin.
func testForeign(t *testing.T, pattern string) {
	const origin = "https://example.com"
	hub := pushtest.Hub(t, push.Options{})
	h := hub.Handler(nil)
	h.Origins = []string{origin}
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	_, path, ok := strings.Cut(pattern, " ")
	if !ok {
		path = pattern
	}
	last := pushtest.Publish(t, hub, "t", "had").ID
	pushtest.Publish(t, hub, "t", "missed")
	status, _, got := pushtest.Refused(t, "OPTIONS", s.URL+path+"?topic=t", http.Header{
		"Origin": {origin}, "Access-Control-Request-Method": {"GET"}, "Access-Control-Request-Headers": {"last-event-id,x-tenant", "bad field"},
	})
	allowed := got.Get("Access-Control-Allow-Headers")
	if status/100 != 2 || got.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(allowed, "Last-Event-ID") ||
		!strings.Contains(allowed, ", x-tenant") || strings.Contains(allowed, "bad") {
		t.Fatalf("preflight: %d %v", status, got)
	}
	pushtest.Open(t, s.URL+path, pushtest.Query{Topics: []string{"t"}, LastID: last, Header: http.Header{"Origin": {origin}}}).Want("missed")
}

// TestSnippets compiles the program of docs/push.md, and wants what else it does with a hub
// to be in this file, line for line.
func TestSnippets(t *testing.T) {
	compiled := trimmed(read(t, "docs_test.go"))
	programs, others := 0, 0
	for i, part := range strings.Split(read(t, "../docs/push.md"), "\n```") {
		language, snippet, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 0 || language != "go":
		case strings.HasPrefix(snippet, "package main"):
			programs++
			name := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(name, []byte(snippet), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "go", "vet", name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		case strings.Contains(snippet, "hub."):
			if others++; !strings.Contains(compiled, trimmed(snippet)) {
				t.Errorf("nothing compiles this:\n%s", snippet)
			}
		}
	}
	if programs != 1 || others < 2 {
		t.Errorf("%d programs and %d snippets found", programs, others)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// trimmed is a text without empty lines and indentation.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// documented is what docs/push.md says about authorization.
func documented(hub *push.Hub, session func(*http.Request) (struct{ ID string }, error), userOf func(*http.Request) string) *push.Handler {
	h := hub.Handler(func(r *http.Request) (topics []string, err error) {
		user, err := session(r)
		if err != nil {
			return nil, push.ErrUnauthorized // 401; any other error is 403
		}
		mine, err := topic.Join("users", user.ID) // an error for the users "*" and "a/b"
		return []string{mine + "/**", "news"}, err
	})
	h.User = func(r *http.Request) string { return userOf(r) } // for MaxPerUser
	h.Origins = []string{"https://example.com"}                // CORS
	return h
}

// TestDocumentedGrant wants nobody to listen to others, whatever he is called.
func TestDocumentedGrant(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	h := documented(hub, func(r *http.Request) (user struct{ ID string }, err error) {
		if user.ID = who(r); user.ID == "nobody" {
			err = errors.New("no session")
		}
		return user, err
	}, who)
	at := pushtest.Plain(t, h)
	for user, want := range map[string]int{"nobody": 401, "*": 403, "**": 403, "": 403, "alice/..": 403, "alice/secret": 403, "bob": 403, "alice*": 403} {
		if status, _, _ := pushtest.Refused(t, "GET", at+"?topic=users/alice/secret", http.Header{"X-User": {user}}); status != want {
			t.Errorf("%q: %d, want %d", user, status, want)
		}
	}
	s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"users/alice/secret"}, Header: http.Header{"X-User": {"alice"}}})
	pushtest.Publish(t, hub, "users/alice/secret", "x")
	s.Want("x")
}

// page is what docs/push.md says about pages with a state.
func page(hub *push.Hub, w http.ResponseWriter, load func() any, render func(w http.ResponseWriter, state any, at string)) {
	at := hub.Position()
	state := load() // what is published from here on comes to the page, and may be in the state already
	render(w, state, at)
}

// histories is what docs/push.md says about reading without a stream.
func histories(hub *push.Hub, mux *http.ServeMux, authorize func(*http.Request) ([]string, error)) {
	events := hub.Handler(authorize)
	mux.Handle("/events", events)
	mux.Handle("/history", events.History()) // for those who may listen to /events
}

// stop is what docs/push.md says about the end.
func stop(ctx context.Context, hub *push.Hub, server *redline.Server) {
	hub.Shutdown(ctx) // says bye, spread over Options.Spread, and delivers what is owed
	server.Shutdown(ctx)
}

// A login, as documents have it.
type login struct {
	ID      string
	Expires time.Time
}

// ended is what docs/push.md says about ending and listing subscribers.
func ended(ctx context.Context, hub *push.Hub, h *push.Handler, session login, sessionOf func(*http.Request) login, userOf func(*http.Request) string) (int, error) {
	h.User = func(r *http.Request) string { return userOf(r) }
	h.Token = func(r *http.Request) string { return sessionOf(r).ID } // contrib/pushjwt: "jti"

	n, err := hub.End(ctx, push.Ending{User: "ann", Reason: "logged out"})
	m, err2 := hub.End(ctx, push.Ending{Token: session.ID, Until: session.Expires}) // and it does not come again

	for c := range hub.Connections() { // of this node
		log.Println(c.ID, c.User, c.Address, c.Filters, c.Transport, c.Since, c.QueuedBytes)
	}
	return n + m, errors.Join(err, err2)
}

// monitored is what docs/push.md says about metrics.
func monitored(hub *push.Hub, internal *http.ServeMux) {
	internal.Handle("/metrics", hub.Metrics()) // not where clients are
}

var _, _, _, _, _ = page, histories, stop, ended, monitored
