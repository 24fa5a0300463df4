package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guard.Verb {
		os.Exit(guard.Main(os.Stdin))
	}
	os.Exit(m.Run())
}

// sample is a trace with one goroutine.
func sample(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tracetest.New(&b)
	w.Begin(1000)
	m := w.Thread(1)
	m.Create(2000, 7, "main.work")
	m.Start(3000, 7)
	w.Begin(4000)
	m.Destroy(5000)
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sampleFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.trace")
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// usual are the options with the defaults of the verb.
func usual() Options { return Options{For: time.Second, Memory: 64, Largest: 8} }

// ran returns what a run with the options prints.
func ran(t *testing.T, o Options) (out, said string, err error) {
	t.Helper()
	var outs, errs bytes.Buffer
	err = Run(t.Context(), o, Console{Out: &outs, Err: &errs})
	return outs.String(), errs.String(), err
}

func TestFile(t *testing.T) {
	o := usual()
	o.File = sampleFile(t)
	out, _, err := ran(t, o)
	if err != nil || !strings.Contains(out, "trace of") || !strings.Contains(out, "main.work") {
		t.Errorf("%v: %s", err, out)
	}
	dir := t.TempDir()
	o.HTML, o.JSON = filepath.Join(dir, "a.html"), "-"
	if out, _, err = ran(t, o); err != nil {
		t.Fatal(err)
	}
	var r trace.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Schema != trace.Schema || r.Source != o.File || r.Lives[0].Ended != 1 {
		t.Errorf("%v: %s", err, out)
	}
	page, err := os.ReadFile(o.HTML)
	if err != nil || !bytes.Contains(page, []byte("main.work")) || !bytes.Contains(page, []byte(`data-page="trace"`)) {
		t.Errorf("%v, %d bytes", err, len(page))
	}
	o.JSON = filepath.Join(dir, "a.json")
	if out, _, err := ran(t, o); err != nil || !strings.Contains(out, "trace of") {
		t.Errorf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(o.JSON); err != nil || !json.Valid(data) {
		t.Error(err)
	}
}

func TestPartial(t *testing.T) {
	o := usual()
	o.File = filepath.Join(t.TempDir(), "cut.trace")
	whole := sample(t)
	if err := os.WriteFile(o.File, whole[:len(whole)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := ran(t, o)
	var code cli.ExitCode
	if !errors.As(err, &code) || code != ExitPartial || !strings.HasPrefix(out, "PARTIAL the trace is truncated") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestUsage(t *testing.T) {
	file := sampleFile(t)
	for want, change := range map[string]func(*Options){
		"name a trace":              func(*Options) {},
		"name it with --pid":        func(o *Options) { o.PProf, o.Handlers = "http://127.0.0.1:1", true },
		"--pid names the process":   func(o *Options) { o.PProf, o.PID = "http://127.0.0.1:1", 7 },
		"say where ./s serves":      func(o *Options) { o.Command = []string{"./s"} },
		"name one source":           func(o *Options) { o.PProf, o.Control = "http://127.0.0.1:1", "/s" },
		"nothing to start":          func(o *Options) { o.File, o.Command = file, []string{"./s"} },
		"for traces that are taken": func(o *Options) { o.File, o.Save = file, "x" },
		"write whole seconds":       func(o *Options) { o.PProf, o.For = "http://127.0.0.1:1", 1500*time.Millisecond },
		"those of --load URL":       func(o *Options) { o.PProf, o.Load.Rate = "http://127.0.0.1:1", "5" },
		"write a number of MiB":     func(o *Options) { o.File, o.Memory = file, 0 },
		"would be replaced":         func(o *Options) { o.File, o.JSON = file, file },
		"--pprof":                   func(o *Options) { o.PProf = "nonsense" },
	} {
		o := usual()
		change(&o)
		var usage cli.UsageError
		if _, _, err := ran(t, o); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o := usual()
	o.File = filepath.Join(t.TempDir(), "none")
	if _, _, err := ran(t, o); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestPProf takes a trace of this process.
func TestPProf(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s := httptest.NewServer(mux)
	defer s.Close()
	o := usual()
	o.PProf, o.Save, o.Samples = s.URL, filepath.Join(t.TempDir(), "kept.trace"), true
	out, said, err := ran(t, o)
	if err != nil || seconds(out) < 1 {
		t.Errorf("%v: %s", err, out)
	}
	if !strings.Contains(said, "without CPU samples") || !strings.Contains(said, "status 404") {
		t.Errorf("%q", said)
	}
	again := usual()
	again.File = o.Save
	if out, _, err := ran(t, again); err != nil || seconds(out) < 1 {
		t.Errorf("the trace that was kept: %v: %s", err, out)
	}
}

// seconds returns for how long a trace was taken; 0 if the report does not say it in seconds. A busy
// server stops it later than it was asked to.
func seconds(report string) float64 {
	_, rest, _ := strings.Cut(report, "trace of ")
	number, _, _ := strings.Cut(rest, " s:")
	s, _ := strconv.ParseFloat(number, 64)
	return s
}

func TestPProfRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"busy":  {func(w http.ResponseWriter) { http.Error(w, "Could not enable tracing: already", 500) }, "status 500: Could not enable tracing: already"},
		"empty": {func(http.ResponseWriter) {}, "it has no bytes"},
		"page":  {func(w http.ResponseWriter) { fmt.Fprint(w, "<!doctype html><p>hello</p>") }, "no execution trace"},
		"large": {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 9<<20)) }, "larger than 8 MiB"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.answer(w) }))
		o := usual()
		o.PProf = s.URL
		if _, _, err := ran(t, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		s.Close()
	}
}

// TestServerDies has what came before the server ended reported, and kept.
func TestServerDies(t *testing.T) {
	whole := sample(t)
	for _, lacks := range []int{0, 10} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(whole[:len(whole)-lacks])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		o := usual()
		o.PProf, o.Save, o.JSON = s.URL, filepath.Join(t.TempDir(), "kept.trace"), "-"
		out, said, err := ran(t, o)
		var code cli.ExitCode
		var r trace.Report
		if !errors.As(err, &code) || code != ExitPartial || json.Unmarshal([]byte(out), &r) != nil || r.Partial == "" || !strings.Contains(said, "cut off") {
			t.Errorf("%d bytes are missing: %v, %q: %s", lacks, err, said, out)
		}
		if kept, err := os.ReadFile(o.Save); err != nil || !bytes.Equal(kept, whole[:len(whole)-lacks]) {
			t.Errorf("%d bytes are kept, %v", len(kept), err)
		}
		s.Close()
	}
}

// An output that cannot be written costs no other one.
func TestOutputsFail(t *testing.T) {
	whole := sample(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) }))
	defer s.Close()
	o := usual()
	o.PProf, o.Save, o.JSON, o.HTML = s.URL, "/dev/full", "/dev/full", filepath.Join(t.TempDir(), "a.html")
	out, _, err := ran(t, o)
	if err == nil || !strings.Contains(err.Error(), "--save") || !strings.Contains(err.Error(), "--json") || !strings.Contains(out, "main.work") {
		t.Errorf("%v: %s", err, out)
	}
	if page, err := os.ReadFile(o.HTML); err != nil || !bytes.Contains(page, []byte("main.work")) {
		t.Errorf("%v, %d bytes", err, len(page))
	}
}

// socket answers every question with text, and returns its path.
func socket(t *testing.T, text string) (path string, asked func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var question string
	var all sync.WaitGroup
	all.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 100)
		n, _ := conn.Read(buf)
		question = string(buf[:n])
		_, _ = conn.Write([]byte(text)) // the reader may have left
	})
	end := sync.OnceFunc(func() {
		ln.Close()
		all.Wait()
	})
	t.Cleanup(end)
	return path, func() string { end(); return question }
}

func TestControl(t *testing.T) {
	data := sample(t)
	o := usual()
	var asked func() string
	o.Control, asked = socket(t, fmt.Sprintf(`{"schema":"redline.profile/1","bytes":%d}`+"\n%s", len(data), data))
	out, _, err := ran(t, o)
	if err != nil || !strings.Contains(out, "main.work") {
		t.Errorf("%v: %s", err, out)
	}
	if q := asked(); q != "profile trace 1\n" {
		t.Errorf("asked %q", q)
	}
	var code cli.ExitCode
	o.Control, _ = socket(t, fmt.Sprintf(`{"schema":"redline.profile/1","bytes":%d}`+"\n%s", len(data)+1, data))
	if out, said, err := ran(t, o); !errors.As(err, &code) || code != ExitPartial || !strings.Contains(out, "main.work") || !strings.Contains(said, "cut off") {
		t.Errorf("a service that ends while it answers: %v, %q: %s", err, said, out)
	}
	for answer, want := range map[string]string{
		`{"schema":"redline.runtime/1"}` + "\n":                                         "offers neither profiles nor traces",
		`{"schema":"redline.profile/1","error":"there is no profile \"trace\""}` + "\n": "offers no traces",
		`{"schema":"redline.profile/1","error":"tracing is already enabled"}` + "\n":    "the service reported: tracing is already enabled",
		`{"schema":"redline.profile/1","bytes":99999999}` + "\n":                        "larger than 8 MiB",
		`{"schema":"redline.profile/1","bytes":100}` + "\n":                             "EOF",
		"hello\n":                    "invalid character",
		strings.Repeat("x", 100<<10): "buffer full",
	} {
		o.Control, _ = socket(t, answer)
		if _, _, err := ran(t, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCommandEnds(t *testing.T) {
	o := usual()
	o.PProf, o.Command = "http://127.0.0.1:1", []string{"sh", "-c", "echo oops; exit 3"}
	if _, said, err := ran(t, o); err == nil || !strings.Contains(err.Error(), "sh ended before it served a trace: exit status 3") || !strings.Contains(said, "oops") {
		t.Errorf("%v, %q", err, said)
	}
}

func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-asked
		// What is kept meanwhile has no name, so that nothing is left of a killed process either.
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("%v, %v", names, err)
		}
		cancel()
	}()
	o := usual()
	o.PProf = s.URL
	var code cli.ExitCode
	if err := Run(ctx, o, Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}); !errors.As(err, &code) || code != 130 {
		t.Error(err)
	}
}
