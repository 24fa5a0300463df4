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

// TestHooksHTTP2 has the hooks of a connection of HTTP/2 call back: its addresses, the
// server's statistics, and Close, which ends it.
func TestHooksHTTP2(t *testing.T) {
	for _, at := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateClosed, -1} {
		t.Run(at.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				var r *running
				var closes atomic.Bool
				closes.Store(true)
				ready := make(chan struct{})
				look := func(local, remote net.Addr) {
					<-ready
					if r.Stats().Accepted == 0 || local.String() == "" || remote.String() == "" {
						t.Error("a hook does not see its server or connection")
					}
				}
				r = serve(t, inClear(&redline.Server{
					Transport: transport, Native: text("alive"), Limits: redline.Limits{MaxTargetBytes: 8 << 10},
					ConnState: func(c net.Conn, s http.ConnState) {
						look(c.LocalAddr(), c.RemoteAddr())
						if s == at && closes.Load() {
							c.Close()
						}
					},
					Refused: func(remote net.Addr, _ int, _ string) { look(remote, remote) },
				}))
				close(ready)
				ask := func(path string) (status int, err error) {
					client := http2Client(t)
					defer client.CloseIdleConnections()
					client.Timeout = patience
					resp, err := client.Get(r.url() + path)
					if err != nil {
						return 0, err
					}
					defer resp.Body.Close()
					_, err = io.Copy(io.Discard, resp.Body)
					return resp.StatusCode, err
				}
				// What the client gets of a connection that is closed under it is chance.
				if _, err := ask("/"); errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
					t.Error(err)
				}
				closes.Store(false)
				if status, err := ask("/"); status != 200 || err != nil {
					t.Error(status, err)
				}
				if status, err := ask("/" + strings.Repeat("x", 9000)); status != 414 || err != nil {
					t.Error(status, err)
				}
			})
		})
	}
}
