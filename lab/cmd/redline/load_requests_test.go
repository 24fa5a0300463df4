package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

func TestLoadRequestsUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-n", "0"}, "--requests 0: want at least 1"},
		{[]string{"-n", "-5"}, "--requests -5: want at least 1"},
		{[]string{"-n", "1k"}, "--requests 1k: write an integer, such as 1000"},
		{[]string{"-n", "10", "--find", "p99<1s"}, "--requests and --find: a search tries rates"},
		{[]string{"-n", "10", "-c", "11"}, "--requests 10: 11 connections would not all get one; write --connections 10 or less"},
		{[]string{"-n", "100", "-c", "10", "--pipeline", "16", "--warmup", "1s"}, "--requests 100: 160 are under way when the warm-up ends"},
		{[]string{"-n", "100", "-c", "10", "--http2", "--streams", "16", "--warmup", "1s"}, "--requests 100: 160 are under way when the warm-up ends"},
		{[]string{"-n", "10", "--sse"}, "--requests is for requests, and --sse for subscribers"},
		{[]string{"-n", "10", "--try"}, "--requests with --try: --try measures nothing"},
		{[]string{"-n", "10", "--profile", "heap", "--pprof", "http://127.0.0.1:1/debug/pprof"}, "--profile and --requests"},
	} {
		if code, _, said := loadOf(t, t.Context(), append(c.args, url)...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %q", c.args, code, said)
		}
	}
}

// A run of N requests makes N, beside the one before it, and says what became of each.
func TestLoadRequests(t *testing.T) {
	url, count := serve(t, func(w http.ResponseWriter, _ *http.Request, n int64) {
		if n%10 == 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte("hello"))
	})
	mix := filepath.Join(t.TempDir(), "mix.yaml")
	if err := os.WriteFile(mix, []byte("targets: [{url: '/${n}', weight: 3}, {name: other, url: /other}]\nvariables: {n: {counter: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		ask  int64 // requests before the run
	}{
		{"one", []string{"-n", "1"}, 1},
		{"default", []string{"-n", "503"}, 1},
		{"duration", []string{"-n", "503", "-d", "2m"}, 1},
		{"pipeline", []string{"-n", "503", "-c", "4", "--pipeline", "16"}, 1},
		{"workers", []string{"-n", "503", "-c", "5", "--workers", "2"}, 1},
		{"streams", []string{"-n", "503", "-c", "5", "--http2", "--streams", "3", "--workers", "2"}, 1},
		{"scenario", []string{"-n", "503", "-c", "5", "--targets", mix}, 1},
		{"rate", []string{"-n", "103", "-r", "1000"}, 1},
		{"rate of workers", []string{"-n", "103", "-r", "1000", "--arrivals", "poisson", "--workers", "2"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "rate of workers" {
				once(t)
			}
			count.Store(0)
			code, out, said := loadOf(t, t.Context(), append(c.args, "--allow-invalid", "--json", "-", url)...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			d := documentOf(t, out)
			n := int64(d.Config.Requests)
			sum := d.Requests + results.CountErrors(d.Errors)
			wrong := d.Errors["status"] + d.Errors["check"]
			if d.Open != nil { // answers may come after the window, which is short
				sum, wrong = d.Open.Due, d.Open.Failed
			}
			if int64(sum) != n || count.Load() != n+c.ask || d.Config.WarmupSeconds != 0 || d.Partial != "" || n > 1 && wrong == 0 {
				t.Errorf("%d of %d: %d right, %v; the server saw %d", sum, n, d.Requests, d.Errors, count.Load())
			}
			if want := fmt.Sprintf("%d request", n); !strings.Contains(said, want) {
				t.Errorf("no %q in %s", want, said)
			}
		})
	}
	_, out, said := loadOf(t, t.Context(), "-n", "1000000000", "-d", "200ms", "--allow-invalid", "--json", "-", url)
	if d := documentOf(t, out); d.Seconds > 60 || !strings.Contains(said, "of 1000000000 requests") || len(d.Notes) == 0 {
		t.Errorf("%v s, notes %v; %s", d.Seconds, d.Notes, said)
	}
}

// The time of a window that ends after N requests is the measured one, also when a worker is lost.
func TestLoadRequestsWorkerKilled(t *testing.T) {
	var killed error
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 400 {
			if pids := workersOf(t); len(pids) == 2 {
				killed = syscall.Kill(pids[1], syscall.SIGKILL)
			} else {
				killed = fmt.Errorf("workers %v", pids)
			}
		}
		time.Sleep(4 * time.Millisecond)
		hello(w, r, n)
	})
	code, out, said := loadOf(t, t.Context(), "-n", "1000", "--workers", "2", "-c", "2", "--json", "-", url)
	d := documentOf(t, out)
	if killed != nil || code != command.ExitInvalid || !strings.Contains(said, " was lost ") {
		t.Fatalf("%v; exit code %d, %s", killed, code, said)
	}
	if want := "the window was over after " + report.Seconds(d.Seconds) + " with "; !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
		t.Errorf("no %q in %q", want, d.Notes)
	}
	if strings.Contains(said, "1h0m0s") {
		t.Errorf("the maximum in %s", said)
	}
}
