//go:build !race

// The race detector makes pools forget, and allocates.

package redline

import (
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/transport"
)

// A nowhere is a connection that takes everything.
type nowhere struct{}

func (nowhere) Wake(func(*buf.Queue) error) bool          { return true }
func (nowhere) Detach()                                   {}
func (nowhere) Detached() bool                            { return false }
func (nowhere) Leave(int)                                 {}
func (nowhere) Watch(w *transport.Watch) *transport.Watch { return w }
func (nowhere) Release()                                  {}
func (nowhere) Read([]byte, sync.Locker) (int, error)     { return 0, net.ErrClosed }
func (nowhere) Unread([]byte)                             {}
func (nowhere) Flush(out *buf.Queue, _ int, _ sync.Locker) error {
	out.Reset()
	return nil
}
func (nowhere) SetTimeout(time.Duration)                    {}
func (nowhere) SetWriteTimeout(time.Duration)               {}
func (nowhere) Pause(bool)                                  {}
func (nowhere) Untaken() int                                { return 0 }
func (nowhere) Pending() int                                { return 0 }
func (nowhere) Hijack([]byte, *buf.Queue) (net.Conn, error) { return nil, net.ErrClosed }
func (nowhere) Close(transport.Closing)                     {}
func (nowhere) LocalAddr() net.Addr                         { return nil }
func (nowhere) RemoteAddr() net.Addr                        { return nil }

// TestAllocations feeds whole sessions, through the dispatcher and the router. A
// Ctx is 8 bytes that are allocated 128 at a time: it rounds to nothing.
func TestAllocations(t *testing.T) {
	pre, err := Prebuild(200, "text/plain", []byte("prebuilt"))
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 32<<10)
	type message struct {
		Message string `json:"message"`
	}
	hello := &message{"Hello, World!"}
	router := NewRouter()
	router.GET("/plaintext", func(c *Ctx) { c.Text(200, "Hello, World!") })
	router.GET("/users/{id}/posts/{post}", func(c *Ctx) {
		n := len(c.ParamBytes("id")) + len(c.ParamBytes("post"))
		for _, name := range [...]string{"Accept", "User-Agent", "Cookie", "X-Custom", "Accept-Encoding"} {
			n += len(c.HeaderBytes(name))
		}
		if n != 2+3+3+4+3+6+8 {
			t.Errorf("%d bytes read", n)
		}
		c.Text(200, "ok")
	})
	router.GET("/prebuilt", func(c *Ctx) { c.Send(pre) })
	router.GET("/static", func(c *Ctx) { _ = c.BytesNoCopy(200, "text/plain", large) })
	router.GET("/json", func(c *Ctx) { _ = c.JSON(200, hello) })
	s := &Server{Native: router.Serve, Logger: slog.New(slog.DiscardHandler)}
	const lines = " HTTP/1.1\r\nHost: localhost:8080\r\nAccept: */*\r\nUser-Agent: test\r\nCookie: a=b\r\nX-Custom: custom\r\nAccept-Encoding: gzip, br\r\n\r\n"
	for _, m := range []struct {
		name, in string
		most     float64
	}{
		{"plaintext", "GET /plaintext" + lines, 0},
		{"params", "GET /users/42/posts/abc" + lines, 0},
		{"pipelined", strings.Repeat("GET /plaintext"+lines, 16), 0},
		{"HEAD", "HEAD /plaintext" + lines, 0},
		{"prebuilt", "GET /prebuilt" + lines, 0},
		{"static", "GET /static" + lines, 0},
		{"json", "GET /json" + lines, 1}, // encoding/json's own
	} {
		session := http1.NewSession(nowhere{}, s.sessionConfig())
		var out buf.Queue
		in := []byte(m.in)
		got := testing.AllocsPerRun(1000, func() {
			if n, err := session.Feed(in, &out); n != len(in) || err != nil || out.Len() == 0 {
				t.Fatalf("%s: %d of %d bytes, %v", m.name, n, len(in), err)
			}
			out.Reset()
		})
		if got > m.most {
			t.Errorf("%s: %v allocations a request, want %v", m.name, got, m.most)
		}
	}
}
