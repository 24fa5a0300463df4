package redline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A gate is where handlers wait: inline, without a word to the server.
type gate struct {
	waiting atomic.Int64
	open    chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) pass() {
	g.waiting.Add(1)
	<-g.open
	g.waiting.Add(-1)
}

func (g *gate) await(t *testing.T, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%d handlers wait", n), func() bool { return g.waiting.Load() >= int64(n) })
}

// late blocks until the loop was taken over because of that, if there are loops.
// It may have been before the first look: so the wait is bounded, and a test that
// needs the takeover asks until there was one.
func late(s *redline.Server) {
	if n := s.Stats().Takeovers; s.Transport != redline.TransportStd {
		for end := time.Now().Add(2 * time.Second); s.Stats().Takeovers == n && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
}

// TestTakeoverOfMany has a thousand handlers asleep on one route, while another
// one on the same loop answers all it is asked.
func TestTakeoverOfMany(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const sleepers, requests = 1000, 2000
		g, router := newGate(), redline.NewRouter()
		router.GET("/sleep", func(c *redline.Ctx) { g.pass(); c.Text(200, "awake") })
		router.GET("/quick", text("quick"))
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		clients := make([]*client, sleepers)
		for i := range clients {
			clients[i] = r.dial()
			clients[i].ask("/sleep")
		}
		quick := r.dial()
		for range requests {
			quick.want("/quick", "quick")
		}
		g.await(t, sleepers)
		for range requests {
			quick.want("/quick", "quick")
		}
		if n := g.waiting.Load(); n != sleepers {
			t.Errorf("%d handlers are asleep, want %d", n, sleepers)
		}
		close(g.open)
		for _, c := range clients {
			if status, body := c.answer(); status != 200 || body != "awake" {
				t.Fatalf("%d %q", status, body)
			}
		}
		if route := r.routeOf("/sleep"); transport != redline.TransportStd && (!route.Blocking || r.Stats().Takeovers < 2) {
			t.Errorf("not learned: %+v, %d takeovers", route, r.Stats().Takeovers)
		}
	})
}

// TestTakeoverPipelined answers the requests behind a blocked one afterwards, in
// order, those that came meanwhile too.
func TestTakeoverPipelined(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		g, router := newGate(), redline.NewRouter()
		router.GET("/block", func(c *redline.Ctx) { g.pass(); c.Text(200, "block") })
		router.GET("/echo/{n}", func(c *redline.Ctx) { c.Text(200, c.Param("n")) })
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		c := r.dial()
		c.ask("/echo/0", "/block", "/echo/1", "/echo/2")
		g.await(t, 1)
		c.ask("/echo/3")
		c.send("GET /echo/4 HTTP/1.1\r\nHo")
		r.dial().want("/echo/other", "other")
		c.send("st: h\r\n\r\n")
		close(g.open)
		for i, want := range []string{"0", "block", "1", "2", "3", "4"} {
			if status, body := c.answer(); status != 200 || body != want {
				t.Errorf("answer %d: %d %q, want %q", i, status, body, want)
			}
		}
	})
}

// TestTakeoverClientLeaves cancels the context of a handler whose client leaves
// while nobody reads or writes.
func TestTakeoverClientLeaves(t *testing.T) {
	for name, leave := range map[string]func(*client){
		"close": func(c *client) { c.Close() },
		"reset": func(c *client) { c.reset() },
		// Over TLS the stream has to end too: a record is not read while a handler runs.
		"half-close": func(c *client) {
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			c.tcp().CloseWrite()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				entered, cause := make(chan struct{}), make(chan error, 1)
				s := &redline.Server{Transport: transport}
				s.Native = func(c *redline.Ctx) {
					close(entered)
					ctx := c.Context()
					late(s)
					<-ctx.Done()
					cause <- context.Cause(ctx)
				}
				c := serve(t, s).dial()
				c.ask("/")
				receive(t, entered, "the handler runs")
				began := time.Now()
				leave(c)
				if err := receive(t, cause, "the context is cancelled"); !errors.Is(err, redline.ErrGone) {
					t.Errorf("cause is %v", err)
				}
				t.Logf("cancelled after %v", time.Since(began))
			})
		})
	}
}

// TestTakeoverPanic answers 500 for a handler that panics when it is not on its
// loop any more.
func TestTakeoverPanic(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		s := &redline.Server{Transport: transport, Native: router.Serve}
		seen := make(chan struct{}) // the client has read what there is
		router.GET("/panic", func(*redline.Ctx) { late(s); panic("spilled") })
		router.GET("/cut", func(c *redline.Ctx) {
			if _, err := c.WriteString("part"); err != nil {
				t.Error(err)
			}
			if err := c.Flush(); err != nil {
				t.Error(err)
			}
			late(s)
			<-seen
			panic("spilled again")
		})
		router.GET("/ok", text("ok"))
		r := serve(t, s)
		c := r.dial()
		c.ask("/panic", "/ok")
		if status, _ := c.answer(); status != 500 {
			t.Errorf("status %d, want 500", status)
		}
		c.wantGone()
		if log := r.log.String(); !strings.Contains(log, "spilled") || !strings.Contains(log, "takeover_test.go") {
			t.Errorf("log: %s", log)
		}
		c = r.dial()
		c.ask("/cut")
		body, part := c.response().Body, make([]byte, len("part"))
		if _, err := io.ReadFull(body, part); err != nil || string(part) != "part" {
			t.Errorf("%q, %v", part, err)
		}
		close(seen)
		if rest, err := io.ReadAll(body); err == nil || len(rest) > 0 {
			t.Errorf("%q, %v: the answer looks complete", rest, err)
		}
		if n := r.Stats().Panics; n != 2 {
			t.Errorf("%d panics are counted, want 2", n)
		}
		r.dial().want("/ok", "ok")
	})
}

// TestTakeoverShutdown waits for a handler that was taken over.
func TestTakeoverShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		g := newGate()
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) { g.pass(); c.Text(200, "done") }})
		c := r.dial()
		c.ask("/")
		g.await(t, 1)
		stopping := r.Stopping()
		down := make(chan error, 1)
		go func() { down <- r.shutdown(patience) }()
		receive(t, stopping, "Stopping is told")
		r.wantRefused()
		close(g.open)
		resp := c.response()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" || !resp.Close {
			t.Errorf("%q, %v, close %v", body, err, resp.Close)
		}
		if err := receive(t, down, "Shutdown returns"); err != nil {
			t.Error(err)
		}
	})
}

// TestTakeoverShutdownDeadline does not wait for longer than it is told to.
func TestTakeoverShutdownDeadline(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		testCut(t, transport, func(r *running) {
			if err := r.shutdown(20 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown returns %v", err)
			}
		})
	})
}

// TestTakeoverClose cuts a handler that was taken over off its client.
func TestTakeoverClose(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		testCut(t, transport, func(r *running) {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}

// testCut wants a handler that has not returned to be told by its context.
func testCut(t *testing.T, transport redline.Transport, end func(*running)) {
	g, cause, ended := newGate(), make(chan error, 1), make(chan struct{})
	r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
		defer close(ended)
		ctx := c.Context()
		g.waiting.Add(1)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		<-g.open // Close has not waited
		c.Text(200, "nobody reads this")
	}})
	c := r.dial()
	c.ask("/")
	g.await(t, 1)
	end(r)
	if err := receive(t, cause, "the context is cancelled"); !errors.Is(err, redline.ErrGone) {
		t.Errorf("cause is %v", err)
	}
	c.wantGone()
	close(g.open)
	receive(t, ended, "the handler returns")
}

// wantRefused waits until no new connection is accepted.
func (r *running) wantRefused() {
	r.t.Helper()
	until(r.t, "connections are refused", func() bool {
		c, err := r.tryDial()
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// TestSlowClientIsNoTakeover does not hold it against a route that its clients
// are slow, or that it takes connections over. Now and then, or often, a takeover
// is the machine's doing; not each time.
func TestSlowClientIsNoTakeover(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	for name, c := range map[string]struct {
		handler redline.HandlerFunc
		client  func(c *client, path string)
		but     []redline.Transport
	}{
		"body": {func(c *redline.Ctx) {
			body, err := c.ReadBody(100)
			if err != nil {
				panic(err)
			}
			c.Text(200, string(body))
		}, func(c *client, path string) {
			c.send("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n", path)
			time.Sleep(10 * time.Millisecond)
			c.send("slow")
			if _, body := c.answer(); body != "slow" {
				c.t.Errorf("body %q", body)
			}
		}, nil},
		"response": {func(c *redline.Ctx) {
			for range 8 {
				if _, err := c.Write(big); err != nil {
					panic(err)
				}
			}
		}, func(c *client, path string) {
			c.send("POST %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
			time.Sleep(10 * time.Millisecond)
			if _, body := c.answer(); len(body) != 8*len(big) {
				c.t.Errorf("%d bytes", len(body))
			}
		}, []redline.Transport{overTLS}}, // to encrypt that much does hold a loop
		"hijack": {func(c *redline.Ctx) {
			nc, err := c.Hijack()
			if err != nil {
				panic(err)
			}
			defer nc.Close()
			fmt.Fprint(nc, "hijacked")
		}, func(c *client, path string) {
			c.send("POST %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
			if b, err := io.ReadAll(c.r); err != nil || string(b) != "hijacked" {
				c.t.Errorf("%q, %v", b, err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				const routes = 200
				router := redline.NewRouter()
				for i := range routes {
					router.POST(fmt.Sprintf("/r%d", i), c.handler)
				}
				r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
				for i := range routes {
					path := fmt.Sprintf("/r%d", i)
					client := r.dial()
					c.client(client, path)
					client.Close()
					if route := r.routeOf(path); route.Slow == 0 && !route.Blocking {
						return
					}
				}
				t.Errorf("each wait was counted as a takeover: %+v", r.Stats().Routes)
			}, c.but...)
		})
	}
}
