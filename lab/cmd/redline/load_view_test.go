package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"expvar"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/probe"
)

// inside starts a server in this process that also has the pages of net/http/pprof and
// expvar. first handles the nth request to those if it returns true.
func inside(t *testing.T, first func(w http.ResponseWriter, r *http.Request, n int64) bool) (url, base string) {
	t.Helper()
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("/debug/vars", expvar.Handler())
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { hello(w, r, 0) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hello" && first != nil && first(w, r, asked.Add(1)) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hello", s.URL + "/debug/pprof"
}

// controlSocket answers each line with a snapshot whose counts grow. After most answers it
// closes the connection and the listener.
func controlSocket(t *testing.T, most int64) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var asked atomic.Int64
	t.Cleanup(func() {
		_ = ln.Close() // may already be closed
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					n := asked.Add(1)
					if n > most {
						_ = ln.Close()
						return
					}
					fmt.Fprintf(conn, `{"schema":"redline.runtime/1","title":"shop 1","go":"go1.26.8","goroutines":%d,"gomaxprocs":2,"alloc_objects":%d,"alloc_bytes":%d,`+
						`"heap_bytes":4096,"live_bytes":1024,"gc_cycles":%d,"gc_cpu_seconds":%d,"idle_cpu_seconds":0,"cpu_seconds":%d,`+
						`"pauses":{"le_seconds":[1e-4],"counts":[%d]},"latencies":{"le_seconds":[2e-5],"counts":[%d]}}`+"\n",
						40+n%2, 1000*n, 64000*n, n, n, 10*n, n, n)
				}
			})
		}
	})
	return path
}

func TestLoadControl(t *testing.T) {
	url, _ := serve(t, hello)
	table := filepath.Join(t.TempDir(), "run.csv")
	code, out, said := loadOf(t, t.Context(), short("--control", controlSocket(t, 1<<30), "--json", "-", "--csv", table, url)...)
	d := documentOf(t, out)
	r := d.Runtime
	if code != 0 || r == nil || len(remarks(d)) > 0 {
		t.Fatalf("exit code %d, runtime %+v, notes %q, %s", code, r, d.Notes, said)
	}
	// The growth per answer is known; the number of answers depends on the machine.
	if r.Source != "control" || r.Title != "shop 1" || r.GCCycles < 1 || r.GCCPURatio == nil || *r.GCCPURatio != 0.1 || r.GoroutinesPeak != 41 || r.LiveBytes != 1024 || r.Failed != 0 {
		t.Errorf("runtime %+v", r)
	}
	if want := 64 * r.AllocsPerRequest; r.AllocsPerRequest <= 0 || r.BytesPerRequest < want*0.999 || r.BytesPerRequest > want*1.001 || r.AllocsPerSecond <= 0 {
		t.Errorf("%v allocations and %v bytes a request", r.AllocsPerRequest, r.BytesPerRequest)
	}
	read := slices.DeleteFunc(slices.Clone(d.Series), func(p present.Point) bool { return p.Runtime == nil })
	if len(read) == 0 || read[len(read)-1].Goroutines < 40 || read[len(read)-1].Runtime.GCCycles == 0 {
		t.Errorf("%d of %d points have a reading", len(read), len(d.Series))
	}
	if !strings.Contains(said, "runtime     ") || !strings.Contains(said, "goroutines 4") || !strings.Contains(said, "scheduler p99 20.0 µs") {
		t.Errorf("summary %s", said)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || slices.Index(rows[0], "goroutines") < 0 {
		t.Errorf("%v, %v", rows[0], err)
	}
}

// Several workers load one server, whose runtime is read once.
func TestLoadControlOfWorkers(t *testing.T) {
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), short("--workers", "2", "--control", controlSocket(t, 1<<30), "--json", "-", url)...)
	d := documentOf(t, out)
	if r := d.Runtime; code != 0 || r == nil || r.AllocsPerRequest <= 0 || r.Goroutines < 40 || len(d.Workers) != 2 || len(remarks(d)) > 0 {
		t.Errorf("exit code %d, runtime %+v, %d workers, notes %q, %s", code, r, len(d.Workers), d.Notes, said)
	}
}

// When the control socket closes, only its later readings are lost. It is read at least
// before the run and at both ends of the window.
func TestLoadControlDies(t *testing.T) {
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), short("--control", controlSocket(t, 2), "--json", "-", url)...)
	d := documentOf(t, out)
	if code != 0 || d.Requests == 0 || len(d.Errors) > 0 || len(remarks(d)) != 1 || !strings.Contains(remarks(d)[0], "the server's runtime could not be read") {
		t.Errorf("exit code %d, %d requests, errors %v, notes %q", code, d.Requests, d.Errors, d.Notes)
	}
	if !strings.Contains(said, "NOTE: the server's runtime could not be read") {
		t.Errorf("summary %s", said)
	}
}

func TestLoadPProf(t *testing.T) {
	url, base := inside(t, nil)
	code, out, said := loadOf(t, t.Context(), short("--pprof", strings.TrimSuffix(base, "/debug/pprof"), "--json", "-", url)...)
	d := documentOf(t, out)
	if r := d.Runtime; code != 0 || r == nil || r.Source != "pprof" || r.AllocsPerRequest < 1 || r.BytesPerRequest < 1 || r.Goroutines < 3 || r.HeapBytes == 0 || len(remarks(d)) > 0 {
		t.Errorf("exit code %d, runtime %+v, notes %q, %s", code, r, d.Notes, said)
	}
}

// When pages fail or hang during the run, the load continues, and a note reports what is
// missing.
func TestLoadPProfFails(t *testing.T) {
	ended := make(chan struct{})
	defer close(ended)
	for name, c := range map[string]struct {
		how  func(http.ResponseWriter, *http.Request)
		want string // a regular expression
	}{
		"error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }, "status 418"},
		"hang": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		}, "no answer by the end of the load|context deadline exceeded"}, // depending on which is first
		"closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			url, base := inside(t, func(w http.ResponseWriter, r *http.Request, n int64) bool {
				if n <= 2 { // the requests before the run
					return false
				}
				c.how(w, r)
				return true
			})
			code, out, said := loadOf(t, t.Context(), short("--pprof", base, "--json", "-", url)...)
			d := documentOf(t, out)
			if code != 0 || d.Requests == 0 || len(d.Errors) > 0 || d.Runtime != nil || len(remarks(d)) != 1 || !regexp.MustCompile(c.want).MatchString(remarks(d)[0]) {
				t.Errorf("exit code %d, %d requests, errors %v, runtime %+v, notes %q\n%s", code, d.Requests, d.Errors, d.Runtime, d.Notes, said)
			}
		})
	}
}

func TestLoadProfile(t *testing.T) {
	url, base := inside(t, nil)
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	dir := t.TempDir()
	code, _, said := loadOf(t, t.Context(), "-c", "3", "-d", "2s", "--warmup", "0", "--allow-invalid", "--pprof", base,
		"--profile", "cpu,heap,goroutine,mutex", "--json", filepath.Join(dir, "run.json"), url)
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := documentOf(t, string(text))
	if code != 0 || len(d.Profiles) != 4 || len(remarks(d)) != 1 || !strings.Contains(remarks(d)[0], "profiles were taken within the window (cpu, heap, goroutine") {
		t.Fatalf("exit code %d, profiles %+v, notes %q, %s", code, d.Profiles, d.Notes, said)
	}
	for _, p := range d.Profiles[:3] {
		if info, err := os.Stat(p.File); err != nil || info.Size() == 0 || p.File != filepath.Join(dir, "profiles", p.Kind+".pprof") || p.Missing != "" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if top := d.Profiles[0].Top; d.Profiles[0].Seconds != 1 || len(top) == 0 || len(top) > 5 || top[0].Flat <= 0 || top[0].Flat < top[len(top)-1].Flat || top[0].Cum < top[0].Flat {
		t.Errorf("%+v", d.Profiles[0])
	}
	// A wait for a mutex is a matter of chance here.
	if p := d.Profiles[3]; p.File == "" && !strings.Contains(p.Missing, "runtime.SetMutexProfileFraction") {
		t.Errorf("%+v", p)
	}
}

// The result names the profiles that are missing, and leaves no file of them.
func TestLoadProfileFails(t *testing.T) {
	url, base := inside(t, func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		switch r.URL.Path {
		case "/debug/pprof/profile":
			http.Error(w, "already in use", http.StatusInternalServerError)
			return true
		case "/debug/pprof/allocs":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "broken off")
			return true
		}
		return false
	})
	dir := filepath.Join(t.TempDir(), "p")
	code, out, said := loadOf(t, t.Context(), "-c", "3", "-d", "2s", "--warmup", "0", "--allow-invalid", "--pprof", base,
		"--profile", "cpu,allocs,heap", "--profile-dir", dir, "--json", "-", url)
	d := documentOf(t, out)
	if code != 0 || d.Requests == 0 || len(d.Profiles) != 3 {
		t.Fatalf("exit code %d, %d requests, profiles %+v, %s", code, d.Requests, d.Profiles, said)
	}
	for i, want := range []string{"status 500: already in use", "unexpected EOF", ""} {
		if p := d.Profiles[i]; !strings.Contains(p.Missing, want) || (p.Missing == "") != (want == "") {
			t.Errorf("%+v, want %q", p, want)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "heap.pprof" {
		t.Errorf("files %v, %v", files, err)
	}
}

// If the directory cannot be created, the profiles are missing, but the run continues.
func TestLoadProfileNotSaved(t *testing.T) {
	_, base := inside(t, nil)
	dir := filepath.Join(t.TempDir(), "p")
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 2 { // the run has begun: a file takes the directory's place
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		hello(w, r, n)
	})
	code, out, said := loadOf(t, t.Context(), "-c", "3", "-d", "2s", "--warmup", "0", "--allow-invalid", "--pprof", base, "--profile", "heap", "--profile-dir", dir, "--json", "-", url)
	d := documentOf(t, out)
	if code != 0 || d.Requests == 0 || len(d.Profiles) != 1 || !strings.Contains(d.Profiles[0].Missing, "save profile heap") || d.Profiles[0].File != "" {
		t.Errorf("exit code %d, %d requests, profiles %+v, %s", code, d.Requests, d.Profiles, said)
	}
}

// An interrupted run does not wait for its profiles.
func TestLoadProfileInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The window has begun when the profile is requested; from then on the arrivals are
	// the clock.
	var begun atomic.Bool
	var since atomic.Int64
	_, base := inside(t, func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.URL.Path == "/debug/pprof/profile" {
			begun.Store(true)
		}
		return false
	})
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if begun.Load() && since.Add(1) == 60 {
			cancel()
		}
		hello(w, r, n)
	})
	dir := filepath.Join(t.TempDir(), "p")
	code, out, said := loadOf(t, ctx, "-c", "3", "-r", "100", "-d", "60s", "--warmup", "0", "--pprof", base, "--profile", "cpu", "--profile-time", "50s", "--profile-dir", dir, "--json", "-", url)
	d := documentOf(t, out)
	if code != 130 || d.Partial == "" || len(d.Profiles) != 1 || !strings.Contains(d.Profiles[0].Missing, "the run ended before the profile was complete") {
		t.Errorf("exit code %d, partial %q, profiles %+v, %s", code, d.Partial, d.Profiles, said)
	}
	if d.Runtime == nil || d.Runtime.AllocsPerRequest <= 0 || len(remarks(d)) != 1 {
		t.Errorf("runtime %+v, notes %q", d.Runtime, d.Notes)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a directory without profiles: %v", err)
	}
}

// The command leaves the generator's CPU during the run, and may use it again afterwards.
func TestLoadStepsAside(t *testing.T) {
	before, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	var meanwhile atomic.Pointer[[]int]
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if cpus, err := probe.Allowed(); err == nil && n == 2 {
			meanwhile.Store(&cpus)
		}
		hello(w, r, n)
	})
	mine := before[0]
	if code, _, said := loadOf(t, t.Context(), short("--cpu", strconv.Itoa(mine), url)...); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	want := before
	if len(before) > 1 {
		want = before[1:]
	}
	if got := meanwhile.Load(); got == nil || !slices.Equal(*got, want) {
		t.Errorf("it ran on %v of %v, with the generator on %d", got, before, mine)
	}
	if after, err := probe.Allowed(); err != nil || !slices.Equal(after, before) {
		t.Errorf("it may run on %v afterwards, %v before; %v", after, before, err)
	}
}

func TestLoadViewUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--pprof", "localhost:6060"}, "write one such as http://127.0.0.1:6060/debug/pprof"},
		{[]string{"--profile", "cpu"}, "--profile takes profiles from the server's --pprof URL or --control SOCKET"},
		{[]string{"--profile", "soup", "--pprof", url}, `--profile: "soup" is no profile: write some of allocs,`},
		{[]string{"--profile", "", "--pprof", url}, "say which profiles to take"},
		{[]string{"--profile-dir", "x"}, "--profile-dir: say which profiles to take, as --profile cpu,heap"},
		{[]string{"--profile-time", "3s"}, "--profile-time: say which profiles to take"},
		{[]string{"--profile", "cpu", "--pprof", url, "--profile-time", "10ms"}, "--profile-time 10ms: want at least 1s"},
		{[]string{"--profile", "cpu", "--pprof", url, "-d", "1s"}, "--profile needs a window of at least 2s: write --duration 2s"},
		{[]string{"--profile", "cpu", "--pprof", url, "--find", "p99<1s"}, "find the rate first, then profile it with --rate"},
		{[]string{"--profile", "cpu", "--pprof", url, "--profile-dir", file}, "is not a directory"},
		{[]string{"--profile", "cpu", "--pprof", url, "--profile-dir", filepath.Join(file, "no", "x")}, "create its parent first"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), append(c.args, url)...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}

// Errors of the sources in the server are reported before the run.
func TestLoadViewRefused(t *testing.T) {
	url, count := serve(t, hello)
	_, base := inside(t, nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--control", filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"--control", controlSocket(t, 99), "--profile", "cpu", "-d", "2s"}, "it offers no profiles; name the service's --pprof URL to take the profile cpu"},
		{[]string{"--pprof", base, "--profile", "mutex", "-d", "2s"}, "the service does not record mutex contention"},
		{[]string{"--pprof", "http://127.0.0.1:1"}, "connection refused"},
		{[]string{"--pprof", strings.TrimSuffix(url, "/hello")}, "this is no index of net/http/pprof"},
	} {
		before := count.Load()
		code, out, said := loadOf(t, t.Context(), slices.Concat(short(), c.args, []string{url})...)
		if code != 1 || !strings.Contains(said, c.want) || out != "" || count.Load() > before+3 {
			t.Errorf("%q: exit code %d, %q, %d requests; want %q", c.args, code, said, count.Load()-before, c.want)
		}
	}
}
