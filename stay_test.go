package redline_test

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// kept is a connection that the goroutine of its waiting handler keeps.
func kept(r *running) *client {
	c := r.dial()
	before := r.Stats().Stayed
	until(r.t, "the connection is kept", func() bool {
		c.want("/", "x")
		return r.Stats().Stayed > before
	})
	return c
}

// TestKept ends connections that are kept as any others that are idle.
func TestKept(t *testing.T) {
	for name, k := range map[string]struct {
		change func(*redline.Server)
		end    func(*testing.T, *running)
	}{
		"Shutdown":            {end: func(t *testing.T, r *running) { noError(t, r.Shutdown(t.Context())) }},
		"Close":               {end: func(t *testing.T, r *running) { noError(t, r.Server.Close()) }},
		"idle timeout":        {change: func(s *redline.Server) { s.IdleTimeout = 20 * time.Millisecond }},
		"idle timeout beyond": {change: func(s *redline.Server) { s.IdleTimeout = 1500 * time.Millisecond }},
		"keep-alives off":     {end: func(_ *testing.T, r *running) { r.SetKeepAlivesEnabled(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				var mu sync.Mutex
				states := map[net.Conn][]http.ConnState{}
				s := &redline.Server{
					Transport: transport, Native: redline.Blocking(text("x")),
					ConnState: func(c net.Conn, state http.ConnState) {
						mu.Lock()
						defer mu.Unlock()
						states[c] = append(states[c], state)
					},
				}
				if k.change != nil {
					k.change(s)
				}
				r := serve(t, s)
				c := kept(r)
				if k.end != nil {
					k.end(t, r)
				}
				c.wantGone()
				until(t, "it is told to be closed", func() bool {
					mu.Lock()
					defer mu.Unlock()
					for _, told := range states {
						if n := len(told); n > 0 && told[n-1] != http.StateClosed {
							return false
						}
					}
					return len(states) == 1
				})
				for _, told := range states {
					if got := fmt.Sprint(told[:4]); got != "[new active idle active]" {
						t.Errorf("told %v", told)
					}
				}
			}, redline.TransportStd)
		})
	}
}

// TestKeptIsNotLearned judges no handler by calls that have held no loop.
func TestKeptIsNotLearned(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		router.GET("/", redline.Blocking(text("x")))
		router.GET("/slow", redline.Blocking(func(c *redline.Ctx) {
			time.Sleep(3 * time.Millisecond)
			c.Text(200, "slow")
		}))
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		c := kept(r)
		for range 20 {
			c.want("/slow", "slow")
		}
		if route := r.routeOf("/slow"); route.Slow > 2 || route.Blocking && route.Slow < 2 {
			t.Errorf("%+v, though it holds no loop", route)
		}
	}, redline.TransportStd)
}
