package redline_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline"
)

// TestHooksPanic has a hook panic at each state, and at a malformed request: that
// is logged, costs at most the one connection, and the next one is served.
func TestHooksPanic(t *testing.T) {
	for _, k := range []struct {
		name, ask, want string
		at              http.ConnState
	}{
		{"new", "", "", http.StateNew},
		{"active", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "", http.StateActive},
		{"active, malformed", "GET\r\n\r\n", "", http.StateActive},
		{"idle", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "200", http.StateIdle},
		{"hijacked", "GET /hijack HTTP/1.1\r\nHost: h\r\n\r\n", "", http.StateHijacked},
		{"closed", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "200", http.StateClosed},
		{"refused", "GET\r\n\r\n", "400", -1},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				var once atomic.Bool
				panics := func(when bool) {
					if when && !once.Swap(true) {
						panic("in a hook")
					}
				}
				r := serve(t, &redline.Server{
					Transport: transport,
					Native: func(c *redline.Ctx) {
						if c.Path() == "/hijack" {
							nc, err := c.Hijack()
							noError(t, err)
							nc.Close()
							return
						}
						c.Text(200, "alive")
					},
					ConnState: func(_ net.Conn, s http.ConnState) { panics(s == k.at) },
					Refused:   func(net.Addr, int, string) { panics(k.at < 0) },
				})
				c := r.dial()
				// A connection that was closed at once may not take it any more.
				_, _ = io.WriteString(c.Conn, k.ask)
				b, err := io.ReadAll(c.r)
				if !strings.Contains(string(b), k.want) || k.want == "" && len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("client reads %q, %v, want %q and the end", b, err, k.want)
				}
				until(t, "the panic is logged with its stack", func() bool {
					return strings.Contains(r.log.String(), "in a hook") && strings.Contains(r.log.String(), "TestHooksPanic")
				})
				r.dial().want("/", "alive")
				if n := r.Stats().Panics; n != 1 {
					t.Errorf("%d panics are counted", n)
				}
			})
		})
	}
}

// TestConnContextPanics ends the connection whose context could not be made.
func TestConnContextPanics(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var once atomic.Bool
		r := serve(t, &redline.Server{
			Transport: transport, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "alive") }),
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				if !once.Swap(true) {
					panic("in a hook")
				}
				return ctx
			},
		})
		c := r.dial()
		c.ask("/")
		c.wantGone()
		r.dial().want("/", "alive")
	})
}
