package redline_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

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
			var err error
			if c, err = r.dialInTime(); err != nil {
				return false
			}
			if _, err = io.WriteString(c.Conn, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				return false
			}
			_, err = c.r.Peek(len("HTTP/1.1 200"))
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
				noError(t, c.tcp().CloseWrite())
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
