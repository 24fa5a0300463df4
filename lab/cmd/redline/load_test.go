package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/probe"
)

// loadOf runs the command, returns its standard output and error, and checks that it
// leaves no process.
func loadOf(t *testing.T, ctx context.Context, args ...string) (code int, out, said string) {
	t.Helper()
	return loadTo(t, ctx, tempFile(t), args...)
}

// loadTo is loadOf with the file of standard error.
func loadTo(t *testing.T, ctx context.Context, stderr *os.File, args ...string) (code int, out, said string) {
	t.Helper()
	before := probe.Tree(os.Getpid())
	code, out, said = outputTo(t, ctx, stderr, append([]string{"load"}, args...)...)
	left := slices.DeleteFunc(probe.Tree(os.Getpid()), func(pid int) bool { return slices.Contains(before, pid) })
	if len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	return code, out, said
}

// serve starts a server in this process that counts its requests. It also supports
// cleartext HTTP/2.
func serve(t *testing.T, handler func(w http.ResponseWriter, r *http.Request, n int64)) (url string, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(w, r, count.Add(1))
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/hello", count
}

func hello(w http.ResponseWriter, _ *http.Request, _ int64) { _, _ = w.Write([]byte("hello")) }

// short are the flags of a short run whose validity is ignored.
func short(more ...string) []string {
	return append([]string{"-c", "3", "-d", pace.Window(t200).String(), "--warmup", "50ms", "--allow-invalid"}, more...)
}

// counted are the flags of a run of that many requests whose validity is ignored: a machine that stalls for
// the window of a short run leaves it without any, or without one of the two outcomes that a test is about.
func counted(requests int, more ...string) []string {
	return append([]string{"-c", "3", "-n", strconv.Itoa(requests), "--allow-invalid"}, more...)
}

const t200 = 200 * time.Millisecond

func documentOf(t *testing.T, text string) (d present.Document) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return d
}

// remarks returns the notes of a run, except on what a machine that other processes share does to short runs.
func remarks(d present.Document) []string {
	return slices.DeleteFunc(slices.Clone(d.Notes), func(n string) bool {
		return strings.HasPrefix(n, "no answer for ") || strings.Contains(n, "answered after the window")
	})
}

func TestLoadUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "name one URL, such as redline load http://127.0.0.1:8080/; there are 0 arguments"},
		{[]string{url, url}, "there are 2 arguments"},
		{[]string{"localhost:8080"}, `"localhost:8080" has no scheme: write http://localhost:8080`},
		{[]string{"ftp://example.org/"}, "is not a URL to load: write one as http://"},
		{[]string{"http:///path"}, "has no host"},
		{[]string{"http://me:secret@host/"}, "write --header 'Authorization: Basic ...' instead"},
		{[]string{"-c", "0", url}, "--connections 0: want at least 1"},
		{[]string{"-c", "many", url}, "see redline load --help"},
		{[]string{"--pipeline", "0", url}, "--pipeline 0: want at least 1"},
		{[]string{"-d", "1ms", url}, "--duration 1ms: want at least 100ms"},
		{[]string{"--warmup", "-1s", url}, "--warmup -1s: want 0 or more"},
		{[]string{"--timeout", "0", url}, "--timeout 0s: want more than 0"},
		{[]string{"--status", "100", url}, "--status 100: want the status of a final answer"},
		{[]string{"--burst", "2x/1s", url}, "--burst is for an open loop: add a rate"},
		{[]string{"--arrivals", "poisson", url}, "--arrivals is for an open loop"},
		{[]string{"--seed", "1", url}, "--seed is for an open loop"},
		{[]string{"-r", "10", "--arrivals", "even", url}, "--arrivals even:"},
		{[]string{"-r", "fast", url}, `--rate fast: "fast" is no rate: write arrivals a second`},
		{[]string{"-r", "0", url}, "write a rate above 0"},
		{[]string{"-r", "10", "--pipeline", "2", url}, "--pipeline is for a closed loop"},
		{[]string{"--stages", "soon", url}, "--stages soon:"},
		{[]string{"--stages", "50ms:100", url}, "they last 50ms in all; want at least 100ms"},
		{[]string{"-r", "10", "--burst", "often", url}, "--burst often:"},
		{[]string{"--find", "p99", url}, `"p99" is not an objective: write METRIC<LIMIT`},
		{[]string{"--find", "rate>5", url}, "the rate is the result of the search"},
		{[]string{"--find", "p99<1s", "--burst", "2x/1s", url}, "--find tries constant rates"},
		{[]string{"--find", "p99<1s", "--threshold", "p50<1s", url}, "write all objectives into --find"},
		{[]string{"--threshold", "p99<10", url}, "write one with its unit, as p99<10ms"},
		{[]string{"-X", "GE T", url}, "is not a method; write one such as GET or POST"},
		{[]string{"-H", "Accept", url}, "write 'NAME: VALUE'"},
		{[]string{"-H", "A: b\r\nC: d", url}, "a value must be one line"},
		{[]string{"-H", "Content-Length: 5", url}, "leave this header out"},
		{[]string{"--body", "x", "--body-file", "y", url}, "--body and --body-file: leave out one of the two"},
		{[]string{"--body-file", filepath.Join(dir, "absent"), url}, "absent: there is no such file"},
		{[]string{"--cpu", "x", url}, "--cpu x:"},
		{[]string{"--cpu", "0-1", url}, "name one CPU, as --cpu 0"},
		{[]string{"--cpu", "9999", url}, "it is not among those allowed"},
		{[]string{"--pid", "0", url}, "--pid 0: want the number of a process"},
		{[]string{"--json", filepath.Join(dir, "no", "x"), url}, "there is no directory"},
		{[]string{"--html", dir, url}, "is a directory; name a file in it"},
		{[]string{"--export", "influxdb=" + dir, url}, "is a directory; name a file in it"},
		{[]string{"--export", "influxdb=" + filepath.Join(dir, "no", "run.lp"), url}, "there is no directory"},
		{[]string{"http://127.0.0.1:99999/"}, "there is no port 99999; write one from 1 to 65535"},
		{[]string{"-d", "5", url}, "--duration 5: a duration needs a unit: write 5s"},
		{[]string{"--seed", "-1", "-r", "5", url}, "--seed -1: write an integer of 0 or more"},
		{[]string{"--bus-credentials", "/nope", url}, "--bus-credentials is for a NATS server: name it with --bus"},
		{[]string{"--json", filepath.Join(dir, "x"), "--csv", dir + "/./x", url}, "--json and --csv: both would be written to"},
		{[]string{"--html", "", url}, "--html: name a file, as run.html"},
		{[]string{"--csv", "-", url}, "only --json writes to standard output"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), c.args...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}

// All outputs of a run agree with each other and with the server.
func TestLoadFiles(t *testing.T) {
	url, count := serve(t, hello)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	code, out, said := loadOf(t, t.Context(), counted(600, "--json", in("run.json"), "--csv", in("run.csv"),
		"--hdr", in("run.hdr"), "--html", in("run.html"), url)...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	read := func(name string) string {
		b, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	d := documentOf(t, read("run.json"))
	if d.Requests == 0 || int64(d.Requests) > count.Load() || d.Latency.Count != d.Requests || d.RequestsPerSecond != float64(d.Requests)/d.Seconds {
		t.Errorf("%d requests, %v/s, %d latencies; the server had %d", d.Requests, d.RequestsPerSecond, d.Latency.Count, count.Load())
	}
	if len(d.Errors) > 0 || d.Config.Connections != 3 || d.Config.Status != 200 || d.Open != nil || d.Partial != "" {
		t.Errorf("errors %v, config %+v, open %v, partial %q", d.Errors, d.Config, d.Open, d.Partial)
	}
	// The server is this process, which is found by its port.
	if d.Server == nil || !slices.Contains(d.Server.PIDs, os.Getpid()) || d.Server.Memory.RSSPeakBytes == 0 || d.Server.Process.Threads == 0 {
		t.Errorf("server %+v", d.Server)
	}
	rows, err := csv.NewReader(strings.NewReader(read("run.csv"))).ReadAll()
	if err != nil || len(rows) != len(d.Series)+1 {
		t.Errorf("%d rows for %d points, %v", len(rows), len(d.Series), err)
	}
	if hdr := read("run.hdr"); !strings.HasPrefix(hdr, "#[Histogram log format version 1.3]\n") || !strings.Contains(hdr, ","+d.Latency.Histogram+"\n") {
		t.Errorf("log %.200s", hdr)
	}
	if !strings.HasPrefix(read("run.html"), "<!doctype html>") {
		t.Error("no page")
	}
	if !strings.Contains(out, "GET "+url) || !strings.Contains(out, "closed loop") || !strings.Contains(said, "window") {
		t.Errorf("summary %s\nprogress %s", out, said)
	}
}

func TestLoadToStandardOutput(t *testing.T) {
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), short("--json", "-", "--quiet", "-r", "200", "--arrivals", "poisson", "--seed", "7", url)...)
	d := documentOf(t, out)
	if code != 0 || said != "" {
		t.Errorf("exit code %d, %q", code, said)
	}
	o := d.Open
	if o == nil || o.Due == 0 || o.Due != d.Latency.Count+o.Failed || o.TargetRate != 200 || d.Config.Arrivals != "200/s, poisson" || d.Config.Seed != 7 {
		t.Errorf("open %+v, config %+v", o, d.Config)
	}
}

func TestLoadSendsWhatIsAsked(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) {
		var got bytes.Buffer
		_, err := got.ReadFrom(r.Body)
		if err != nil || r.Method != "PUT" || got.String() != `{"a":1}` || r.Header.Get("X-A") != "1" || r.Header.Get("User-Agent") != "me" || r.URL.RawQuery != "q=1" {
			wrong.Add(1)
		}
		w.WriteHeader(http.StatusCreated)
	})
	code, out, said := loadOf(t, t.Context(), counted(60, "-X", "PUT", "-H", "X-A: 1", "-H", "User-Agent: me", "--body-file", body, "--json", "-", url+"?q=1")...)
	if d := documentOf(t, out); code != 0 || wrong.Load() > 0 || d.Config.Status != 201 || d.Config.Body != 7 || len(d.Errors) > 0 {
		t.Errorf("exit code %d, %d wrong requests, %+v, %v, %s", code, wrong.Load(), d.Config, d.Errors, said)
	}
}

func TestLoadStatus(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) { http.NotFound(w, r) })
	if code, _, said := loadOf(t, t.Context(), short(url)...); code != 1 || !strings.Contains(said, "if that is intended, write --status 404") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, said := loadOf(t, t.Context(), short("--status", "200", url)...); code != 1 || !strings.Contains(said, "but --status expects 200") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, _, said := loadOf(t, t.Context(), short("--status", "404", url)...); code != 0 {
		t.Errorf("exit code %d, %s", code, said)
	}
}

func TestLoadRefused(t *testing.T) {
	if code, _, said := loadOf(t, t.Context(), short("http://127.0.0.1:1/")...); code != 1 || !strings.Contains(said, "connection refused") {
		t.Errorf("exit code %d, %s", code, said)
	}
	url, _ := serve(t, hello)
	if code, _, said := loadOf(t, t.Context(), short("--pid", "999999999", url)...); code != 1 || !strings.Contains(said, "there is no such process") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

func TestLoadExitCodes(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request, n int64) {
		if n%2 == 0 { // not the first request, which is sent before the run
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	run := []string{"-c", "2", "-n", "200"}
	for _, c := range []struct {
		server func(http.ResponseWriter, *http.Request, int64)
		args   []string
		code   int
		want   string
	}{
		{half, nil, command.ExitInvalid, "INVALID: "},
		{half, []string{"--allow-invalid"}, 0, "INVALID: "},
		{half, []string{"--allow-invalid", "--threshold", "errors<1%"}, command.ExitBroken, "BROKEN      errors<1%"},
		{half, []string{"--allow-invalid", "--threshold", "errors<90%", "--threshold", "rate>1"}, 0, "kept        rate>1"},
		{hello, []string{"--allow-invalid", "--threshold", "max<1ns,rate>1"}, command.ExitBroken, "kept        rate>1"},
	} {
		url, _ := serve(t, c.server)
		code, out, said := loadOf(t, t.Context(), append(append(slices.Clone(run), c.args...), url)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, said)
		}
	}
}

// oneAndTwo are the flags of one generator, and of two under one coordinator.
var oneAndTwo = map[string][]string{"one": {"-c", "1"}, "two workers": {"--workers", "2", "-c", "2"}}

// An interrupted run reports what it has measured. The arrivals are the clock: the
// window began with the third request at the latest.
func TestLoadInterrupted(t *testing.T) {
	for name, flags := range oneAndTwo {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, count := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
				if n == 160 {
					cancel()
				}
				hello(w, r, n)
			})
			code, out, said := loadOf(t, ctx, append(flags, "-r", "100", "-d", "60s", "--warmup", "0", "--json", "-", url)...)
			d := documentOf(t, out)
			if code != 130 || !strings.Contains(d.Partial, "interrupted after") || d.Seconds >= 60 {
				t.Errorf("exit code %d, partial %q, %v s, %s", code, d.Partial, d.Seconds, said)
			}
			if slices.ContainsFunc(d.Workers, func(w present.Worker) bool { return w.Lost != "" }) {
				t.Errorf("lost: %+v", d.Workers)
			}
			if o := d.Open; o == nil || o.Due == 0 || o.Due != d.Latency.Count+o.Failed || int64(o.Due) > count.Load() {
				t.Errorf("open %+v, %d answered, the server had %d", o, d.Latency.Count, count.Load())
			}
		})
	}
}

func TestLoadInterruptedEarly(t *testing.T) {
	for name, flags := range oneAndTwo {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
				if n == 5 {
					cancel()
				}
				hello(w, r, n)
			})
			code, out, said := loadOf(t, ctx, append(flags, "--warmup", "60s", "--json", "-", url)...)
			if code != 130 || out != "" || !strings.Contains(said, "interrupted before anything was measured") {
				t.Errorf("exit code %d, %q, %q", code, out, said)
			}
		})
	}
}

// A command that is killed leaves no process.
func TestLoadKilled(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) { killed(t, workers) })
	}
}

func killed(t *testing.T, workers int) {
	seen := make(chan struct{}, 1)
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 10 {
			seen <- struct{}{}
		}
		hello(w, r, n)
	})
	cmd := exec.Command(os.Args[0], "load", "-d", "60s", "--warmup", "0", "--quiet", "--workers", fmt.Sprint(workers), url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-seen:
	case <-time.After(time.Minute):
		t.Error("no requests")
	}
	tree := probe.Tree(cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if len(tree) != 2+workers {
		t.Errorf("processes %v: no guard or no generator", tree)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		tree = slices.DeleteFunc(tree, func(pid int) bool { return len(probe.Tree(pid)) == 0 })
		if len(tree) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still there: %v", tree)
		}
	}
}

// No rate keeps an impossible objective; the steps are printed and recorded.
func TestLoadFind(t *testing.T) {
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), "-c", "2", "-d", "200ms", "--warmup", "0", "-r", "20", "--find", "max<1ns", "--json", "-", "--allow-invalid", url)
	d := documentOf(t, out)
	if code != command.ExitBroken || d.Search == nil || d.Search.Rate != 0 || !d.Search.Complete {
		t.Fatalf("exit code %d, search %+v, %s", code, d.Search, said)
	}
	for _, step := range d.Search.Trials {
		if step.Verdict == objective.Kept || step.Why == "" || !strings.Contains(said, step.Why) {
			t.Errorf("step %+v is not among %s", step, said)
		}
	}
	if !strings.Contains(said, "Highest rate: no rate ") {
		t.Errorf("summary %s", said)
	}
}
