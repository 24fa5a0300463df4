package redline_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestServeListeners serves on listeners of every kind. Those that were given
// are closed with the server.
func TestServeListeners(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, network := range []string{"tcp4", "unix"} {
			addr := "127.0.0.1:0"
			if network == "unix" {
				addr = filepath.Join(t.TempDir(), "socket")
			}
			l, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			r := prepare(t, &redline.Server{Transport: transport, Native: text("given")})
			r.addr = l.Addr()
			r.run(func() error { return r.Serve(l) })
			r.dial().want("/", "given")
			if err := r.shutdown(patience); err != nil {
				t.Error(err)
			}
			until(t, network+": the listener is closed", func() bool {
				c, err := r.tryDial()
				if err == nil {
					c.Close()
				}
				return err != nil
			})
		}
		path := filepath.Join(t.TempDir(), "socket")
		r := prepare(t, &redline.Server{Transport: transport, Loops: 2, Addr: "unix:" + path, Native: func(c *redline.Ctx) {
			c.Text(200, c.LocalAddr().Network())
		}})
		r.addr = &net.UnixAddr{Net: "unix", Name: path}
		r.run(r.ListenAndServe)
		until(t, "it listens", func() bool { // the socket's file is there before
			c, err := r.tryDial()
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		for range 4 {
			r.dial().want("/", "unix")
		}
	}, overTLS)
}

// TestListenTwice serves two addresses with one server.
func TestListenTwice(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := prepare(t, &redline.Server{Transport: transport, Loops: 2, Native: text("x")})
		var addrs [2]net.Addr
		for i := range addrs {
			var err error
			if addrs[i], err = r.Listen("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
		}
		r.run(r.Run)
		for _, r.addr = range addrs {
			for range 4 {
				r.dial().want("/", "x")
			}
		}
	}, overTLS)
}

// TestWrongOrder calls the methods of a server when they make no sense.
func TestWrongOrder(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ends := map[string]func(s *redline.Server) error{
			"Close":    (*redline.Server).Close,
			"Shutdown": func(s *redline.Server) error { return s.Shutdown(t.Context()) },
		}
		for name, end := range ends {
			unused := &redline.Server{Transport: transport, Native: text("x")}
			if err := errors.Join(end(unused), end(unused), unused.Close()); err != nil {
				t.Errorf("%s before anything: %v", name, err)
			}
			listening := &redline.Server{Transport: transport, Native: text("x")}
			if _, err := listening.Listen("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(end(listening), end(listening), listening.Close()); err != nil {
				t.Errorf("%s before Run: %v", name, err)
			}
			r := serve(t, &redline.Server{Transport: transport, Native: text("x")})
			r.dial().want("/", "x")
			if err := r.Serve(l); err == nil || errors.Is(err, redline.ErrServerClosed) {
				t.Errorf("a second Serve: %v", err)
			}
			if err := r.Run(); err == nil || errors.Is(err, redline.ErrServerClosed) {
				t.Errorf("a second Run: %v", err)
			}
			r.dial().want("/", "x")
			if err := errors.Join(end(r.Server), end(r.Server), r.Close()); err != nil {
				t.Errorf("%s, twice: %v", name, err)
			}
			for _, s := range []*redline.Server{unused, listening, r.Server} {
				_, err := s.Listen("127.0.0.1:0")
				for _, err := range []error{err, s.Run(), s.Serve(l), s.ListenAndServe()} {
					if !errors.Is(err, redline.ErrServerClosed) {
						t.Errorf("after %s: %v", name, err)
					}
				}
			}
		}
		both := &redline.Server{Transport: transport, Native: text("x"), Handler: http.NotFoundHandler()}
		if err := both.ListenAndServe(); err == nil {
			t.Error("a server with two handlers runs")
		}
		if err := (&redline.Server{Transport: "pigeon", Native: text("x")}).ListenAndServe(); err == nil {
			t.Error("a server with an unknown transport runs")
		}
	}, overTLS)
}

// TestShutdown lets what is in progress end, and nothing else.
func TestShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		g, streams := newGate(), make(chan *redline.Stream, 1)
		router := redline.NewRouter()
		router.GET("/ok", text("ok"))
		router.GET("/slow", func(c *redline.Ctx) { g.pass(); c.Text(200, "slow") })
		router.GET("/stream", func(c *redline.Ctx) { c.Stream(func(s *redline.Stream) { streams <- s }) })
		router.POST("/body", func(c *redline.Ctx) {
			body, err := c.ReadBody(100)
			if err != nil {
				t.Error(err)
			}
			c.Text(200, string(body))
		})
		r := serve(t, &redline.Server{Transport: transport, Loops: 2, Native: router.Serve})

		fresh, idle, slow, stream, body := r.dial(), r.dial(), r.dial(), r.dial(), r.dial()
		idle.want("/ok", "ok")
		slow.want("/ok", "ok")
		slow.ask("/slow")
		g.await(t, 1)
		stream.ask("/stream")
		s := receive(t, streams, "the stream is open")
		body.send("POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbo")
		until(t, "all are accepted", func() bool { return r.Stats().Open == 5 })

		began := time.Now()
		stopping, down := r.Stopping(), make(chan error, 1)
		go func() { down <- r.shutdown(patience) }()
		receive(t, stopping, "Stopping is told")
		fresh.wantServed("/ok", "ok", began)
		fresh.wantGone()
		r.wantRefused()
		idle.wantGone()

		select {
		case err := <-down:
			t.Fatalf("Shutdown has not waited: %v", err)
		default:
		}
		close(g.open)
		resp := slow.response()
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "slow" || !resp.Close {
			t.Errorf("%q, %v, close %v", b, err, resp.Close)
		}
		slow.wantGone()
		body.send("dy")
		if _, b := body.answer(); b != "body" {
			t.Errorf("%q", b)
		}
		body.wantGone()
		if _, err := s.Write([]byte("last")); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, b := stream.answer(); b != "last" {
			t.Errorf("%q", b)
		}
		stream.wantGone()
		if err := receive(t, down, "Shutdown returns"); err != nil {
			t.Error(err)
		}
	})
}

// wantServed wants the first request to be answered of a client that was accepted
// before Shutdown began, unless it has taken as long as the server waits for it.
func (c *client) wantServed(path, body string, began time.Time) {
	c.t.Helper()
	const patient = 4 * time.Second
	if _, err := fmt.Fprintf(c.Conn, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path); err != nil {
		c.t.Logf("client writes: %v", err) // reading says why
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil && time.Since(began) >= patient {
		c.t.Logf("asked too late: %v after %v", err, time.Since(began))
		return
	}
	if err != nil || resp.StatusCode != 200 {
		c.t.Errorf("a client that was accepted before is answered %v, %v", resp, err)
		return
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != body {
		c.t.Errorf("%q, %v, want %q", b, err, body)
	}
}

// TestShutdownSilentClient does not wait for long for a client that has connected
// and says nothing.
func TestShutdownSilentClient(t *testing.T) {
	noLeaks(t)
	type silent struct {
		c    *client
		down chan error
	}
	var all []silent // their servers wait for them at the same time
	for _, transport := range append(slices.Clone(transports()), overTLS) {
		r := serve(t, &redline.Server{Transport: transport, Native: text("x")})
		s := silent{r.dial(), make(chan error, 1)}
		until(t, "it is accepted", func() bool { return r.Stats().Open == 1 })
		go func() { s.down <- r.shutdown(patience) }()
		all = append(all, s)
	}
	for _, s := range all {
		if err := receive(t, s.down, "Shutdown returns"); err != nil {
			t.Error(err)
		}
		s.c.wantGone()
	}
}

// TestConnState follows connections through their states.
func TestConnState(t *testing.T) {
	const (
		created  = http.StateNew
		active   = http.StateActive
		idle     = http.StateIdle
		hijacked = http.StateHijacked
		closed   = http.StateClosed
	)
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var mu sync.Mutex
		states := map[string][]http.ConnState{}
		router := redline.NewRouter()
		router.GET("/x", text("x"))
		router.GET("/hijack", func(c *redline.Ctx) {
			nc, err := c.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			nc.Close()
		})
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve, ConnState: func(conn net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states[conn.RemoteAddr().String()] = append(states[conn.RemoteAddr().String()], s)
		}})
		for _, c := range []struct {
			name string
			do   func(c *client)
			want []http.ConnState
		}{
			{"nothing", func(c *client) { c.Close() }, []http.ConnState{created, closed}},
			{"twice", func(c *client) {
				c.want("/x", "x")
				c.want("/x", "x")
				c.Close()
			}, []http.ConnState{created, active, idle, active, idle, closed}},
			{"asked to close", func(c *client) {
				c.send("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				c.answer()
				c.wantGone()
			}, []http.ConnState{created, active, closed}},
			{"malformed", func(c *client) {
				c.send("GET\r\n\r\n")
				c.answer()
				c.wantGone()
			}, []http.ConnState{created, active, closed}},
			{"hijacked", func(c *client) {
				c.ask("/hijack")
				c.wantGone()
			}, []http.ConnState{created, active, hijacked}},
		} {
			conn := r.dial()
			c.do(conn)
			conn.Close()
			var got []http.ConnState
			until(t, c.name+" ends", func() bool {
				mu.Lock()
				defer mu.Unlock()
				got = states[conn.LocalAddr().String()]
				return len(got) >= len(c.want)
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	})
}

// TestStats counts what happens.
func TestStats(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var refused atomic.Int64
		router := redline.NewRouter()
		router.GET("/x", text("0123456789"))
		router.GET("/panic", func(*redline.Ctx) { panic(redline.ErrAbort) })
		s := &redline.Server{Transport: transport, Loops: 2, Native: router.Serve, Refused: func(net.Addr, int, string) { refused.Add(1) }}
		if st := s.Stats(); st.Transport != "" || st.Accepted != 0 || st.Routes != nil {
			t.Errorf("before it starts: %+v", st)
		}
		r := serve(t, s)
		const requests = 10
		c := r.dial()
		for range requests {
			c.want("/x", "0123456789")
		}
		st := r.Stats()
		if st.Transport != transport || st.Open != 1 || st.Accepted != 1 || st.Panics != 0 || st.Refused != 0 {
			t.Errorf("%+v", st)
		}
		if len(st.Routes) != 2 || st.Routes[0].Method != "GET" || st.Routes[0].Pattern != "/x" {
			t.Errorf("routes: %+v", st.Routes)
		}
		bad := r.dial()
		bad.send("BAD\r\n\r\n")
		if status, _ := bad.answer(); status != 400 {
			t.Errorf("status %d", status)
		}
		aborted := r.dial()
		aborted.ask("/panic")
		aborted.wantGone()
		if log := r.log.String(); log != "" {
			t.Errorf("ErrAbort is logged: %s", log)
		}
		c.Close()
		bad.Close()
		request := len("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		until(t, "all is counted", func() bool {
			st = r.Stats()
			return st.Open == 0 && st.Accepted == 3 && st.Panics == 1 && st.Refused == 1 && refused.Load() == 1 &&
				st.BytesIn >= uint64(requests*request) && st.BytesOut >= requests*10
		})
		if st.Loops != 2 && transport != redline.TransportStd {
			t.Errorf("%d loops", st.Loops)
		}
	}, overTLS)
}

// TestMaxConns makes clients wait beyond the bound, not fail.
func TestMaxConns(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, MaxConns: 2, Native: text("x")})
		a, b, c := r.dial(), r.dial(), r.dial()
		a.want("/", "x")
		b.want("/", "x")
		c.ask("/")
		time.Sleep(20 * time.Millisecond)
		if n := r.Stats().Open; n != 2 {
			t.Errorf("%d connections are open, at most 2 may be", n)
		}
		a.Close()
		if status, body := c.answer(); status != 200 || body != "x" {
			t.Errorf("%d %q", status, body)
		}
	}, overTLS)
}
