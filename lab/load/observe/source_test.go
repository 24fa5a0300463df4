package observe

import (
	"bufio"
	"context"
	"errors"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const snapshotLine = `{"schema":"redline.runtime/1","subject":"shop","title":"shop 1.2.3","go":"go1.26.8",` +
	`"gomaxprocs":1,"goroutines":12,"alloc_objects":123,"alloc_bytes":456,"heap_bytes":789,"live_bytes":700,"gc_cycles":3,` +
	`"gc_cpu_seconds":1.5,"idle_cpu_seconds":10,"cpu_seconds":20,"profiles":["cpu"],` +
	`"pauses":{"le_seconds":[0.00001,0.002],"counts":[4,2]},"latencies":{"le_seconds":[1e-6],"counts":[9]}}`

// serveSocket answers each newline with the line, and closes a connection after the given
// number of answers.
func serveSocket(t *testing.T, line string, each int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for range each {
				if _, err := in.ReadByte(); err != nil {
					break
				}
				fmt.Fprintln(conn, line)
			}
			conn.Close()
		}
	}()
	return path
}

// A broken connection is an error once, and is then replaced.
func TestSocket(t *testing.T) {
	s, first, err := OpenSocket(t.Context(), serveSocket(t, snapshotLine, 2))
	if err != nil || first.Title != "shop 1.2.3" || first.LiveBytes != 700 || first.GCCPUSeconds != 1.5 || first.Latencies.Counts[0] != 9 || first.Profiles[0] != "cpu" {
		t.Fatalf("%+v, %v", first, err)
	}
	if s.Name() != "control" || s.Every() != 0 {
		t.Errorf("%s, %v", s.Name(), s.Every())
	}
	for i, fine := range []bool{true, false, true, true, false} {
		if got, err := s.Snapshot(t.Context()); (err == nil) != fine || fine && got.Goroutines != 12 {
			t.Errorf("reading %d: %+v, %v", i, got, err)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSocketRefused(t *testing.T) {
	if _, _, err := OpenSocket(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no socket: no error")
	}
	// A socket that accepts connections and never answers: the end of a context ends the call.
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := OpenSocket(ctx, path); err == nil {
		t.Error("no answer: no error")
	}
}

// pages starts a server with the pages of net/http/pprof and expvar.
func pages(t *testing.T, vars bool) (base string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	if vars {
		mux.Handle("/debug/vars", expvar.Handler())
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/debug/pprof"
}

var garbage []byte

func TestPProf(t *testing.T) {
	for _, vars := range []bool{true, false} {
		t.Run(fmt.Sprintf("vars %v", vars), func(t *testing.T) {
			p, err := OpenPProf(t.Context(), pages(t, vars))
			if err != nil {
				t.Fatal(err)
			}
			if p.vars != vars || p.Name() != "pprof" || p.Every() < time.Second {
				t.Errorf("vars %v, %s, every %v", p.vars, p.Name(), p.Every())
			}
			before, err := p.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				garbage = make([]byte, 1000)
			}
			runtime.GC()
			after, err := p.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if after.Goroutines < 2 || after.HeapBytes == 0 {
				t.Errorf("%d goroutines, heap %d", after.Goroutines, after.HeapBytes)
			}
			change := after.Since(before, 1)
			if change.AllocsPerRequest < 100 || change.BytesPerRequest < 100_000 || change.GCCycles == 0 || change.GCPauseP99Us <= 0 {
				t.Errorf("change %+v", change)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPProfRefused(t *testing.T) {
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
	}
	index := text("<td>5</td><td><a href='goroutine?debug=1'>goroutine</a></td>")
	for name, c := range map[string]struct {
		routes map[string]http.HandlerFunc
		want   string
	}{
		"nothing":    {nil, "status 404; the handlers of net/http/pprof are expected there"},
		"other page": {map[string]http.HandlerFunc{"/debug/pprof/": text("<h1>welcome</h1>")}, "this is no index of net/http/pprof"},
		"no heap":    {map[string]http.HandlerFunc{"/debug/pprof/{$}": index}, "heap?debug=1: status 404"},
		"odd heap":   {map[string]http.HandlerFunc{"/debug/pprof/{$}": index, "/debug/pprof/heap": text("# Mallocs = 1\n")}, "no HeapAlloc, NumGC, TotalAlloc"},
		"odd number": {map[string]http.HandlerFunc{"/debug/pprof/{$}": index, "/debug/pprof/heap": text("# Mallocs = many\n")}, `parsing "many"`},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			for path, handler := range c.routes {
				mux.Handle(path, handler)
			}
			s := httptest.NewServer(mux)
			defer s.Close()
			if _, err := OpenPProf(t.Context(), s.URL+"/debug/pprof"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// The end of a context ends the wait for a page.
func TestPProfSlow(t *testing.T) {
	asked := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := OpenPProf(ctx, s.URL+"/debug/pprof"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{
		"http://host:6060":               "http://host:6060/debug/pprof",
		"http://host:6060/":              "http://host:6060/debug/pprof",
		"http://host:6060/debug/pprof/":  "http://host:6060/debug/pprof",
		"https://host/admin/debug/pprof": "https://host/admin/debug/pprof",
	} {
		if got, err := ParseBase(text); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"host:6060":       "write one such as http://127.0.0.1:6060/debug/pprof",
		"ftp://host/":     "write one such as",
		"http:///path":    "write one such as",
		"http://h/p?x=1":  "remove what follows the path: http://h/p",
		"http://h/p#here": "remove what follows the path: http://h/p",
	} {
		if got, err := ParseBase(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %q", text, got, err, want)
		}
	}
}

// The ring of pauses has those since the last reading, also when it has wrapped.
func TestPauses(t *testing.T) {
	ring := make([]uint64, pauseRing)
	var p pauses
	count := func() (n uint64) {
		for _, c := range p.add(memStats{NumGC: p.seen, PauseNs: ring}).Counts {
			n += c
		}
		return n
	}
	p.add(memStats{NumGC: 300, PauseNs: ring})
	if n := count(); n != 0 {
		t.Errorf("%d pauses before the first reading", n)
	}
	ring[300%pauseRing], ring[301%pauseRing] = 1000, 3000
	h := p.add(memStats{NumGC: 302, PauseNs: ring})
	if n := count(); n != 2 || h.P99() < 3e-6 || h.P99() > 3.3e-6 {
		t.Errorf("%d pauses, p99 %v", n, h.P99())
	}
	if p.add(memStats{NumGC: 302 + 2*pauseRing, PauseNs: ring}); count() != 2+pauseRing {
		t.Errorf("%d pauses after two rounds", count())
	}
	if p.add(memStats{NumGC: 4, PauseNs: ring}); count() != 0 {
		t.Errorf("%d pauses of another process", count())
	}
}
