package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/spawn"
)

// The test binary is also a generator. The address in its spec selects what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		os.Exit(act())
	}
	os.Exit(m.Run())
}

func act() int {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	var order spec.Spec
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	say := func(e spec.Event) {
		if err := json.NewEncoder(os.Stdout).Encode(e); err != nil {
			os.Exit(9)
		}
	}
	say(spec.Event{Connected: true})
	switch order.Addr {
	case "refuse":
		say(spec.Event{Error: "connection refused"})
		return 1
	case "crash":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		return 3
	case "garble":
		fmt.Println("{")
		return 0
	case "wait":
		select {
		case <-stopped:
			say(spec.Event{Result: &spec.Result{Requests: 5, Cut: true}})
		case <-time.After(30 * time.Second):
		}
		return 0
	}
	say(spec.Event{Window: true})
	say(spec.Event{Result: &spec.Result{Requests: 7}})
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	return 0
}

func start(t *testing.T, ctx context.Context, what string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	l := spawn.NewLauncher()
	t.Cleanup(l.Close)
	p, err := Start(ctx, l, exe, cpus[:1], &spec.Spec{Addr: what})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if len(probe.Tree(p.PID())) > 0 {
			t.Errorf("%s: the process is left", what)
		}
	})
	return p
}

func ignore(spec.Event) error { return nil }

func TestFollow(t *testing.T) {
	var seen []spec.Event
	p := start(t, t.Context(), "")
	r, err := p.Follow(func(e spec.Event) error {
		seen = append(seen, e)
		if time.Sleep(20 * time.Millisecond); len(probe.Tree(p.PID())) == 0 {
			t.Errorf("the generator has ended before %+v was seen", e)
		}
		return nil
	})
	if err != nil || r.Requests != 7 || len(seen) != 4 || seen[0].PID != p.PID() || !seen[1].Connected || !seen[2].Window || seen[3].Result != r {
		t.Errorf("%+v, %v, seen %+v", r, err, seen)
	}
}

func TestInterrupt(t *testing.T) {
	p := start(t, t.Context(), "wait")
	r, err := p.Follow(func(e spec.Event) error {
		if e.Connected {
			return p.Interrupt()
		}
		return nil
	})
	if err != nil || r.Requests != 5 || !r.Cut {
		t.Errorf("%+v, %v", r, err)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("of a process that has ended: %v", err)
	}
}

func TestFailures(t *testing.T) {
	for what, want := range map[string]string{
		"refuse": "connection refused",
		"crash":  "exit status 3\npanic: out of cheese",
		"garble": "the generator ended without a result: generator: unexpected EOF",
	} {
		if r, err := start(t, t.Context(), what).Follow(ignore); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", what, r, err, want)
		}
	}
}

// The caller's error ends the process, and so does the end of its context.
func TestEnds(t *testing.T) {
	stop := errors.New("stop")
	if r, err := start(t, t.Context(), "wait").Follow(func(spec.Event) error { return stop }); r != nil || !errors.Is(err, stop) {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := start(t, ctx, "wait").Follow(func(spec.Event) error { cancel(); return nil })
	if r != nil || err == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// A generator that has told its result remains until its input ends: its CPU clock is read
// after that.
func TestServe(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	addr := s.Listener.Addr().String()
	in, orders := io.Pipe()
	events, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), in, out)
		out.Close()
	}()
	order := &spec.Spec{
		Addr: addr, Request: []byte("GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"), Expect: spec.Expect{Status: 404},
		Connections: 1, Pipeline: 1, Window: 50 * time.Millisecond, Tick: 10 * time.Millisecond, Timeout: time.Minute,
	}
	if err := json.NewEncoder(orders).Encode(order); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(events)
	for {
		var e spec.Event
		if err := dec.Decode(&e); err != nil || e.Error != "" {
			t.Fatal(err, e.Error)
		}
		if e.Result != nil {
			break
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	orders.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := Serve(t.Context(), strings.NewReader("{"), io.Discard); err == nil {
		t.Error("half a specification is accepted")
	}
}
