package request

import (
	"bufio"
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

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

const (
	head200     = "HTTP/1.1 200 OK\r\n"
	getRequest  = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	postRequest = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	goodAnswer  = head200 + "Content-Length: 5\r\n\r\nhello"
)

// script answers the n-th request of a connection of a test server,
// counted from 1. It returns false to close the connection.
type script func(c *net.TCPConn, n int) bool

// scripted is a server that reads requests and answers them by a script.
type scripted struct {
	addr     string
	answered atomic.Uint64 // good answers written
	bodies   atomic.Uint64 // bytes of requests' bodies received as sent
}

func say(c net.Conn, s string) bool {
	_, err := io.WriteString(c, s)
	return err == nil
}

// serve starts a server that stops with the test.
func serve(t *testing.T, accept func(s *scripted, c *net.TCPConn)) *scripted {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &scripted{addr: ln.Addr().String()}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				accept(s, c.(*net.TCPConn))
			}()
		}
	}()
	return s
}

// serveScript answers whole requests by a script.
func serveScript(t *testing.T, do script) *scripted {
	return serve(t, func(s *scripted, c *net.TCPConn) {
		br := bufio.NewReaderSize(c, 1<<16)
		for n := 1; ; n++ {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			if len(body) == bytes.Count(body, []byte("u")) {
				s.bodies.Add(uint64(len(body)))
			}
			if !do(c, n) {
				return
			}
		}
	})
}

func testSpec(addr string) *spec.Spec {
	return &spec.Spec{
		Addr: addr, Request: []byte(getRequest), Expect: spec.Expect{Status: 200, Body: []byte("hello")},
		Connections: 3, Pipeline: 1, Window: time.Second, Tick: time.Second, Timeout: time.Minute, MaxBody: 1 << 20,
	}
}

// drive runs a loop on spec until enough, with a time limit,
// and then waits for outstanding answers.
func drive(t *testing.T, order *spec.Spec, enough func(*tally.Counters) bool) *loop {
	t.Helper()
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, l) })
	step := func(done func() bool, what string) {
		t.Helper()
		for bound := l.Now() + int64(2*time.Minute); !done(); {
			if l.Now() > bound {
				t.Fatalf("%s: not within two minutes; counted %+v", what, l.rec.Counters)
			}
			if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	step(func() bool { return l.standing == order.Connections }, "connect")
	l.start()
	step(func() bool { return enough(&l.rec.Counters) }, "run")
	l.draining = true
	step(func() bool { return l.outstanding() == 0 }, "drain")
	if n := l.flight.Count(); n != 0 {
		t.Errorf("%d requests in flight when nothing is outstanding", n)
	}
	return l
}

// shut closes a loop.
func shut(t *testing.T, l *loop) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// failing returns a loop that has run until six requests failed.
func failing(t *testing.T, order *spec.Spec) *loop {
	t.Helper()
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, l) })
	l.start()
	for bound := l.Now() + int64(2*time.Minute); l.rec.Failures() < 6; {
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
			t.Fatalf("errors %v, %v", errorsOf(&l.rec.Counters), err)
		}
	}
	return l
}

func errorsOf(c *tally.Counters) map[string]uint64 {
	m := map[string]uint64{}
	for k, n := range c.Errors {
		if n > 0 {
			m[tally.Names[k]] = n
		}
	}
	return m
}

// uploadSpec is a run of 1 MiB uploads.
func uploadSpec(addr string) *spec.Spec {
	order := testSpec(addr)
	order.Request = fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", 1<<20, strings.Repeat("u", 1<<20))
	return order
}

func TestUploads(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := uploadSpec(s.addr)
	order.Connections = 64
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 128 })
	if e := errorsOf(&l.rec.Counters); len(e) > 0 {
		t.Errorf("errors %v", e)
	}
	if got, want := s.bodies.Load(), l.rec.Requests<<20; got != want {
		t.Errorf("the server got %d right bytes of %d", got, want)
	}
	if got, want := l.rec.BytesOut, l.rec.Requests*uint64(len(order.Request)); got != want {
		t.Errorf("%d bytes sent, want %d", got, want)
	}
}

// An answer may arrive before the request is completely written.
func TestEarlyAnswers(t *testing.T) {
	early := func(answer string, finish bool) func(*scripted, *net.TCPConn) {
		return func(s *scripted, c *net.TCPConn) {
			whole := len(uploadSpec("").Request)
			for {
				if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
					return
				}
				s.answered.Add(1)
				if !say(c, answer) || !finish {
					return
				}
				if _, err := io.CopyN(io.Discard, c, int64(whole-1000)); err != nil {
					return
				}
			}
		}
	}
	t.Run("goes on", func(t *testing.T) {
		s := serve(t, early(goodAnswer, true))
		l := drive(t, uploadSpec(s.addr), func(c *tally.Counters) bool { return c.Requests >= 20 })
		if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Requests != s.answered.Load() {
			t.Errorf("errors %v, %d right answers of %d", e, l.rec.Requests, s.answered.Load())
		}
	})
	t.Run("refuses", func(t *testing.T) {
		s := serve(t, early("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false))
		l := drive(t, uploadSpec(s.addr), func(c *tally.Counters) bool { return c.Errors[tally.KindStatus] >= 5 })
		if e := errorsOf(&l.rec.Counters); len(e) != 1 || l.rec.Requests != 0 {
			t.Errorf("errors %v and %d right answers, want status alone", e, l.rec.Requests)
		}
	})
}

// Batches are complete and in order, and each request is answered once, however the
// server splits its answers.
func TestPipeline(t *testing.T) {
	for _, cut := range []int{0, 1, 7, 50, 1000} {
		t.Run(fmt.Sprint("writes of ", cut), func(t *testing.T) {
			var wrong atomic.Uint64
			s := serve(t, func(s *scripted, c *net.TCPConn) {
				const depth = 16
				batch := strings.Repeat(getRequest, depth)
				in := make([]byte, len(batch))
				for {
					if _, err := io.ReadFull(c, in); err != nil {
						return
					}
					if string(in) != batch {
						wrong.Add(1)
					}
					s.answered.Add(depth)
					out := strings.Repeat(goodAnswer, depth)
					for size := max(cut, 0); size > 0 && len(out) > size; out = out[size:] {
						if !say(c, out[:size]) {
							return
						}
					}
					if !say(c, out) {
						return
					}
				}
			})
			order := testSpec(s.addr)
			order.Pipeline = 16
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 320 })
			if e := errorsOf(&l.rec.Counters); len(e) > 0 || wrong.Load() > 0 {
				t.Errorf("errors %v, %d wrong batches", e, wrong.Load())
			}
			if l.rec.Requests != s.answered.Load() || l.rec.Sent != l.rec.Requests {
				t.Errorf("%d right answers, %d sent, the server answered %d", l.rec.Requests, l.rec.Sent, s.answered.Load())
			}
			if got := uint64(l.rec.Hist.TotalCount()); got != l.rec.Requests {
				t.Errorf("%d latencies of %d answers", got, l.rec.Requests)
			}
		})
	}
}

// The loop does not allocate once it has its buffers.
func TestLoopAllocates(t *testing.T) {
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in, out := make([]byte, len(getRequest)), []byte(goodAnswer)
		for {
			if _, err := io.ReadFull(c, in); err != nil {
				return
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	})
	l, err := newLoop(context.Background(), testSpec(s.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	wantFewAllocs(t, l)
}

// wantFewAllocs starts a loop, and counts what ten requests allocate.
func wantFewAllocs(t *testing.T, l *loop) {
	t.Helper()
	run := func() {
		for goal := l.rec.Requests + 10; l.rec.Requests < goal; {
			if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.start()
	run()
	// Other goroutines of this process allocate only occasionally.
	n := testing.AllocsPerRun(5, run)
	for range 4 {
		if n > 2 {
			n = min(n, testing.AllocsPerRun(5, run))
		}
	}
	if n > 2 {
		t.Errorf("%v allocations in ten requests", n)
	}
}
