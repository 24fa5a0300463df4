package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/probe"
)

// stops answers, and stops the generator for a time at one request.
func stops(t *testing.T, at int64, rest time.Duration) func(http.ResponseWriter, *http.Request, int64) {
	stop := stopper(t, rest)
	return func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == at {
			stop()
		}
		hello(w, r, n)
	}
}

// stopper returns a function that begins to stop the generator, for a time.
func stopper(t *testing.T, rest time.Duration) (stop func()) {
	var stopped sync.WaitGroup
	t.Cleanup(stopped.Wait)
	return func() {
		stopped.Go(func() {
			for _, pid := range probe.Tree(os.Getpid()) {
				if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || !strings.HasSuffix(string(text), "\x00"+load.Verb+"\x00") {
					continue
				}
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Errorf("stop the generator: %v", err)
				}
				time.Sleep(rest)
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Errorf("continue the generator: %v", err)
				}
			}
		})
	}
}

// TestLoadGeneratorStops charges the generator, and not the server, with what was late because the
// generator did not run: the arrivals due meanwhile waited for it, not for a connection.
func TestLoadGeneratorStops(t *testing.T) {
	// A server that is slow on a busy machine is not to be mistaken for it: only one that stops for 0.6 s makes
	// arrivals wait for one of so many connections, while three times as many are due in the stall.
	url, _ := serve(t, stops(t, 300, 2*time.Second))
	code, out, said := loadOf(t, t.Context(), "-c", "128", "-r", "200", "-d", "6s", "--warmup", "0", "--timeout", "10s", "--json", "-", url)
	d := documentOf(t, out)
	gates := failed(d)
	if code != command.ExitInvalid || !slices.Contains(gates, "stall") || !slices.Contains(gates, "send lag") {
		t.Errorf("exit code %d, gates %v; %s", code, gates, said)
	}
	if o := d.Open; o == nil || o.Failed+o.Unfinished > 0 || o.Pacing.P99 == nil || *o.Pacing.P99 < 1e6 {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(said, "the generator did not run for") || strings.Contains(said, "waited for a connection: use more") {
		t.Errorf("%s", said)
	}
	if ok, _ := d.Believed(); ok {
		t.Error("a search would believe the run")
	}
}

// TestLoadSubscribersStop charges the generator, and not the server, with the delays of events that it
// read late because it did not run, and loses no subscriber to a timeout that only it has missed.
func TestLoadSubscribersStop(t *testing.T) {
	stop := stopper(t, 2*time.Second)
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		w.Header().Set("Content-Type", "text/event-stream")
		for id := 1; r.Context().Err() == nil; id++ {
			if n == 2 && id == 200 { // the first asks before the run
				stop()
			}
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %d\n\n", id, time.Now().UnixNano()); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	code, out, said := loadOf(t, t.Context(), "--sse", "--stamp", "@data:ns", "--stall", "1500ms", "-c", "4", "-d", "5s", "--warmup", "0", "--json", "-", url)
	d := documentOf(t, out)
	if gates := failed(d); !slices.Contains(gates, "stall") || d.Latency.Count > 1000 && (code != command.ExitInvalid || !slices.Contains(gates, "read lag")) {
		t.Errorf("exit code %d, gates %v; %s", code, gates, said)
	}
	if v := d.Stream; v == nil || len(d.Errors) > 0 || v.Reconnects > 0 || v.Missed > 0 || v.Lag.MaxUs < 1.5e6 {
		t.Errorf("%+v, errors %v", v, d.Errors)
	}
	if !strings.Contains(said, "the generator did not run for") {
		t.Errorf("%s", said)
	}
}

// TestLoadUndecided does not call a threshold broken that only the machine may have broken, and
// calls one kept that was kept all the same.
func TestLoadUndecided(t *testing.T) {
	url, _ := serve(t, stops(t, 500, 2*time.Second))
	code, out, said := loadOf(t, t.Context(), "-c", "4", "-d", "5s", "--warmup", "0", "--threshold", "max<1s,p50<10s,errors<1%", "--json", "-", url)
	d := documentOf(t, out)
	if code != command.ExitInvalid || !d.Valid || len(d.Disturbed()) == 0 || !strings.Contains(said, "DISTURBED:") || !strings.Contains(said, "p99 and the other latencies are upper bounds") {
		t.Errorf("exit code %d, gates %v; %s", code, failed(d), said)
	}
	of := func(i int) objective.Judged { return d.Thresholds[i] }
	if of(0).Kept || of(0).Undecided == "" || !of(1).Kept || !of(2).Kept {
		t.Errorf("%+v", d.Thresholds)
	}
	url, _ = serve(t, stops(t, 500, 2*time.Second))
	if code, _, said := loadOf(t, t.Context(), "-c", "4", "-d", "5s", "--warmup", "0", url); code != 0 {
		t.Errorf("without thresholds: exit code %d; %s", code, said)
	}
}

// TestLoadServerStalls says when a closed loop had no answer: hardly any latency shows it.
func TestLoadServerStalls(t *testing.T) {
	var stall sync.RWMutex
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 500 {
			stall.Lock()
			time.Sleep(time.Second)
			stall.Unlock()
		}
		stall.RLock()
		defer stall.RUnlock()
		hello(w, r, n)
	})
	_, out, said := loadOf(t, t.Context(), "-c", "4", "-d", "3s", "--warmup", "0", "--json", "-", url)
	d := documentOf(t, out)
	if len(d.Silences) == 0 || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.HasPrefix(n, "no answer for ") }) {
		t.Errorf("silences %v, notes %q; %s", d.Silences, d.Notes, said)
	}
}
