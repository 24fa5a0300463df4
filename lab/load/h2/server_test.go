package h2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve runs net/http's server, of one protocol over plain TCP, and returns a
// connection to it.
func serve(t *testing.T, h http.Handler, http1 bool) (net.Conn, *http.Server) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(!http1)
	protocols.SetHTTP1(http1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h, Protocols: protocols, ErrorLog: nil}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // it ends with the test
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn, srv
}

// drive is an event loop for one connection: it runs until done, or the end.
func drive(t *testing.T, conn net.Conn, c *Conn, out []byte, done func() bool) {
	t.Helper()
	in := make([]byte, 1500)
	for {
		out = c.AppendPending(out, 32<<10)
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		out = out[:0]
		if done() {
			return
		}
		if c.Pending() {
			continue
		}
		n, err := conn.Read(in)
		if err != nil {
			t.Fatalf("read: %v, %d active", err, c.Active())
		}
		if err := c.Feed(in[:n]); err != nil {
			t.Fatal(err)
		}
	}
}

// tally is a Handler that counts, and stores answers by slot.
type tally struct {
	status map[int]int
	ended  int
	bytes  map[int]int64
	bodies map[int]string
	failed []Error
	again  func()
}

func newTally() *tally {
	return &tally{status: map[int]int{}, bytes: map[int]int64{}, bodies: map[int]string{}}
}

func (y *tally) Head(slot int, h *Head) { y.status[slot] = h.Status }
func (y *tally) Data(slot int, b []byte) {
	y.bytes[slot] += int64(len(b))
	if y.bytes[slot] < 1000 {
		y.bodies[slot] += string(b)
	}
}

func (y *tally) End(int) {
	y.ended++
	if y.again != nil {
		y.again()
	}
}
func (y *tally) Fail(_ int, e Error) { y.failed = append(y.failed, e) }

// handlers are the server's handlers for the tests.
func handlers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Varies", r.Header.Get("X-Varies"))
		_, _ = io.WriteString(w, "hello")
	})
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) {
		for range 200 {
			_, _ = w.Write(make([]byte, 10_000))
		}
	})
	mux.HandleFunc("POST /count", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n)
	})
	mux.HandleFunc("GET /hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "4")
	})
	mux.HandleFunc("GET /abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("POST /early", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	return mux
}

func TestServer(t *testing.T) {
	mux := handlers()
	for _, tt := range []struct {
		name, method, path string
		size               int64
		settings           Settings
		status             int
		bytes              int64 // of every answer
		body               string
	}{
		{"get", "GET", "/hello", 0, Settings{}, 200, 5, "hello"},
		{"head", "HEAD", "/hello", 0, Settings{}, 200, 0, ""},
		{"not found", "GET", "/nothing", 0, Settings{}, 404, 19, "404 page not found\n"},
		{"large", "GET", "/large", 0, Settings{Streams: 3}, 200, 2_000_000, ""},
		{"large through small windows", "GET", "/large", 0, Settings{Streams: 3, StreamWindow: 20_000, ConnWindow: firstWindow}, 200, 2_000_000, ""},
		{"upload", "POST", "/count", 3_000_000, Settings{Streams: 4}, 200, 7, "3000000"},
		{"hints and trailer", "GET", "/hints", 0, Settings{}, 200, 4, "body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, _ := serve(t, mux, false)
			y := newTally()
			c := client(t, tt.settings).New(y)
			r := request(t, 0, tt.method, tt.path, []byte("some content "), tt.size, Field{Name: "X-Varies", Vary: true})
			const total = 30
			sent := 0
			var out []byte
			send := func() {
				for c.Room() > 0 && sent < total {
					r.Set(4, fmt.Append(nil, "value ", sent))
					_, out = c.AppendRequest(out[:0], r)
					if _, err := conn.Write(out); err != nil {
						t.Fatal(err)
					}
					sent++
				}
			}
			drive(t, conn, c, nil, c.Settled)
			send()
			y.again = func() { send() }
			drive(t, conn, c, nil, func() bool { return y.ended+len(y.failed) == total })
			if y.ended != total || c.Active() != 0 {
				t.Fatalf("%d answers, %v", y.ended, y.failed)
			}
			var got int64
			for slot, status := range y.status {
				got += y.bytes[slot]
				if status != tt.status || !strings.HasPrefix(y.bodies[slot], tt.body) && tt.body != "" {
					t.Errorf("slot %d: %d %q", slot, status, y.bodies[slot])
				}
			}
			if got != total*tt.bytes {
				t.Errorf("%d bytes, want %d", got, total*tt.bytes)
			}
		})
	}
}

func TestServerGivesUp(t *testing.T) {
	mux := handlers()
	t.Run("reset", func(t *testing.T) {
		conn, _ := serve(t, mux, false)
		y := newTally()
		c := client(t, Settings{}).New(y)
		drive(t, conn, c, nil, c.Settled)
		_, out := c.AppendRequest(nil, request(t, 0, "GET", "/abort", nil, 0))
		_, out = c.AppendRequest(out, request(t, 1, "GET", "/hello", nil, 0))
		drive(t, conn, c, out, func() bool { return c.Active() == 0 })
		if len(y.failed) != 1 || y.failed[0].Kind != Reset || y.failed[0].Code != CodeInternal || y.ended != 1 {
			t.Errorf("%d ended, %v", y.ended, y.failed)
		}
	})
	t.Run("early answer", func(t *testing.T) {
		conn, _ := serve(t, mux, false)
		y := newTally()
		c := client(t, Settings{}).New(y)
		drive(t, conn, c, nil, c.Settled)
		_, out := c.AppendRequest(nil, request(t, 0, "POST", "/early", []byte("x"), 1<<40))
		drive(t, conn, c, out, func() bool { return c.Active() == 0 })
		if y.status[0] != 403 || y.ended != 1 || c.Room() == 0 {
			t.Errorf("%v, %v", y.status, y.failed)
		}
	})
}

// A server that shuts down accepts no more requests and finishes pending ones.
func TestServerShutdown(t *testing.T) {
	release := make(chan struct{})
	var running atomic.Int32
	conn, srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		running.Add(1)
		<-release
		_, _ = io.WriteString(w, "late")
	}), false)
	y := newTally()
	c := client(t, Settings{}).New(y)
	drive(t, conn, c, nil, c.Settled)
	r := request(t, 0, "GET", "/", nil, 0)
	_, out := c.AppendRequest(nil, r)
	_, out = c.AppendRequest(out, r)
	drive(t, conn, c, out, func() bool { return true })
	for deadline := time.Now().Add(time.Minute); running.Load() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the requests did not arrive")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(ctx) }()
	left := func() bool {
		leaving, _ := c.Leaving()
		return leaving
	}
	drive(t, conn, c, nil, left)
	if c.Room() != 0 {
		t.Error("there is room after GOAWAY")
	}
	close(release)
	drive(t, conn, c, nil, func() bool { return c.Active() == 0 })
	if y.ended != 2 {
		t.Errorf("%d answers, %v", y.ended, y.failed)
	}
	_ = conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A server of HTTP/1.1 is detected.
func TestServerOfHTTP1(t *testing.T) {
	conn, _ := serve(t, http.NotFoundHandler(), true)
	c := client(t, Settings{}).New(newTally())
	if _, err := conn.Write(c.AppendPending(nil, 0)); err != nil {
		t.Fatal(err)
	}
	in, err := io.ReadAll(io.LimitReader(conn, 100))
	if err != nil || !bytes.HasPrefix(in, []byte("HTTP/1.1")) {
		t.Fatalf("the server answers %q, %v", in, err)
	}
	if err := c.Feed(in); err == nil || c.err.Kind != NotHTTP2 {
		t.Error(err)
	}
}
