package redline_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// full makes long tables and bodies whole on every transport: make full.
var full = flag.Bool("full", false, "run the long tables whole on every transport, and bodies of a gibibyte")

// turn reports whether it is a transport's turn to take a row of a long table. Each row is taken
// once, and each transport takes every fourth; with -full each transport takes each row.
func turn(transport redline.Transport, row int) bool {
	all := append(slices.Clone(transports()), overTLS)
	return *full || row%len(all) == slices.Index(all, transport)
}

// transports are those that this system allows.
var transports = sync.OnceValue(func() (names []redline.Transport) {
	for _, name := range []redline.Transport{redline.TransportUring, redline.TransportEpoll, redline.TransportStd} {
		s := &redline.Server{Transport: name, Native: func(*redline.Ctx) {}, Logger: slog.New(slog.DiscardHandler)}
		_, err := s.Listen("127.0.0.1:0")
		if s.Close(); err == nil {
			names = append(names, name)
		}
	}
	return names
})

// onEach runs a test on every transport but those named. Under the race detector that is every other
// one, which depends on the test's name: what tests of this package do on a transport is above it, and
// the detector has the transports' own suite on each. With -full it is every one there too.
func onEach(t *testing.T, f func(t *testing.T, transport redline.Transport), but ...redline.Transport) {
	t.Helper()
	names := slices.DeleteFunc(append(slices.Clone(transports()), overTLS), func(name redline.Transport) bool { return slices.Contains(but, name) })
	if slower > 1 && !*full {
		h := fnv.New32a()
		_, _ = io.WriteString(h, t.Name())
		taken := names[:0]
		for i, name := range names {
			if len(names) == 1 || i%2 == int(h.Sum32()%2) {
				taken = append(taken, name)
			}
		}
		names = taken
	}
	onThese(t, names, f)
}

// onAll runs a test on every transport: one that gives each its turn, or is about them.
func onAll(t *testing.T, f func(t *testing.T, transport redline.Transport)) {
	t.Helper()
	onThese(t, append(slices.Clone(transports()), overTLS), f)
}

// onTurn runs a test on the transport whose turn the row of a table is.
func onTurn(t *testing.T, row int, f func(t *testing.T, transport redline.Transport)) {
	t.Helper()
	onThese(t, slices.DeleteFunc(append(slices.Clone(transports()), overTLS), func(name redline.Transport) bool { return !turn(name, row) }), f)
}

func onThese(t *testing.T, names []redline.Transport, f func(t *testing.T, transport redline.Transport)) {
	t.Helper()
	for _, name := range names {
		t.Run(string(name), func(t *testing.T) {
			noLeaks(t)
			f(t, name)
		})
	}
}

// noLeaks wants the descriptors and goroutines of now back at the end.
func noLeaks(t *testing.T) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		until(t, "goroutines and descriptors are gone", func() bool {
			return runtime.NumGoroutine() <= goroutines && openFiles() <= files
		})
		if t.Failed() {
			t.Logf("%d goroutines, %d before; %d files, %d before", runtime.NumGoroutine(), goroutines, openFiles(), files)
		}
	})
}

// openFiles is the number of descriptors of the process, or 0 where it cannot be
// told.
func openFiles() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// until waits until a condition holds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b := make([]byte, 1<<18)
			t.Fatalf("waited in vain until %s\n%s", what, b[:runtime.Stack(b, true)])
		}
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		b := make([]byte, 1<<18)
		t.Fatalf("waited in vain until %s\n%s", what, b[:runtime.Stack(b, true)])
		panic("not reached")
	}
}

// A journal keeps what a server logs.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// A running server.
type running struct {
	*redline.Server
	t      *testing.T
	addr   net.Addr
	log    *journal
	served chan error
	secure bool // its clients speak TLS
}

// serve starts a server on a loopback port, with one loop unless it says
// otherwise. It is closed at the end of the test.
func serve(t *testing.T, s *redline.Server) *running {
	t.Helper()
	r := prepare(t, s)
	var err error
	if r.addr, err = r.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	r.run(s.Run)
	return r
}

func prepare(t *testing.T, s *redline.Server) *running {
	r := &running{Server: s, t: t, log: new(journal), served: make(chan error, 1)}
	if s.Transport == overTLS {
		r.secure = true
		s.Transport, s.TLSConfig = transports()[0], serverTLS()
	}
	if s.Loops == 0 {
		s.Loops = 1
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	}
	return r
}

// run serves in the background, and ends the server after the test.
func (r *running) run(f func() error) {
	go func() { r.served <- f() }()
	r.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			r.t.Error(err)
		}
		if err := receive(r.t, r.served, "the server stops"); !errors.Is(err, redline.ErrServerClosed) {
			r.t.Errorf("serving ends with %v", err)
		}
		until(r.t, "connections are counted off", func() bool { return r.Stats().Open == 0 })
	})
}

// shutdown shuts the server down with a deadline.
func (r *running) shutdown(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return r.Shutdown(ctx)
}

// A client is one connection to a server. Its reads and writes are bounded.
type client struct {
	net.Conn
	t     *testing.T
	r     *bufio.Reader
	began time.Time // before it connected
}

func (r *running) tryDial() (net.Conn, error) {
	c, err := net.DialTimeout(r.addr.Network(), r.addr.String(), patience)
	if err != nil || !r.secure {
		return c, err
	}
	return handshake(c)
}

func (r *running) dial() *client {
	r.t.Helper()
	began := time.Now()
	c, err := r.tryDial()
	if err != nil {
		r.t.Fatal(err)
	}
	return bounded(r.t, c, began)
}

// bounded makes a client of a connection that was begun at a time.
func bounded(t *testing.T, c net.Conn, began time.Time) *client {
	t.Helper()
	if err := c.SetDeadline(began.Add(4 * patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{Conn: c, t: t, r: bufio.NewReader(c), began: began}
}

// send writes a text.
func (c *client) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.Conn, format, args...); err != nil {
		c.t.Errorf("client writes: %v", err)
	}
}

// ask sends requests without a body, all at once.
func (c *client) ask(paths ...string) {
	c.t.Helper()
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", p)
	}
	c.send("%s", b.String())
}

// response reads the head of an answer to GET.
func (c *client) response() *http.Response {
	c.t.Helper()
	return c.responseTo("GET")
}

func (c *client) responseTo(method string) *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("client reads an answer: %v", err)
	}
	return resp
}

// answer reads an answer whole.
func (c *client) answer() (status int, body string) {
	c.t.Helper()
	resp := c.response()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Errorf("client reads a body: %v", err)
	}
	return resp.StatusCode, string(b)
}

func (c *client) get(path string) (status int, body string) {
	c.t.Helper()
	c.ask(path)
	return c.answer()
}

// want asks for a path and wants an answer with status 200.
func (c *client) want(path, body string) {
	c.t.Helper()
	if status, got := c.get(path); status != 200 || got != body {
		c.t.Errorf("GET %s: %d %.80q, want 200 %.80q", path, status, got, body)
	}
}

// lingers is for how long the transports, at least, go on reading from a client
// that they have answered for the last time. A reset that destroys the answer can
// come later.
const lingers = 900 * time.Millisecond

// wantGone reads the end of the connection or a reset.
func (c *client) wantGone() {
	c.t.Helper()
	b, err := io.ReadAll(c.r)
	if len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("client reads %.80q, %v, want the connection gone", b, err)
	}
}

// reset closes the connection with a reset.
func (c *client) reset() {
	c.t.Helper()
	if err := c.tcp().SetLinger(0); err != nil {
		c.t.Error(err)
	}
	c.tcp().Close()
}

// tcp is the connection underneath.
func (c *client) tcp() *net.TCPConn {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		return secure.NetConn().(*net.TCPConn)
	}
	return c.Conn.(*net.TCPConn)
}

// text is a handler that answers with a text.
func text(s string) redline.HandlerFunc { return func(c *redline.Ctx) { c.Text(200, s) } }

// routeOf returns what a server has learned about a pattern.
func (r *running) routeOf(pattern string) redline.RouteStats {
	for _, route := range r.Stats().Routes {
		if route.Pattern == pattern {
			return route
		}
	}
	return redline.RouteStats{}
}
