package redline_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// kept is a connection that the goroutine of its waiting handler keeps.
func kept(r *running) *client {
	r.t.Helper()
	c, err := tryKept(r)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// tryKept is kept with an error, for servers whose deadline may end the connection before.
func tryKept(r *running) (*client, error) {
	r.t.Helper()
	c := r.dial()
	before := r.Stats().Stayed
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := io.WriteString(c.Conn, getHead+"\r\n"); err != nil {
			return nil, fmt.Errorf("a connection that is not kept yet: %w", err)
		}
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return nil, fmt.Errorf("a connection that is not kept yet: %w", err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "x" {
			return nil, fmt.Errorf("a connection that is not kept yet: %q, %v", b, err)
		}
		if r.Stats().Stayed > before {
			return c, nil
		}
	}
	return nil, errors.New("the connection is not kept")
}

// TestKept ends connections that are kept as any others that are idle.
func TestKept(t *testing.T) {
	// stay is what a kept connection is at least kept for, so that a longer timeout ends it beyond.
	const stay = time.Second
	for name, k := range map[string]struct {
		idle func(deadline time.Duration) time.Duration
		end  func(*testing.T, *running)
	}{
		"Shutdown":            {end: func(t *testing.T, r *running) { noError(t, r.Shutdown(t.Context())) }},
		"Close":               {end: func(t *testing.T, r *running) { noError(t, r.Server.Close()) }},
		"idle timeout":        {idle: func(d time.Duration) time.Duration { return d / 10 }},
		"idle timeout beyond": {idle: func(d time.Duration) time.Duration { return stay + d }},
		// Also if it has its answer, but its handler's goroutine is not done yet.
		"keep-alives off": {end: func(_ *testing.T, r *running) { r.SetKeepAlivesEnabled(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				if k.idle == nil {
					noError(t, endKept(t, transport, 0, k.end))
					return
				}
				inTime(t, func(deadline time.Duration) error {
					return endKept(t, transport, k.idle(deadline), nil)
				})
			}, redline.TransportStd)
		})
	}
}

// endKept has a connection kept and ended: by a function, or by the idle timeout. The error is that
// it was not kept.
func endKept(t *testing.T, transport redline.Transport, idle time.Duration, end func(*testing.T, *running)) error {
	var mu sync.Mutex
	states := map[net.Conn][]http.ConnState{}
	r := serve(t, &redline.Server{
		Transport: transport, Native: redline.Blocking(text("x")), IdleTimeout: idle,
		ConnState: func(c net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states[c] = append(states[c], state)
		},
	})
	c, err := tryKept(r)
	if err != nil {
		return err
	}
	if end != nil {
		end(t, r)
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
	return nil
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
