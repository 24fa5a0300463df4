package redline_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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
