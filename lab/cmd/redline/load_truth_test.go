package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/present"
)

// hangs answers until stop reports true, and holds later requests until the test ends.
func hangs(t *testing.T, stop func(n int64) bool) func(http.ResponseWriter, *http.Request, int64) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(w http.ResponseWriter, r *http.Request, n int64) {
		if stop(n) {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		hello(w, r, n)
	}
}

func failed(d present.Document) (names []string) {
	for _, g := range d.Failed() {
		names = append(names, g.Name)
	}
	return names
}

// TestLoadServerStopsAnswering finds a closed loop INVALID whose requests have no answer:
// they are counted, and the latencies include their ages.
func TestLoadServerStopsAnswering(t *testing.T) {
	for name, more := range map[string][]string{
		"requests": nil, "scenario": {"--targets", targets(t)}, "HTTP/2": {"--http2", "--streams", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, hangs(t, func(n int64) bool { return n > 100 }))
			code, out, said := loadOf(t, t.Context(), append(more, "-c", "4", "-d", "1s", "--warmup", "0", "--timeout", "1m", "--json", "-", url)...)
			d := documentOf(t, out)
			want := uint64(4)
			if name == "HTTP/2" {
				want = 8
			}
			if code != command.ExitInvalid || d.Valid || d.Unanswered != want || d.Latency.Count != d.Requests+want || !slices.Contains(failed(d), "unanswered") {
				t.Errorf("exit code %d, valid %v, %d unanswered, %d latencies of %d answers, gates %v", code, d.Valid, d.Unanswered, d.Latency.Count, d.Requests, failed(d))
			}
			if d.Latency.MaxUs < 1e6 || !strings.Contains(said, "had no answer, although the generator waited") {
				t.Errorf("longest latency %v us; %s", d.Latency.MaxUs, said)
			}
		})
	}
}

func targets(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "targets.yaml")
	if err := os.WriteFile(name, []byte("targets: [{url: /a}, {url: /b}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLoadNeverAnswered counts arrivals that never get an answer once, and against the
// thresholds, whether they time out in the window or after it.
func TestLoadNeverAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		hangs   func(n int64) bool
		timeout string
	}{
		"in the window":    {func(n int64) bool { return n%25 == 0 }, "1s"},
		"after the window": {func(n int64) bool { return n > 380 }, "2500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, hangs(t, c.hangs))
			code, out, said := loadOf(t, t.Context(), "-c", "64", "-r", "200", "-d", "2s", "--warmup", "0", "--timeout", c.timeout,
				"--threshold", "p50<1m,p99<1m", "--json", "-", url)
			d := documentOf(t, out)
			o := d.Open
			if o == nil || o.Due != 400 || o.Failed+o.Unfinished < 10 || o.Due != d.Latency.Count-d.TimedOut+o.Failed {
				t.Fatalf("%+v, %d latencies, %s", o, d.Latency.Count, said)
			}
			if code != command.ExitInvalid || !slices.Contains(failed(d), "errors") {
				t.Errorf("exit code %d, gates %v", code, failed(d))
			}
			if len(d.Thresholds) != 2 || !d.Thresholds[0].Kept || name == "in the window" && d.Thresholds[1].Kept {
				t.Errorf("thresholds %+v", d.Thresholds)
			}
		})
	}
}

// TestLoadForeignCPU finds a run disturbed beside processes that use the CPUs of the server
// and the generator.
func TestLoadForeignCPU(t *testing.T) {
	once(t)
	for range runtime.NumCPU() {
		hog(t)
	}
	url, _ := serve(t, hello)
	for _, more := range [][]string{{"-c", "4"}, {"-c", "64", "-r", "100"}, {"-c", "4", "--workers", "2"}} {
		code, out, said := loadOf(t, t.Context(), append(more, "-d", "1s", "--warmup", "0", "--json", "-", url)...)
		d := documentOf(t, out)
		if f := d.Generator.ForeignRatio; d.Valid && code != 0 || f == nil || *f < 0.1 || !slices.Contains(failed(d), "foreign CPU") {
			t.Errorf("%v: exit code %d, foreign CPU %v, gates %v; %s", more, code, f, failed(d), said)
		}
	}
}

// TestLoadCredentials writes no credential to any output.
func TestLoadCredentials(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.URL.Query().Get("token") != "s3cret" {
			w.WriteHeader(http.StatusForbidden)
		}
		hello(w, r, n)
	})
	dir := t.TempDir()
	page, file := filepath.Join(dir, "page.html"), filepath.Join(dir, "run.json")
	code, out, said := loadOf(t, t.Context(), append(short(), "-H", "Authorization: Bearer s3cret", "--json", file, "--html", page, url+"?token=s3cret")...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	for name, text := range map[string]string{"stdout": out, "stderr": said, page: read(t, page), file: read(t, file)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s has the credential", name)
		}
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

// TestLoadFindsTheKnee finds the capacity of a server that takes a request each millisecond, and 10 ms for
// it, also beside a process that uses a CPU. If the machine is too busy to reach it, the result
// reports that the machine is the limit, and not the server.
func TestLoadFindsTheKnee(t *testing.T) {
	once(t) // under the race detector the knee is that of the detector
	var mu sync.Mutex
	var next time.Time // when a request is taken: a late wake-up delays an answer, but not those after it
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		mu.Lock()
		if now := time.Now(); next.Before(now) {
			next = now
		}
		next = next.Add(time.Millisecond)
		answered := next.Add(9 * time.Millisecond)
		mu.Unlock()
		time.Sleep(time.Until(answered))
		hello(w, r, n)
	})
	hog(t)
	code, out, said := loadOf(t, t.Context(), "-c", "256", "-r", "900", "-d", "1s", "--warmup", "0", "--timeout", "2s",
		"--find", "p99<80ms", "--allow-invalid", "--json", "-", url)
	d := documentOf(t, out)
	if code != 0 && code != command.ExitBroken || d.Search == nil || d.Search.Rate > 1100 || d.Search.Rate < 850 && !d.Search.Doubtful {
		t.Errorf("exit code %d, %+v, %s", code, d.Search, said)
	}
}

// hog starts a process that uses a CPU until the test ends. It is not a child of this
// process, whose children count as processes of the server.
func hog(t *testing.T) {
	t.Helper()
	out, err := exec.Command("sh", "-c", "timeout 120 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// timeout forwards the signal.
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
}
