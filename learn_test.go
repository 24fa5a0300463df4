package redline_test

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline"
)

// TestLearnedRoute follows a route from its first takeover to the loop and back.
func TestLearnedRoute(t *testing.T) {
	onEach(t, func(t *testing.T, transport string) {
		router := redline.NewRouter()
		var slow atomic.Bool
		s := &redline.Server{Transport: transport, Native: router.Serve}
		router.GET("/", func(c *redline.Ctx) {
			if slow.Load() {
				late(s)
			}
			c.Text(200, "x")
		})
		r := serve(t, s)
		c := r.dial()
		slow.Store(true)
		c.want("/", "x")
		if route := r.routeOf("/"); route.Takeovers != 1 || route.Blocking {
			t.Errorf("after one takeover: %+v", route)
		}
		c.want("/", "x")
		if route := r.routeOf("/"); route.Takeovers < 2 || !route.Blocking {
			t.Errorf("after two takeovers: %+v", route)
		}
		slow.Store(false)
		before := r.Stats().Detached
		for range 10 {
			c.want("/", "x")
		}
		if n := r.Stats().Detached - before; n < 10 {
			t.Errorf("of 10 requests %d began off the loop", n)
		}
		until(t, "it is known to be quick again", func() bool {
			for range 100 {
				c.want("/", "x")
			}
			return !r.routeOf("/").Blocking
		})
		if route := r.routeOf("/"); route.Takeovers > 1 {
			t.Errorf("forgotten, but %+v", route)
		}
	}, redline.Std)
}

// TestNothingIsLearnedWithoutLoops: where there is no loop, none is held up.
func TestNothingIsLearnedWithoutLoops(t *testing.T) {
	noLeaks(t)
	router := redline.NewRouter()
	router.GET("/", text("x"))
	r := serve(t, &redline.Server{Transport: redline.Std, Native: router.Serve})
	c := r.dial()
	for range 10 {
		c.want("/", "x")
	}
	if route := r.routeOf("/"); route.Pattern != "/" || route.Takeovers != 0 || route.Blocking {
		t.Errorf("%+v", route)
	}
}

// TestHints wants a route that says what it does to be taken at its word.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		name     string
		handler  func(s *redline.Server) redline.Handler
		detached uint64 // at least, of three requests
		late     bool
	}{
		{"Blocking", func(*redline.Server) redline.Handler { return redline.Blocking(text("x")) }, 3, false},
		{"Detach", func(*redline.Server) redline.Handler {
			return func(c *redline.Ctx) { c.Detach(); c.Detach(); c.Text(200, "x") }
		}, 3, false},
		{"Inline", func(s *redline.Server) redline.Handler {
			return redline.Inline(func(c *redline.Ctx) { late(s); c.Text(200, "x") })
		}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport string) {
				router := redline.NewRouter()
				s := &redline.Server{Transport: transport, Native: router.Serve}
				router.GET("/", c.handler(s))
				r := serve(t, s)
				client := r.dial()
				for range 3 {
					client.want("/", "x")
				}
				stats := r.Stats()
				if n := stats.Detached; n < c.detached {
					t.Errorf("%d detached, want %d", n, c.detached)
				}
				if c.late && stats.Takeovers < 3 {
					t.Errorf("%d takeovers, want 3", stats.Takeovers)
				}
				if route := r.routeOf("/"); route.Takeovers > 0 || route.Blocking {
					t.Errorf("learned all the same: %+v", route)
				}
			}, redline.Std)
		})
	}
}

// TestLearnedShape follows requests of one shape to an http.Handler, whose routes
// the server does not know.
func TestLearnedShape(t *testing.T) {
	onEach(t, func(t *testing.T, transport string) {
		var slow atomic.Bool
		s := &redline.Server{Transport: transport}
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slow.Load() {
				late(s)
			}
			io.WriteString(w, r.URL.Path)
		})
		r := serve(t, s)
		c := r.dial()
		slow.Store(true)
		c.want("/items/1", "/items/1")
		c.want("/items/2", "/items/2")
		slow.Store(false)
		if route := r.routeOf("/items/*"); !route.Blocking || route.Method != "GET" {
			t.Errorf("after two takeovers: %+v", route)
		}
		before := r.Stats().Detached
		for i := range 10 {
			path := fmt.Sprint("/items/", i+3)
			c.want(path, path)
		}
		if n := r.Stats().Detached - before; n < 10 {
			t.Errorf("of 10 requests %d began off the loop", n)
		}
		before = r.Stats().Detached
		c.want("/other", "/other")
		if n := r.Stats().Detached - before; n != 0 {
			t.Error("a request of another shape began off the loop")
		}
	}, redline.Std)
}
