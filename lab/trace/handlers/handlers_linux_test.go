package handlers

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/trace"
	"strings"
	"testing"

	tracing "github.com/redline-go/redline/lab/trace"
)

// start begins to observe this process, or skips the test where that is forbidden.
func start(t *testing.T) *Watch {
	t.Helper()
	w, err := Start(os.Getpid())
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		t.Skip("functions are not observed here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type shop struct{}

func (*shop) items(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "items") }

func home(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "home") }

// All requests of a trace have the names of their handlers, of which the trace itself has few.
func TestAll(t *testing.T) {
	mux, inner := http.NewServeMux(), http.NewServeMux()
	mux.HandleFunc("/items", new(shop).items)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) })
	inner.HandleFunc("/", home)
	server := httptest.NewServer(mux)
	defer server.Close()
	ask := func(path string) {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ask("/") // the connection is there
	var b bytes.Buffer
	w := start(t)
	if err := trace.Start(&b); err != nil {
		t.Skipf("another trace is taken: %v", errors.Join(err, w.close()))
	}
	const items, homes = 200, 100
	for i := range items {
		ask("/items")
		if i < homes {
			ask("/")
		}
	}
	trace.Stop()
	seen, lost, err := w.Stop()
	if err != nil || lost > 0 {
		t.Fatal(lost, err)
	}
	r, err := tracing.Read(t.Context(), &b, tracing.Options{Handlers: seen})
	if err != nil || r.Partial != "" {
		t.Fatal(err, r.Partial)
	}
	counts := map[string]int64{}
	for _, g := range r.Groups {
		counts[g.Name[strings.LastIndexByte(g.Name, '/')+1:]] += g.Count
	}
	if counts["handlers.(*shop).items"] != items || counts["handlers.home"] != homes || counts[tracing.NotSeen] > 1 {
		t.Errorf("requests are %v", counts)
	}
}

func TestErrors(t *testing.T) {
	if _, err := Start(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that never was: %v", err)
	}
	sleep := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // it was killed
	}()
	if _, err := Start(sleep.Process.Pid); err == nil {
		t.Error("a program that is not of Go is observed")
	}
}
