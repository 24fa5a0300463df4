package redline_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline"
)

// TestLearnedRoute follows a route from its first slow call to the loop and back.
func TestLearnedRoute(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
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
		var route redline.RouteStats
		until(t, "two slow calls", func() bool {
			c.want("/", "x")
			route = r.routeOf("/")
			if route.Blocking && route.Slow < 2 {
				t.Errorf("learned: %+v", route)
			}
			return route.Blocking
		})
		slow.Store(false)
		r.wantDetached(func() { c.want("/", "x") })
		until(t, "it is known to be quick again", func() bool {
			r.RanQuickly(1000) // on a busy machine few are
			c.want("/", "x")
			route = r.routeOf("/")
			return !route.Blocking
		})
		if route.Slow > 1 {
			t.Errorf("forgotten, but %+v", route)
		}
	}, redline.TransportStd)
}

// wantDetached wants ten requests to begin off the loop. One that is taken over
// before it can does not count: that is the machine's doing, but not for most.
func (r *running) wantDetached(ask func()) {
	r.t.Helper()
	const want, most = 10, 1000
	before := r.offLoop()
	for range most {
		if ask(); r.offLoop()-before >= want {
			return
		}
	}
	r.t.Errorf("of %d requests %d began off the loop", most, r.offLoop()-before)
}

// offLoop is how many requests began off the loop, or left it because they said so.
func (r *running) offLoop() uint64 {
	s := r.Stats()
	return s.Detached + s.Stayed
}

// TestNothingIsLearnedWithoutLoops: where there is no loop, none is held up.
func TestNothingIsLearnedWithoutLoops(t *testing.T) {
	noLeaks(t)
	router := redline.NewRouter()
	router.GET("/", text("x"))
	r := serve(t, &redline.Server{Transport: redline.TransportStd, Native: router.Serve})
	c := r.dial()
	for range 10 {
		c.want("/", "x")
	}
	if route := r.routeOf("/"); route.Pattern != "/" || route.Slow != 0 || route.Blocking {
		t.Errorf("%+v", route)
	}
}

// TestHints wants a route that says what it does to be taken at its word.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		name     string
		handler  func(s *redline.Server) redline.HandlerFunc
		detached uint64 // requests, at least
		late     bool
	}{
		{"Blocking", func(*redline.Server) redline.HandlerFunc { return redline.Blocking(text("x")) }, 3, false},
		{"Detach", func(*redline.Server) redline.HandlerFunc {
			return func(c *redline.Ctx) { c.Detach(); c.Detach(); c.Text(200, "x") }
		}, 3, false},
		{"Inline", func(s *redline.Server) redline.HandlerFunc {
			return redline.Inline(func(c *redline.Ctx) { late(s); c.Text(200, "x") })
		}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				router := redline.NewRouter()
				s := &redline.Server{Transport: transport, Native: router.Serve}
				router.GET("/", c.handler(s))
				r := serve(t, s)
				client := r.dial()
				asked := uint64(0)
				until(t, "three have done what is expected", func() bool {
					client.want("/", "x")
					asked++
					stats := r.Stats()
					return r.offLoop() >= c.detached && (!c.late || stats.Takeovers >= 3)
				})
				// What is late before it could say anything is the machine's doing.
				if route := r.routeOf("/"); route.Slow+c.detached > asked || c.late && route.Slow > 0 {
					t.Errorf("learned all the same: %+v", route)
				}
			}, redline.TransportStd)
		})
	}
}

// TestLearnedShape follows requests of one shape to an http.Handler, whose routes
// the server does not know.
func TestLearnedShape(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
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
		item := 0
		next := func() {
			item++
			path := fmt.Sprint("/items/", item)
			c.want(path, path)
		}
		slow.Store(true)
		until(t, "two slow calls", func() bool {
			next()
			return r.routeOf("/items/*").Blocking
		})
		slow.Store(false)
		if route := r.routeOf("/items/*"); route.Slow < 2 || route.Method != "GET" {
			t.Errorf("after two slow calls: %+v", route)
		}
		r.wantDetached(next)
		other := r.dial() // which nobody has kept
		before := r.offLoop()
		other.want("/other", "/other")
		if n := r.offLoop() - before; n != 0 {
			t.Error("a request of another shape began off the loop")
		}
	}, redline.TransportStd)
}

// TestLearnedThoughItSends learns handlers that wait first and then give the loop up for
// their client: what came before counts.
func TestLearnedThoughItSends(t *testing.T) {
	const size = 300 << 10 // of a file that is not sent at once
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		s := &redline.Server{Transport: transport, Native: router.Serve}
		router.GET("/file", func(c *redline.Ctx) {
			late(s)
			f, err := os.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if err := c.SendFile(f, 0, size); err != nil {
				t.Error(err)
			}
		})
		router.Mount("/flush", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			late(s)
			io.WriteString(w, "x")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}))
		r := serve(t, s)
		for _, route := range []string{"/file", "/flush"} {
			until(t, route+" is learned", func() bool {
				c := r.dial()
				c.ask(route)
				c.answer()
				return r.routeOf(route).Blocking
			})
		}
	}, redline.TransportStd)
}

// TestGuestsTeachNothing serves a route that is known to block under net/http, too.
func TestGuestsTeachNothing(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		s := &redline.Server{Transport: transport, Native: router.Serve}
		var guest atomic.Bool
		router.GET("/", func(c *redline.Ctx) {
			if !guest.Load() {
				late(s)
			}
			c.Text(200, "x")
		})
		r := serve(t, s)
		c := r.dial()
		until(t, "it is learned", func() bool {
			c.want("/", "x")
			return r.routeOf("/").Blocking
		})
		guest.Store(true)
		for range 1000 {
			redline.HandlerFunc(router.Serve).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
		if route := r.routeOf("/"); !route.Blocking {
			t.Errorf("forgotten: %+v", route)
		}
	}, redline.TransportStd)
}
