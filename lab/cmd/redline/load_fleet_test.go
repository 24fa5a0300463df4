package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/probe"
)

// workersOf returns the worker processes of this process.
func workersOf(t *testing.T) (pids []int) {
	t.Helper()
	for _, pid := range probe.Tree(os.Getpid()) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), "\x00"+command.WorkerVerb+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// The result of several workers is the sum of theirs, including the last answer.
func TestLoadWorkers(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"closed", nil},
		{"even", []string{"-r", "301"}},
		{"poisson", []string{"-r", "300", "--arrivals", "poisson", "--seed", "3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "poisson" {
				once(t)
			}
			url, count := serve(t, hello)
			d500 := pace.Window(500 * time.Millisecond)
			args := append([]string{"--workers", "3", "-c", "7", "-d", d500.String(), "--warmup", "100ms", "--allow-invalid", "--json", "-"}, c.args...)
			code, out, said := loadOf(t, t.Context(), append(args, url)...)
			d := documentOf(t, out)
			if code != 0 || len(d.Workers) != 3 || d.Config.Workers != 3 || d.Gates[0].Name != "workers" {
				t.Fatalf("exit code %d, %d workers, %+v, %s", code, len(d.Workers), d.Gates, said)
			}
			var requests, sent, answered uint64
			connections := 0
			for i, w := range d.Workers {
				requests, sent, answered = requests+w.Requests, sent+w.Sent, answered+w.Answered
				connections += w.Connections
				if w.Index != i || w.Lost != "" || w.Requests == 0 || w.Seconds <= 0 || len(w.Gates) == 0 || w.PID == 0 {
					t.Errorf("worker %+v", w)
				}
			}
			// One more request was sent before the run; those in flight at its end count as sent.
			if n := uint64(count.Load()); connections != 7 || d.Requests != requests || n > sent+1 || n < answered+1 || requests > answered {
				t.Errorf("%d connections; %d requests, %d of the workers; %d sent, %d answered, the server had %d", connections, d.Requests, requests, sent, answered, count.Load())
			}
			if d.Open == nil && d.Latency.Count != d.Requests+d.Late+d.Unanswered {
				t.Errorf("%d latencies of %d requests, %d late, %d unanswered", d.Latency.Count, d.Requests, d.Late, d.Unanswered)
			}
			if o := d.Open; o != nil && (o.Due != d.Latency.Count+o.Failed || o.TargetRate != 301 && o.TargetRate != 300) {
				t.Errorf("open %+v with %d latencies", o, d.Latency.Count)
			}
			// The even arrivals of all workers together are those of one generator.
			if want := uint64(math.Ceil(301 * d500.Seconds())); c.name == "even" && d.Open.Due != want {
				t.Errorf("%d arrivals were due, want %d", d.Open.Due, want)
			}
			if d.Server == nil || !slices.Contains(d.Server.PIDs, os.Getpid()) || d.Server.CPU.PerRequestUs <= 0 || len(d.Series) == 0 {
				t.Errorf("server %+v, %d points", d.Server, len(d.Series))
			}
			if !strings.Contains(said, "of 3 workers") || !strings.Contains(said, "\nworker ") {
				t.Errorf("summary %s", said)
			}
		})
	}
}

// secondsShown reports whether the progress in a file has a point of the window that ends after a second
// or more. Every worker has then reported on the time until there.
func secondsShown(name string) bool {
	text, err := os.ReadFile(name)
	return err == nil && regexp.MustCompile(`(?m)^window +[1-9]\.`).Match(text)
}

// TestLoadWorkerKilled reports a killed worker first, counts what it had reported, with
// its latencies, and has the complete results of the others.
func TestLoadWorkerKilled(t *testing.T) {
	killed, progress := errors.New("no worker was killed"), tempFile(t)
	var kill sync.Once
	url, count := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n%20 == 0 && secondsShown(progress.Name()) {
			kill.Do(func() {
				if pids := workersOf(t); len(pids) == 3 {
					killed = syscall.Kill(pids[1], syscall.SIGKILL)
				} else {
					killed = fmt.Errorf("workers %v", pids)
				}
			})
		}
		hello(w, r, n)
	})
	// The window is six seconds long, because a busy machine may stall for long.
	code, out, said := loadTo(t, t.Context(), progress, "--workers", "3", "-c", "6", "-r", "400", "-d", "6s", "--warmup", "0", "--json", "-", url)
	d := documentOf(t, out)
	if killed != nil || code != command.ExitInvalid || len(d.Workers) != 3 || d.Valid {
		t.Fatalf("%v; exit code %d, workers %+v, %s", killed, code, d.Workers, said)
	}
	var requests, sent uint64
	lost := -1
	for i, w := range d.Workers {
		requests, sent = requests+w.Requests, sent+w.Sent
		if w.Lost != "" {
			lost = i
		} else if w.Sent != w.Answered {
			t.Errorf("worker %d sent %d and had %d answers", i, w.Sent, w.Answered)
		}
	}
	if lost < 0 {
		t.Fatalf("no worker was lost: %+v", d.Workers)
	}
	w := d.Workers[lost]
	if !strings.Contains(w.Lost, "signal: killed") || w.Requests == 0 || w.Seconds >= d.Seconds || w.Sent != 0 {
		t.Errorf("the lost worker: %+v", w)
	}
	// The server's other requests are the request before the run and those of the lost
	// worker, of which all that it reported are counted.
	if its := uint64(count.Load()) - sent - 1; d.Requests != requests || w.Requests > its || d.Latency.Count != d.Open.Due-d.Open.Failed {
		t.Errorf("%d requests, %d of the workers; %d of the lost worker, which sent %d; %d latencies of %+v", d.Requests, requests, w.Requests, its, d.Latency.Count, d.Open)
	}
	h, err := d.Latency.Decode()
	if err != nil || uint64(h.TotalCount()) != d.Latency.Count || h.Max() > tally.DeltaHistogram().HighestTrackableValue() {
		t.Errorf("%v, %d of %d latencies", err, h.TotalCount(), d.Latency.Count)
	}
	first, _, _ := strings.Cut(said[strings.Index(said, "INVALID"):], "\n")
	if want := fmt.Sprintf("INVALID: worker %d (process %d", lost, w.PID); !strings.HasPrefix(first, want) || d.Gates[0].Name != "workers" {
		t.Errorf("the summary begins with %q, want %q; gates %+v", first, want, d.Gates)
	}
}

// abroad starts workers in another directory than this process, and returns the URL of
// the bus that they join.
func abroad(t *testing.T, n int) (url string, workers []*exec.Cmd) {
	t.Helper()
	const token = "a-token-of-this-test"
	broker, err := bus.Listen("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	t.Setenv(kube.EnvToken, token)
	t.Setenv(kube.EnvRun, "abroad")
	url = broker.URL("127.0.0.1")
	for range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0], command.WorkerVerb, "--bus", url)
		cmd.Dir, cmd.Stderr = "/", new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, cmd)
	}
	return url, workers
}

// Workers receive the files of a scenario, which they cannot read themselves, and the
// result of each target is the sum of theirs.
func TestLoadWorkersScenario(t *testing.T) {
	var wrong atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if body, err := io.ReadAll(r.Body); err != nil || r.URL.Path == "/order" && string(body) != "one of these" {
			wrong.Add(1)
		}
		hello(w, r, n)
	})
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"order.txt": "one of these",
		"shop.yaml": "targets:\n  - {name: look, url: /look, weight: 3}\n  - {name: order, url: /order, method: POST, body: {file: order.txt}}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bus, pods := abroad(t, 2)
	code, out, said := coordinatorOf(t, []string{
		"load", "--workers", "2", "--bus", bus, "--targets", "shop.yaml", "-c", "4", "-r", "400",
		"-d", "500ms", "--warmup", "0", "--allow-invalid", "--json", "-", strings.TrimSuffix(url, "/hello"),
	})
	ended(t, pods)
	d := documentOf(t, out)
	if code != 0 || wrong.Load() > 0 || len(d.Workers) != 2 || len(d.Targets) != 2 || d.Open.Due != 200 {
		t.Fatalf("exit code %d, %d wrong requests, %d workers, targets %+v, %s", code, wrong.Load(), len(d.Workers), d.Targets, said)
	}
	if look, order := d.Targets[0].Requests, d.Targets[1].Requests; look <= order || order == 0 || look+order != d.Latency.Count {
		t.Errorf("%d looked and %d ordered, of %d", look, order, d.Latency.Count)
	}
}

// The server runs on the machine of the coordinator, which observes it: its figures are
// in the time series of the workers' rates.
func TestLoadBusWatchesServer(t *testing.T) {
	url, _ := serve(t, hello)
	other := exec.CommandContext(t.Context(), "sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = other.Wait() // killed
	}()
	for name, c := range map[string]struct {
		args []string
		pid  int
	}{
		"by its port": {nil, os.Getpid()},
		"by --pid":    {[]string{"--pid", fmt.Sprint(other.Process.Pid)}, other.Process.Pid},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "by its port" {
				once(t)
			}
			where, workers := abroad(t, 2)
			code, out, said := coordinatorOf(t, append([]string{
				"load", "--workers", "2", "--bus", where, "-c", "4", "-d", "1s", "--warmup", "200ms", "--allow-invalid", "--json", "-", url,
			}, c.args...))
			ended(t, workers)
			d := documentOf(t, out)
			if code != 0 || d.Server == nil || !slices.Contains(d.Server.PIDs, c.pid) || d.Server.CPUs < 1 {
				t.Fatalf("exit code %d, server %+v, %s", code, d.Server, said)
			}
			if !strings.Contains(said, "\nserver      CPU ") || !strings.Contains(said, "server CPU ") {
				t.Errorf("summary %s", said)
			}
			seen := 0
			for _, p := range d.Series {
				if p.RSSBytes > 0 && p.Threads > 0 && p.OpenFiles > 0 {
					seen++
				}
				if p.ServerCPU < 0 {
					t.Errorf("point %+v", p)
				}
			}
			if seen == 0 || d.Server.Process.Threads == 0 {
				t.Errorf("%d of %d points have the server; %+v", seen, len(d.Series), d.Server)
			}
			if c.pid != os.Getpid() {
				return
			}
			busy := slices.ContainsFunc(d.Series, func(p present.Point) bool { return p.ServerCPU > 0 })
			if cpu := d.Server.CPU; !busy || cpu.PerRequestUs <= 0 || cpu.UserSeconds+cpu.SysSeconds <= 0 || cpu.Utilisation <= 0 {
				t.Errorf("CPU %+v; in the series: %v", cpu, busy)
			}
		})
	}
}

// A process of the server may end during the run: its CPU time does not grow after that,
// and a note reports it.
func TestLoadBusServerEnds(t *testing.T) {
	other := exec.CommandContext(t.Context(), "sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		if err := other.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = other.Wait() // killed
	})
	defer end()
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 50 { // a quarter of the run
			end()
		}
		hello(w, r, n)
	})
	where, workers := abroad(t, 1)
	code, out, said := coordinatorOf(t, []string{
		"load", "--bus", where, "--pid", fmt.Sprint(other.Process.Pid), "-c", "2", "-r", "200", "-d", "1s", "--warmup", "0", "--allow-invalid", "--json", "-", url,
	})
	ended(t, workers)
	d := documentOf(t, out)
	if code != 0 || d.Open == nil || d.Open.Due != 200 || d.Server == nil || !strings.Contains(strings.Join(d.Notes, "\n"), fmt.Sprintf("these processes of the server ended: %d;", other.Process.Pid)) {
		t.Errorf("exit code %d, %+v, server %+v, notes %q, %s", code, d.Open, d.Server, d.Notes, said)
	}
}

func TestLoadWorkersUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct{ args, want string }{
		{"--workers 0", "--workers 0: want at least 1"},
		{"--workers 5 -c 4", "want at least one connection for each worker, as --connections 5"},
		{"-c 100000000", "write --workers "},
		{"--workers 2 --try", "--try sends each request once, from this process"},
		{"--workers 2 --cpu 0,1,2", "--cpu 0,1,2: a generator is one thread"},
	} {
		code, _, said := loadOf(t, t.Context(), append(strings.Fields(c.args), url)...)
		if code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
}

// The result counts the handshakes of all workers.
func TestLoadWorkersTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hello(w, r, 0) }))
	t.Cleanup(s.Close)
	code, out, said := loadOf(t, t.Context(), "--workers", "2", "-c", "5", "-r", "200", "-d", "300ms", "--warmup", "0", "--insecure", "--allow-invalid", "--json", "-", s.URL)
	if d := documentOf(t, out); code != 0 || len(d.Workers) != 2 || d.TLS == nil || d.TLS.Handshakes != 5 || d.Open.Due != 60 || d.Open.Failed+d.Open.Unfinished > 0 {
		t.Errorf("exit code %d, %d workers, %+v, %s", code, len(d.Workers), d.TLS, said)
	}
}
