package redline_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// streaming serves one path whose handler hands its stream over.
func streaming(t *testing.T, s *redline.Server) (*running, <-chan *redline.Stream) {
	t.Helper()
	streams := make(chan *redline.Stream, 1)
	s.Native = func(c *redline.Ctx) {
		if c.Path() != "/stream" {
			c.Text(200, c.Path())
			return
		}
		c.Stream(func(s *redline.Stream) { streams <- s })
	}
	return serve(t, s), streams
}

// TestStreamFromMany has many goroutines write to one stream, whose client gets
// everything whole, each one's in order; then the connection goes on.
func TestStreamFromMany(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const writers, lines = 20, 500
		r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: 4 << 10})
		c := r.dial()
		c.ask("/stream", "/next")
		s := receive(t, streams, "the stream is open")
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range lines {
					if _, err := fmt.Fprintf(s, "%d %d\n", w, i); err != nil {
						t.Errorf("Write: %v", err)
						return
					}
				}
			})
		}
		go func() {
			all.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		var next [writers]int
		for scan := bufio.NewScanner(c.response().Body); scan.Scan(); {
			var w, i int
			if _, err := fmt.Sscanf(scan.Text(), "%d %d", &w, &i); err != nil || next[w] != i {
				t.Fatalf("line %q, writer's next is %d: %v", scan.Text(), next[w], err)
			}
			next[w]++
		}
		for w, n := range next {
			if n != lines {
				t.Errorf("writer %d: %d lines", w, n)
			}
		}
		if status, body := c.answer(); status != 200 || body != "/next" {
			t.Errorf("behind the stream: %d %q", status, body)
		}
		all.Wait()
		if _, err := s.Write([]byte("late")); !errors.Is(err, redline.ErrGone) {
			t.Errorf("Write after Close: %v", err)
		}
	})
}

// fill writes to a stream until it takes nothing any more, as its client reads
// nothing. In between other clients are served, so that a loop that has not had
// its turn is not taken for one that is held up.
func (r *running) fill(s *redline.Stream, most int) (n int) {
	t := r.t
	t.Helper()
	p := bytes.Repeat([]byte("0123456789abcdef"), 64)
	other, full := r.dial(), 0
	until(t, "the stream is full", func() bool {
		for {
			ok, err := s.TryWrite(p)
			if err != nil {
				t.Fatal(err)
			}
			if b := s.Buffered(); b > most+4*len(p) { // chunk heads count too
				t.Fatalf("%d bytes are buffered, at most %d may be", b, most)
			}
			if !ok {
				break
			}
			n += len(p)
			full = 0
		}
		full++
		other.want("/other", "/other")
		return full > 100 // in the time of 100 requests nothing was taken
	})
	other.Close()
	return n
}

// TestStreamHighWater fills a stream: TryWrite says so, Write and Drain wait, in
// any number; and they go on when the client reads.
func TestStreamHighWater(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const most = 32 << 10
		r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: most, StallTimeout: -1})
		c := r.dial()
		c.ask("/stream")
		s := receive(t, streams, "the stream is open")
		n := r.fill(s, most)
		const waiters = 8
		done := make(chan error, 2*waiters)
		large := bytes.Repeat([]byte("x"), 3*most)
		for i := range waiters {
			go func() { done <- s.Drain(context.Background(), i*most/waiters) }()
			go func() { _, err := s.Write(large); done <- err }()
		}
		short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if err := s.Drain(short, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: %v", err)
		}
		cancel()
		select {
		case err := <-done:
			t.Errorf("somebody did not wait: %v", err)
		default:
		}
		go func() {
			for range 2 * waiters {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if err := s.Drain(context.Background(), 0); err != nil {
				t.Error(err)
			}
			if b := s.Buffered(); b != 0 {
				t.Errorf("drained, but %d bytes are buffered", b)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		got, err := io.Copy(io.Discard, c.response().Body)
		if want := int64(n + waiters*len(large)); err != nil || got != want {
			t.Errorf("client reads %d bytes, %v, want %d", got, err, want)
		}
	})
}

// TestStreamClientLeaves unblocks everybody who waits for a client that leaves.
func TestStreamClientLeaves(t *testing.T) {
	for name, leave := range map[string]func(*client){
		"close": func(c *client) { c.Close() },
		"reset": func(c *client) { c.reset() },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				const most = 8 << 10
				r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: most, StallTimeout: -1})
				c := r.dial()
				c.ask("/stream")
				s := receive(t, streams, "the stream is open")
				r.fill(s, most)
				const waiters = 4
				gone := make(chan error, 2*waiters)
				for range waiters {
					go func() { gone <- s.Drain(context.Background(), 0) }()
					go func() { _, err := s.Write(make([]byte, 100*most)); gone <- err }()
				}
				began := time.Now()
				leave(c)
				for range 2 * waiters {
					if err := receive(t, gone, "waiting ends"); !errors.Is(err, redline.ErrGone) {
						t.Errorf("waiting ends with %v", err)
					}
				}
				t.Logf("told after %v", time.Since(began))
				if err := context.Cause(s.Context()); !errors.Is(err, redline.ErrGone) {
					t.Errorf("cause of the context is %v", err)
				}
				if ok, err := s.TryWrite([]byte("x")); ok || !errors.Is(err, redline.ErrGone) {
					t.Errorf("TryWrite: %v, %v", ok, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStreamIdle leaves a stream alone that says nothing for longer than any
// deadline, as nothing waits for its client.
func TestStreamIdle(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, streams := streaming(t, &redline.Server{
			Transport: transport, ReadHeaderTimeout: 100 * time.Millisecond,
			StallTimeout: 100 * time.Millisecond, IdleTimeout: 100 * time.Millisecond,
		})
		var c *client
		var s *redline.Stream
		until(t, "a client has asked in time", func() bool {
			c = r.dial()
			c.ask("/stream")
			_, err := c.r.Peek(len("HTTP/1.1 200"))
			head, _ := c.r.Peek(c.r.Buffered())
			if err == nil && bytes.HasPrefix(head, []byte("HTTP/1.1 200")) {
				s = receive(t, streams, "the stream is open")
			}
			return s != nil
		})
		body := bufio.NewReader(c.response().Body)
		for i := range 3 {
			if _, err := fmt.Fprintf(s, "event %d\n", i); err != nil {
				t.Error(err)
			}
			if line, err := body.ReadString('\n'); line != fmt.Sprintf("event %d\n", i) {
				t.Errorf("client reads %q, %v", line, err)
			}
			time.Sleep(400 * time.Millisecond)
		}
		if err := s.Context().Err(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
	})
}

// TestStreamWriteTimeout cuts a client that takes nothing for too long.
func TestStreamWriteTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: 8 << 10, StallTimeout: short})
		c := r.dial()
		c.ask("/stream")
		s := receive(t, streams, "the stream is open")
		defer s.Close()
		cut := make(chan error, 1)
		go func() {
			for {
				_, err := s.Write(make([]byte, 64<<10))
				if err == nil {
					err = s.Drain(context.Background(), 0)
				}
				if err != nil {
					cut <- err
					return
				}
			}
		}()
		if err := receive(t, cut, "the client is cut"); !errors.Is(err, redline.ErrGone) {
			t.Errorf("waiting ends with %v", err)
		}
		if err := s.Drain(context.Background(), 0); !errors.Is(err, redline.ErrGone) {
			t.Errorf("Drain: %v", err)
		}
	})
}

// TestStreamKinds wants each kind of answer framed as it has to be.
func TestStreamKinds(t *testing.T) {
	for _, k := range []struct {
		name, request string
		setup         func(*redline.Ctx)
		first, second error // of Write
		body          string
		gone          bool
	}{
		{"chunked", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(*redline.Ctx) {}, nil, nil, "onetwo", false},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(*redline.Ctx) {}, nil, nil, "onetwo", true},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", func(*redline.Ctx) {}, nil, nil, "", false},
		{"no content", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.Status(204) }, redline.ErrNoBody, redline.ErrNoBody, "", false},
		{"length", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.SetContentLength(6) }, nil, nil, "onetwo", false},
		{"beyond the length", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.SetContentLength(3) }, nil, redline.ErrLength, "one", false},
		{"unread body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", func(*redline.Ctx) {}, nil, nil, "onetwo", false},
		{"written before", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.WriteString("zero") }, nil, nil, "zeroonetwo", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				streams := make(chan *redline.Stream, 1)
				r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					if c.Path() == "/next" {
						c.Text(200, "next")
						return
					}
					k.setup(c)
					c.Stream(func(s *redline.Stream) { streams <- s })
				}})
				c := r.dial()
				c.send("%s", k.request)
				s := receive(t, streams, "the stream is open")
				method, _, _ := bytes.Cut([]byte(k.request), []byte(" "))
				resp := c.responseTo(string(method)) // from now on it is known what may follow
				if _, err := s.Write([]byte("one")); !errors.Is(err, k.first) {
					t.Errorf("Write: %v, want %v", err, k.first)
				}
				if _, err := s.Write([]byte("two")); !errors.Is(err, k.second) {
					t.Errorf("Write: %v, want %v", err, k.second)
				}
				if err := errors.Join(s.Close(), s.Close()); err != nil {
					t.Error(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != k.body {
					t.Errorf("%q, %v, want %q", body, err, k.body)
				}
				if k.gone {
					c.wantGone()
					return
				}
				c.want("/next", "next")
			})
		})
	}
}

// TestStreamPanic cuts the answer of a handler that panics when it has asked for a
// stream, which is then never opened.
func TestStreamPanic(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		opened := make(chan *redline.Stream, 1)
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			c.Stream(func(s *redline.Stream) { opened <- s })
			panic("after Stream")
		}})
		c := r.dial()
		c.ask("/")
		c.wantGone()
		if len(opened) > 0 {
			t.Error("the stream is opened")
		}
	})
}

// TestStreamFunctionPanics aborts the stream, and nothing else.
func TestStreamFunctionPanics(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			c.Stream(func(s *redline.Stream) {
				noError(t, second(s.Write([]byte("begin"))))
				noError(t, s.Drain(context.Background(), 0))
				panic("in the stream")
			})
		}})
		c := r.dial()
		c.ask("/")
		if body, err := io.ReadAll(c.response().Body); err == nil {
			t.Errorf("the answer looks complete: %q", body)
		}
		if n := r.Stats().Panics; n != 1 {
			t.Errorf("%d panics are counted", n)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestStreamTwice has a handler ask for two streams.
func TestStreamTwice(t *testing.T) {
	said := make(chan any, 1)
	r := serve(t, &redline.Server{Native: func(c *redline.Ctx) {
		defer func() { said <- recover() }()
		c.Stream(func(s *redline.Stream) { s.Close() })
		c.Stream(func(*redline.Stream) { t.Error("the second is opened") })
	}})
	r.dial().want("/", "")
	if p, _ := receive(t, said, "the handler returns").(string); !strings.Contains(p, "called twice") {
		t.Errorf("panic %q", p)
	}
}

// TestStreamFromAnywhere writes more than the buffer takes from goroutines that the
// handler has started, while it is still busy, and from its function: whatever is
// written when, everything arrives, and nobody waits for anybody but the client.
func TestStreamFromAnywhere(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, WriteBuffer: 16 << 10, Native: func(c *redline.Ctx) {
			streams := make(chan *redline.Stream)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					s := <-streams
					noError(t, second(s.Write(large)))
				})
			}
			c.Stream(func(s *redline.Stream) {
				for range 3 {
					streams <- s
				}
				noError(t, second(s.Write(large)))
				all.Wait()
				noError(t, s.Close())
			})
			time.Sleep(20 * time.Millisecond)
			_, err := c.WriteString("first ")
			noError(t, err)
		}})
		c := r.dial()
		for range 2 {
			c.ask("/")
			body, err := io.ReadAll(c.response().Body)
			if want := len("first ") + 4*len(large); err != nil || len(body) != want || !bytes.HasPrefix(body, []byte("first 0123")) {
				t.Errorf("%d bytes, %v, want %d", len(body), err, want)
			}
		}
	})
}

// TestStreamHalfClosed serves a client that has closed its sending side: what is
// written arrives, and what was given up because of it does not look complete.
func TestStreamHalfClosed(t *testing.T) {
	for name, k := range map[string]struct {
		lines    int // that the stream has for it; 0 is until the context ends
		complete bool
	}{
		"to its end":             {20, true},
		"until the context ends": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					c.Stream(func(s *redline.Stream) {
						defer s.Close()
						noError(t, second(s.Write([]byte("0\n"))))
						if k.lines == 0 {
							<-s.Context().Done()
							return
						}
						for i := 1; i < k.lines; i++ {
							noError(t, second(fmt.Fprintf(s, "%d\n", i)))
							time.Sleep(5 * time.Millisecond)
						}
					})
				}})
				c := r.dial()
				c.ask("/")
				noError(t, c.Conn.(*net.TCPConn).CloseWrite())
				body, err := io.ReadAll(c.response().Body)
				if complete := err == nil; complete != k.complete {
					t.Errorf("%d bytes, %v: complete %v, want %v", len(body), err, complete, k.complete)
				}
				if n := bytes.Count(body, []byte("\n")); k.complete && n != k.lines {
					t.Errorf("%d lines of %d", n, k.lines)
				}
			})
		})
	}
}

// TestStreamCloseWakes ends the waits of others on a stream that is closed.
func TestStreamCloseWakes(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const most = 8 << 10
		r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: most, StallTimeout: -1})
		c := r.dial()
		c.ask("/stream")
		s := receive(t, streams, "the stream is open")
		r.fill(s, most)
		ended := make(chan error, 2)
		go func() { ended <- s.Drain(context.Background(), 0) }()
		go func() { ended <- second(s.Write(make([]byte, 4*most))) }()
		time.Sleep(10 * time.Millisecond)
		noError(t, s.Close())
		for range 2 {
			if err := receive(t, ended, "waiting ends"); !errors.Is(err, redline.ErrGone) {
				t.Errorf("waiting ends with %v", err)
			}
		}
	})
}

// TestTryWriteTooLong refuses what only Write can send.
func TestTryWriteTooLong(t *testing.T) {
	r, streams := streaming(t, &redline.Server{WriteBuffer: 8 << 10})
	c := r.dial()
	c.ask("/stream")
	s := receive(t, streams, "the stream is open")
	if ok, err := s.TryWrite(make([]byte, 8<<10+1)); ok || !errors.Is(err, redline.ErrTooLong) {
		t.Errorf("TryWrite: %v, %v", ok, err)
	}
	if ok, err := s.TryWrite(make([]byte, 8<<10)); !ok || err != nil {
		t.Errorf("TryWrite: %v, %v", ok, err)
	}
	noError(t, s.Close())
}
