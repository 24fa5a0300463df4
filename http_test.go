package redline_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestMountedBothWays has an http.Handler answer under a native router, and a
// native handler under an http.ServeMux, on one server each.
func TestMountedBothWays(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		router.GET("/native", text("native"))
		router.Mount("/std/", http.StripPrefix("/std", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "std "+r.URL.Path)
		})))
		c := serve(t, &redline.Server{Transport: transport, Native: router.Serve}).dial()
		c.want("/native", "native")
		c.want("/std/a/b", "std /a/b")
		c.want("/std", "std ")

		mux := http.NewServeMux()
		mux.Handle("/native/", redline.HandlerFunc(router.Serve))
		mux.Handle("/native", redline.HandlerFunc(router.Serve))
		mux.HandleFunc("GET /std/{name}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.PathValue("name")) })
		c = serve(t, &redline.Server{Transport: transport, Handler: mux}).dial()
		c.want("/native", "native")
		c.want("/std/x", "x")
	})
}

// TestMountedGivesBack uses the Ctx after a mounted http.Handler has ended, in any way: the
// rest of the content can be read, and more can be written than the client accepts at once.
func TestMountedGivesBack(t *testing.T) {
	ended := make(chan struct{})
	for _, how := range []ending{
		{"return", func(http.ResponseWriter, *http.Request) {}, true},
		{"goroutines left", func(w http.ResponseWriter, r *http.Request) {
			go func() {
				<-ended
				if _, err := io.WriteString(w, "late"); err == nil {
					t.Error("a goroutine writes behind its handler")
				}
				if _, err := r.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a goroutine reads behind its handler")
				}
				ended <- struct{}{}
			}()
		}, true},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("at the disco") }, false},
		{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		{"goroutine ends", func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, false},
		{"hijack", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			noError(t, err)
			conn.Close()
		}, false},
	} {
		t.Run(how.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) { how.givesBack(t, transport, ended) })
		})
	}
}

// An ending is how a mounted http.Handler ends.
type ending struct {
	name string
	end  func(w http.ResponseWriter, r *http.Request)
	kept bool // the answer is not given up
}

func (how ending) givesBack(t *testing.T, transport redline.Transport, ended chan struct{}) {
	const rest, large = "0123456789", 4 << 20
	inner := redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Body.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		how.end(w, r)
	}))
	read := make(chan string, 1)
	r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
		if c.Method() == "GET" {
			c.Text(200, "alive")
			return
		}
		defer func() {
			read <- ""
			body, err := io.ReadAll(c.Body())
			_, werr := c.Write(make([]byte, large))
			if how.kept && (err != nil || werr != nil) {
				t.Errorf("behind the handler: %v, %v", err, werr)
			}
			read <- string(body)
		}()
		inner(c)
	}})
	c := r.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\na", 1+len(rest))
	receive(t, read, "the handler is done")
	// The client may have been cut off: that is no matter here.
	_, _ = io.WriteString(c.Conn, rest)
	if how.kept {
		resp := c.response()
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n != large {
			t.Errorf("client reads %d bytes, %v", n, err)
		}
	} else {
		c.Close() // who writes is not to wait for it
	}
	if got := receive(t, read, "the rest is read"); how.kept && got != rest {
		t.Errorf("read %q behind the handler, want %q", got, rest)
	}
	if how.name == "goroutines left" {
		ended <- struct{}{}
		receive(t, ended, "the goroutine is done")
	}
	r.dial().want("/", "alive")
}

// TestMountedContexts cancels the context of the Ctx and that of a mounted
// http.Handler's request when their client leaves.
func TestMountedContexts(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		told := make(chan error, 2)
		begun := make(chan struct{})
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			ctx := c.Context()
			redline.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				done := r.Context().Done()
				close(begun)
				<-done
				told <- r.Context().Err()
			}))(c)
			<-ctx.Done()
			told <- context.Cause(ctx)
		}})
		c := r.dial()
		c.ask("/")
		receive(t, begun, "the handler runs")
		c.Close()
		for _, want := range []error{context.Canceled, redline.ErrGone} {
			if err := receive(t, told, "a context ends"); err != want {
				t.Errorf("context ends with %v, want %v", err, want)
			}
		}
	})
}

// guestRoutes are native handlers to be run under net/http.
func guestRoutes(t *testing.T) *redline.Router {
	router := redline.NewRouter()
	router.POST("/echo/{name}", func(c *redline.Ctx) {
		body, err := c.ReadBody(100)
		if err != nil {
			c.Error(400)
			return
		}
		noError(t, c.SetHeader("X-Name", c.Param("name")+c.Query("q")+c.Header("X-Ask")))
		c.Text(201, string(body))
	})
	router.GET("/stream", func(c *redline.Ctx) {
		c.Stream(func(s *redline.Stream) {
			for _, part := range []string{"a", "b", "c"} {
				_, err := io.WriteString(s, part)
				noError(t, err)
			}
			s.Close()
		})
	})
	router.GET("/pieces", func(c *redline.Ctx) {
		_, err := c.WriteString("one ")
		noError(t, err)
		noError(t, c.Flush())
		_, err = c.WriteString("two")
		noError(t, err)
		noError(t, c.SetTrailer("X-Sum", "3"))
	})
	router.GET("/panic", func(*redline.Ctx) { panic("at the disco") })
	router.GET("/abort", func(*redline.Ctx) { panic(redline.ErrAbort) })
	whole, err := redline.Prebuild(202, "text/plain", []byte("whole"))
	noError(t, err)
	router.GET("/whole", func(c *redline.Ctx) { c.Send(whole) })
	return router
}

// TestGuest runs native handlers on a recorder.
func TestGuest(t *testing.T) {
	handler := redline.HandlerFunc(guestRoutes(t).Serve)
	ask := func(method, target, body string) *http.Response {
		t.Helper()
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("X-Ask", "!")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Result()
	}
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"POST", "/echo/x%20y?q=1", "hello", 201, "hello"},
		{"POST", "/echo/x", strings.Repeat("x", 101), 400, "Bad Request\n"},
		{"GET", "/stream", "", 200, "abc"},
		{"GET", "/pieces", "", 200, "one two"},
		{"GET", "/panic", "", 500, "Internal Server Error\n"},
		{"GET", "/whole", "", 202, "whole"},
		{"GET", "/nowhere", "", 404, "Not Found\n"},
		{"DELETE", "/stream", "", 405, "Method Not Allowed\n"},
	} {
		resp := ask(c.method, c.target, c.body)
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != c.status || string(body) != c.want {
			t.Errorf("%s %s: %d %q %v, want %d %q", c.method, c.target, resp.StatusCode, body, err, c.status, c.want)
		}
		if c.status == 201 && resp.Header.Get("X-Name") != "x y1!" {
			t.Errorf("X-Name is %q", resp.Header.Get("X-Name"))
		}
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("an aborted exchange panics with %v, want http.ErrAbortHandler", p)
		}
	}()
	ask("GET", "/abort", "")
}

// TestGuestServed runs native handlers on a server of net/http: what they write
// comes in pieces, and a client that leaves is noticed.
func TestGuestServed(t *testing.T) {
	router := guestRoutes(t)
	gone := make(chan error, 1)
	router.GET("/leave", func(c *redline.Ctx) {
		c.Stream(func(s *redline.Stream) {
			defer s.Close()
			_, err := io.WriteString(s, "first")
			noError(t, err)
			<-s.Context().Done()
			for err == nil {
				_, err = io.WriteString(s, "more")
			}
			gone <- err
		})
	})
	server := httptest.NewServer(redline.HandlerFunc(router.Serve))
	defer server.Close()
	resp, err := http.Get(server.URL + "/pieces")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "one two" || resp.Trailer.Get("X-Sum") != "3" || err != nil {
		t.Errorf("pieces over a server: %q, trailers %v, %v", body, resp.Trailer, err)
	}
	resp.Body.Close()
	if resp, err = http.Get(server.URL + "/leave"); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadFull(resp.Body, make([]byte, 5))
	noError(t, err)
	resp.Body.Close()
	if err := receive(t, gone, "a client that has left is noticed"); err != redline.ErrGone {
		t.Errorf("writing to a client that has left: %v", err)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
