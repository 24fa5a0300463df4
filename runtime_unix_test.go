//go:build unix

package redline_test

import (
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestGCGoesOn collects garbage while loops are idle, under load, and while
// handlers block: nothing may keep the collector from stopping the world.
func TestGCGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		g, router := newGate(), redline.NewRouter()
		router.GET("/x", text("x"))
		router.GET("/block", func(c *redline.Ctx) { g.pass(); c.Text(200, "") })
		r := serve(t, &redline.Server{Transport: transport, Loops: 2, Native: router.Serve})
		collect := func(what string) {
			t.Helper()
			done := make(chan time.Duration, 1)
			go func() {
				var worst time.Duration
				for range 5 {
					began := time.Now()
					runtime.GC()
					worst = max(worst, time.Since(began))
				}
				done <- worst
			}()
			select {
			case worst := <-done:
				t.Logf("%s: at most %v", what, worst)
			case <-time.After(patience): // a stall has no end at all
				t.Fatalf("%s: runtime.GC does not return", what) // stacks could not be had either
			}
		}
		collect("idle")
		stop := make(chan struct{})
		var load sync.WaitGroup
		for range 4 {
			c := r.dial()
			load.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					c.want("/x", "x")
				}
			})
		}
		collect("under load")
		blocked := r.dial()
		blocked.ask("/block")
		g.await(t, 1)
		collect("with a blocked handler")
		close(stop)
		load.Wait()
		close(g.open)
		blocked.answer()
	})
}

// TestIdleCostsNothing leaves a server alone, with connections and a stream, and
// looks at the processor time that it takes.
func TestIdleCostsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, streams := streaming(t, &redline.Server{Transport: transport, Loops: 2})
		for range 50 {
			r.dial().want("/x", "/x")
		}
		c := r.dial()
		c.ask("/stream")
		s := receive(t, streams, "the stream is open")
		defer s.Close()
		wantIdle(t)
	})
}

// TestIdleWhileShuttingDown does the same while a stream keeps Shutdown waiting
// and connections wait in a listener that others go on using.
func TestIdleWhileShuttingDown(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() // so that the kernel goes on accepting
		streams := make(chan *redline.Stream, 1)
		r := prepare(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) { c.Stream(func(s *redline.Stream) { streams <- s }) }})
		r.addr = l.Addr()
		r.run(func() error { return r.Serve(l) })
		c := r.dial()
		c.ask("/")
		s := receive(t, streams, "the stream is open")
		stopping, down := r.Stopping(), make(chan error, 1)
		go func() { down <- r.shutdown(patience) }()
		receive(t, stopping, "Stopping is told")
		time.Sleep(50 * time.Millisecond) // the listening sockets are closed by now
		r.dial()
		wantIdle(t)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := receive(t, down, "Shutdown returns"); err != nil {
			t.Error(err)
		}
	}, overTLS)
}

// wantIdle looks for half a second in which the process does next to nothing.
// The machine is not ours alone, and the runtime has its own errands: one quiet
// window is proof enough, as a loop that spins has none.
func wantIdle(t *testing.T) {
	t.Helper()
	const window, bound = 500 * time.Millisecond, 50 * time.Millisecond
	var used time.Duration
	for range 20 {
		runtime.GC()
		before := processorTime(t)
		time.Sleep(window)
		if used = processorTime(t) - before; used < bound {
			t.Logf("%v of processor time in %v", used, window)
			return
		}
	}
	t.Errorf("idle, but %v of processor time in %v", used, window)
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
