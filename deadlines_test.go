package redline_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// short is a deadline under test. The connection has to end, and not before it:
// by how much later is the machine's affair.
const short = 200 * time.Millisecond

// endsAfter reads until the connection ends, which has to be because of a
// deadline that began at start or later, and returns what was read.
func (c *client) endsAfter(start time.Time, what string) string {
	c.t.Helper()
	b, err := io.ReadAll(c.r) // an end or a reset
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("%s: the connection does not end", what)
	}
	if d := time.Since(start); d < short-20*time.Millisecond {
		c.t.Errorf("%s: ended after %v, the deadline is %v", what, d, short)
	}
	return string(b)
}

// drip sends a text and then its last byte, over and over again, now and then,
// until the connection ends or it is told to stop.
func (c *client) drip(s string) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			at := min(i, len(s)-1)
			if _, err := io.WriteString(c.Conn, s[at:at+1]); err != nil {
				return
			}
			select {
			case <-time.After(short / 10):
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// inTime tries with a deadline that is longer each time until f, which is to do
// something before it passes, was quick enough: a machine may be slow, and a
// deadline that is wrong is so however long it is.
func inTime(t *testing.T, f func(deadline time.Duration) error) {
	t.Helper()
	var err error
	for d := short; d < patience; d *= 4 {
		if err = f(d); err == nil {
			return
		}
		t.Logf("with %v: %v", d, err)
	}
	t.Error(err)
}

// timed is a server with long deadlines but for those that the test sets.
func timed(t *testing.T, transport redline.Transport, change func(*redline.Server)) *running {
	t.Helper()
	s := &redline.Server{
		Transport: transport, ReadHeaderTimeout: time.Minute, StallTimeout: time.Minute, IdleTimeout: time.Minute,
		Native: func(c *redline.Ctx) {
			if _, err := io.Copy(io.Discard, c.Body()); err != nil && err != redline.ErrTimeout {
				t.Errorf("handler reads: %v", err)
			}
			c.Text(200, "x")
		},
	}
	change(s)
	return serve(t, s)
}

// dialInTime is dial with an error, for servers whose deadline may end a handshake.
func (r *running) dialInTime() (*client, error) {
	r.t.Helper()
	began := time.Now()
	c, err := r.tryDial()
	if err != nil {
		return nil, err
	}
	return bounded(r.t, c, began), nil
}

// TestSlowHead ends clients that do not complete a head in time (fasthttp#2183,
// hyper#3185): from accept, from the first byte behind a request, and however
// many bytes come.
func TestSlowHead(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		// A handshake has the time of a head, too.
		dialled := func(check func(c *client, start time.Time) error) {
			inTime(t, func(deadline time.Duration) error {
				r := timed(t, transport, func(s *redline.Server) { s.ReadHeaderTimeout = deadline })
				start := time.Now()
				c, err := r.dialInTime()
				if err != nil {
					return err
				}
				return check(c, start)
			})
		}
		dialled(func(c *client, start time.Time) error {
			if got := c.endsAfter(start, "silent since accept"); got != "" {
				t.Errorf("silent since accept: %q", got)
			}
			return nil
		})
		endless := getHead + "A: a"
		dialled(func(c *client, start time.Time) error {
			stop := c.drip(endless)
			defer stop()
			if got := c.endsAfter(start, "dripping since accept"); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
				return fmt.Errorf("dripping since accept: %q", got)
			}
			return nil
		})
		dialled(func(c *client, _ time.Time) error {
			if _, err := io.WriteString(c.Conn, getHead+"\r\n"); err != nil {
				return err
			}
			resp, err := http.ReadResponse(c.r, nil)
			if err != nil || resp.StatusCode != 200 {
				return fmt.Errorf("the first request is answered %v, %v", resp, err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "x" {
				t.Errorf("%q, %v", b, err)
			}
			time.Sleep(2 * short) // idle: its deadline is another
			start := time.Now()
			stop := c.drip(endless)
			if got := c.endsAfter(start, "dripping behind a request"); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
				t.Errorf("dripping behind a request: %q", got)
			}
			stop()
			return nil
		})
	})
}

// TestSlowContent ends clients that send no content for too long, or next to none,
// and lives with those that are slow.
func TestSlowContent(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := timed(t, transport, func(s *redline.Server) { s.StallTimeout = short })
		for _, head := range []string{postHead + "Content-Length: 10\r\n\r\nabc", chunkHead + "a\r\nabc"} {
			c := r.dial()
			start := time.Now()
			c.send("%s", head)
			if got := c.endsAfter(start, "half of the content"); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
				t.Errorf("half of the content: %q", got)
			}
		}
		c := r.dial()
		start := time.Now()
		c.send(postHead + "Content-Length: 1000000\r\n\r\n")
		stop := c.drip("x")
		if got := c.endsAfter(start, "a byte now and then"); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
			t.Errorf("a byte now and then: %q", got)
		}
		stop()
		inTime(t, func(deadline time.Duration) error {
			const parts = 25 // that take longer than the deadline, all together
			r := timed(t, transport, func(s *redline.Server) { s.StallTimeout = deadline })
			c := r.dial()
			part := strings.Repeat("x", 1<<10)
			c.send(postHead+"Content-Length: %d\r\n\r\n", parts*len(part))
			for range parts {
				time.Sleep(deadline / 10)
				if _, err := io.WriteString(c.Conn, part); err != nil {
					return err
				}
			}
			if resp, err := http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 200 {
				return fmt.Errorf("slow content is answered %v, %v", resp, err)
			}
			return nil
		})
	})
}

// TestIdleTimeout closes connections between requests.
func TestIdleTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := timed(t, transport, func(s *redline.Server) { s.IdleTimeout = short })
		c := r.dial()
		start := time.Now() // it is idle when the server has answered, which may be long before it is told
		c.want("/", "x")
		if got := c.endsAfter(start, "idle"); got != "" {
			t.Errorf("idle: %q", got)
		}
	})
}

// TestNoDeadline keeps connections when there is none.
func TestNoDeadline(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := timed(t, transport, func(s *redline.Server) { s.ReadHeaderTimeout, s.IdleTimeout = -1, -1 })
		c := r.dial()
		time.Sleep(short)
		c.want("/", "x")
		time.Sleep(short)
		c.want("/", "x")
	})
}

// TestSlowReaders bounds what is written to clients that read nothing (hyper#3828),
// and the time they have.
func TestSlowReaders(t *testing.T) {
	big := []byte(strings.Repeat("0123456789abcdef", 4<<10))
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var written atomic.Int64
		failed := make(chan error, 10)
		r := timed(t, transport, func(s *redline.Server) {
			s.StallTimeout = short
			s.Native = func(c *redline.Ctx) {
				if c.Path() == "/static" {
					if err := c.BytesNoCopy(200, "text/plain", big); err != nil {
						t.Error(err)
					}
					return
				}
				for {
					n, err := c.Write(big[:1000])
					written.Add(int64(n))
					if err != nil {
						failed <- err
						return
					}
				}
			}
		})
		narrow := func() *client {
			c := r.dial()
			if err := c.tcp().SetReadBuffer(4 << 10); err != nil {
				t.Error(err)
			}
			return c
		}
		c := narrow()
		c.ask("/pieces")
		if err := receive(t, failed, "the handler is told"); err != redline.ErrTimeout && err != redline.ErrGone {
			t.Errorf("the handler gets %v", err)
		}
		until(t, "the connection is closed", func() bool { return r.Stats().Open == 0 })
		if n := written.Load(); n > 32<<20 {
			t.Errorf("%d bytes were written to a client that reads nothing", n) // most of it is the kernel's
		}

		// Requests alone do not keep such a client either.
		c = narrow()
		go func() {
			for {
				if _, err := io.WriteString(c.Conn, "GET /static HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
					return
				}
			}
		}()
		until(t, "a client that pipelines and reads nothing is cut", func() bool { return r.Stats().Open == 0 })
	})
}
