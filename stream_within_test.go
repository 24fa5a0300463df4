package redline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestStreamWithinHandler writes more than the buffer takes before the handler
// returns: it is sent meanwhile, in its order, and the connection goes on.
func TestStreamWithinHandler(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	write := func(c *redline.Ctx) {
		_, err := c.WriteString("first ")
		noError(t, err)
		s := c.Stream()
		n, err := s.Write(large)
		if n != len(large) {
			t.Errorf("Write: %d bytes", n)
		}
		noError(t, err)
		noError(t, s.Drain(context.Background(), 0))
		if n := s.Buffered(); n != 0 {
			t.Errorf("drained, but %d bytes are buffered", n)
		}
		for sent := 0; sent < len(large); sent += 16 {
			until(t, "TryWrite takes it", func() bool {
				ok, err := s.TryWrite(large[:16])
				noError(t, err)
				return ok
			})
		}
		go func() { // most likely behind the handler
			_, err := s.Write(large)
			noError(t, err)
			noError(t, s.Close())
		}()
	}
	want := "first " + string(bytes.Repeat(large, 3))
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, WriteBuffer: 16 << 10, Native: write})
		c := r.dial()
		c.want("/", want)
		c.want("/again", want)
	})
	w := httptest.NewRecorder()
	redline.HandlerFunc(write).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Body.String() != want {
		t.Errorf("under net/http: %d bytes, want %d", w.Body.Len(), len(want))
	}
}

// TestStreamWithinHandlerStalls ends a handler's Write to a client that takes
// nothing.
func TestStreamWithinHandlerStalls(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		ended := make(chan error, 1)
		r := serve(t, &redline.Server{
			Transport: transport, WriteBuffer: 16 << 10, StallTimeout: time.Second,
			Native: func(c *redline.Ctx) {
				s := c.Stream()
				defer s.Close()
				p := make([]byte, 1<<20)
				for {
					if _, err := s.Write(p); err != nil {
						ended <- err
						return
					}
				}
			},
		})
		r.dial().ask("/")
		if err := receive(t, ended, "writing ends"); !errors.Is(err, redline.ErrGone) {
			t.Errorf("writing ends with %v", err)
		}
	})
}

// TestStreamWithinHandlerKinds frames what a handler streams itself as it has to be.
func TestStreamWithinHandlerKinds(t *testing.T) {
	const n = 100_000
	for _, k := range []struct {
		name, request string
		setup         func(*redline.Ctx)
		err           error
		body          int
		gone          bool
	}{
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(*redline.Ctx) {}, nil, n, true},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", func(*redline.Ctx) {}, nil, 0, false},
		{"no content", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.Status(204) }, redline.ErrNoBody, 0, false},
		{"length", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", func(c *redline.Ctx) { c.SetContentLength(n) }, nil, n, false},
		{"unread body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", func(*redline.Ctx) {}, nil, n, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				c := serve(t, &redline.Server{Transport: transport, WriteBuffer: 16 << 10, Native: func(c *redline.Ctx) {
					if c.Path() == "/next" {
						c.Text(200, "next")
						return
					}
					k.setup(c)
					s := c.Stream()
					if _, err := s.Write(make([]byte, n)); !errors.Is(err, k.err) {
						t.Errorf("Write: %v, want %v", err, k.err)
					}
					noError(t, s.Close())
				}}).dial()
				c.send("%s", k.request)
				method, _, _ := bytes.Cut([]byte(k.request), []byte(" "))
				if body, err := io.ReadAll(c.responseTo(string(method)).Body); err != nil || len(body) != k.body {
					t.Errorf("%d bytes, %v, want %d", len(body), err, k.body)
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
