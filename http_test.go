package redline_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestMountedBothWays has an http.Handler answer under a native router, and a
// native handler under an http.ServeMux, on one server each.
func TestMountedBothWays(t *testing.T) {
	onEach(t, func(t *testing.T, transport string) {
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
		mux.Handle("/native/", redline.Handler(router.Serve))
		mux.Handle("/native", redline.Handler(router.Serve))
		mux.HandleFunc("GET /std/{name}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.PathValue("name")) })
		c = serve(t, &redline.Server{Transport: transport, Handler: mux}).dial()
		c.want("/native", "native")
		c.want("/std/x", "x")
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
		s := c.Stream()
		go func() {
			for _, part := range []string{"a", "b", "c"} {
				_, err := io.WriteString(s, part)
				noError(t, err)
			}
			s.Close()
		}()
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
	handler := redline.Handler(guestRoutes(t).Serve)
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
		s := c.Stream()
		go func() {
			defer s.Close()
			_, err := io.WriteString(s, "first")
			noError(t, err)
			<-s.Context().Done()
			_, err = io.WriteString(s, "second")
			gone <- err
		}()
	})
	server := httptest.NewServer(redline.Handler(router.Serve))
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
