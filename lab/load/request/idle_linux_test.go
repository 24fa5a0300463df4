package request

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

func idleSpec(addr string) *spec.Spec {
	order := testSpec(addr)
	order.Idle, order.Connections = true, 300
	order.Warmup, order.Window, order.Tick = 50*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	return order
}

func TestIdle(t *testing.T) {
	var served, most, now atomic.Int64
	s := serveScript(t, func(c *net.TCPConn, n int) bool {
		if n > 1 {
			t.Error("a second request on a connection")
		}
		served.Add(1)
		if in := now.Add(1); in > most.Load() {
			most.Store(in)
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return say(c, goodAnswer)
	})
	order := idleSpec(s.addr)
	events, err := collect(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	res := events[len(events)-1].Result
	if res.Held != 300 || res.Requests != 0 || res.Answered != 300 || served.Load() != 300 || len(res.Errors) > 0 || !res.Steady {
		t.Errorf("%d served, result %+v", served.Load(), res)
	}
	if most.Load() > maxAsking {
		t.Errorf("%d requests at once", most.Load())
	}
}

// An hour without requests is no timeout, neither of the connections nor of the run.
func TestNothingToWaitFor(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	for name, order := range map[string]*spec.Spec{"idle": idleSpec(s.addr), "open loop": openSpec(s.addr, 1e-6)} {
		order.Connections = 3
		l, err := newLoop(context.Background(), order)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, l)
		l.start()
		for bound := l.Now() + int64(2*time.Minute); l.standing < 3 || !l.idle(l.Now()); {
			if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
				t.Fatalf("%s: %d connections, %v", name, l.standing, err)
			}
		}
		l.base = l.base.Add(-time.Hour)
		l.nextScan = 0
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.standing != 3 || l.rec.Failures() > 0 {
			t.Errorf("%s: %d connections, errors %v, %v", name, l.standing, errorsOf(&l.rec.Counters), err)
		}
	}
}

// Connections that the server closes when idle are counted.
func TestIdleConnectionsClosed(t *testing.T) {
	var connections atomic.Int64
	window := make(chan struct{}) // closed when it has begun
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in := make([]byte, len(getRequest))
		if _, err := c.Read(in); err != nil || !say(c, goodAnswer) {
			return
		}
		if connections.Add(1)%3 == 0 {
			<-window
			return
		}
		_, _ = c.Read(in) // until the client closes
	})
	order := idleSpec(s.addr)
	order.Window = 30 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var res *spec.Result
	if err := Run(ctx, order, func(e spec.Event) {
		switch {
		case e.Window:
			close(window)
		case e.Tick != nil && e.Tick.Errors > 0:
			cancel()
		case e.Result != nil:
			res = e.Result
		}
	}); err != nil {
		t.Fatal(err)
	}
	if res == nil || res.Errors[spec.ErrClosed] == 0 || !res.Cut {
		t.Errorf("result %+v", res)
	}
}

func TestIdleNeedsKeepAlive(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool {
		return say(c, strings.Replace(goodAnswer, "\r\n", "\r\nConnection: close\r\n", 1)) && false
	})
	order := idleSpec(s.addr)
	order.Connections = 10
	_, err := collect(context.Background(), order)
	if err == nil || !strings.Contains(err.Error(), "connections do not stay open: 0 of 10 are open after ") {
		t.Errorf("error %v", err)
	}
}

func TestIdleRefuses(t *testing.T) {
	order := idleSpec("127.0.0.1:1")
	order.Pipeline = 2
	if err := order.Validate(); err == nil || !strings.Contains(err.Error(), "idle connections with a pipeline") {
		t.Errorf("error %v", err)
	}
}
