package redline_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestCloseByHookBehindHandler closes a connection from outside whose handler has
// returned and whose answer waits for the rest of the content: the wait ends.
func TestCloseByHookBehindHandler(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		conns, returns := make(chan net.Conn, 1), make(chan struct{}, 1)
		r := serve(t, &redline.Server{
			Transport: transport, StallTimeout: -1,
			ConnState: func(c net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns <- c
				}
			},
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { returns <- struct{}{} }),
		})
		c := r.dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")
		receive(t, returns, "the handler returns")
		time.Sleep(20 * time.Millisecond) // until the rest is waited for
		noError(t, receive(t, conns, "the connection is told").Close())
		ended := make(chan error, 1)
		go func() { ended <- second(io.ReadAll(c.r)) }()
		if err := receive(t, ended, "the connection is closed"); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestCloseByHookBehindWrite closes a connection from outside whose handler has
// returned and whose client takes nothing of the answer's rest: the wait ends.
func TestCloseByHookBehindWrite(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		conns, closed := make(chan net.Conn, 1), make(chan struct{})
		returns := make(chan struct{}, 1)
		r := serve(t, &redline.Server{
			Transport: transport, StallTimeout: -1, WriteBuffer: 4 << 10,
			ConnState: func(c net.Conn, s http.ConnState) {
				switch s {
				case http.StateNew:
					conns <- c
				case http.StateClosed:
					close(closed)
				}
			},
			Native: func(c *redline.Ctx) {
				// A static body stays with the session until the handler returns.
				c.Text(200, strings.Repeat("0123456789abcdef", 1<<20))
				_, err := c.WriteString("and more")
				noError(t, err)
				returns <- struct{}{}
			},
		})
		c := r.dial()
		c.ask("/")
		receive(t, returns, "the handler returns")
		noError(t, second(c.r.Peek(1)))
		time.Sleep(20 * time.Millisecond) // until the client is waited for
		noError(t, receive(t, conns, "the connection is told").Close())
		receive(t, closed, "the connection is closed")
	})
}
