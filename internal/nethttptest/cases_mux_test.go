package nethttptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// mux is a ServeMux whose handlers write down which they are.
func mux(patterns ...string) func(o *observer) http.Handler {
	return func(o *observer) http.Handler {
		m := http.NewServeMux()
		for _, p := range patterns {
			m.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) {
				o.note("pattern %q, path %q, raw %q", r.Pattern, r.URL.Path, r.URL.RawPath)
				for _, name := range []string{"id", "rest", "none"} {
					o.note("%s = %q", name, r.PathValue(name))
				}
				r.SetPathValue("none", "set")
				put(o, w, r.PathValue("none"))
			})
		}
		return m
	}
}

var (
	site  = mux("/{$}", "GET /items/{id}", "POST /items/{id}", "/files/{rest...}", "/tree/", "example.org/tree/", "/a%2Fb", "/x/{id}/y")
	asked = []string{"/items/7?q=1", "/items/a%2Fb", "/items/", "/items", "/files/a/b/c", "/files/", "/tree", "/tree/", "/tree/../items/7", "//items//7", "/./tree/./x", "/", "/none", "/a%2Fb", "/a/b", "/x/%20/y", "/tree/%2e%2e/x"}
)

// muxTrials are about ServeMux and the handlers that net/http brings.
var muxTrials = []trial{
	{name: "mux: paths", handler: site, play: askAll(asked)},
	{name: "mux: other methods", noPath: true, differs: &noBody, handler: site, play: []step{
		toHEAD(0), say(message("HEAD /items/7 HTTP/1.1", "Host: h")), hear(1),
		say(message("DELETE /items/7 HTTP/1.1", "Host: h")), hear(2),
		say(message("OPTIONS /items/7 HTTP/1.1", "Host: h")), hear(3),
		say(post("/items/7", "hello")), hear(4),
		say(post("/tree", "hello")), hear(5),
		say(message("OPTIONS * HTTP/1.1", "Host: h")), hear(6),
		say(message("CONNECT /tree HTTP/1.1", "Host: h")), hear(7),
	}},
	{name: "mux: hosts", handler: site, play: []step{
		say(message("GET /tree/a HTTP/1.1", "Host: example.org")), hear(1),
		say(message("GET /tree/a HTTP/1.1", "Host: example.org:8080")), hear(2),
		say(message("GET http://example.org/tree HTTP/1.1", "Host: other")), hear(3),
		say(message("GET /tree/a HTTP/1.1", "Host: EXAMPLE.org")), hear(4),
	}},
	{name: "mux: DefaultServeMux", bare: true, fields: func(_ *observer, s *http.Server) { s.Handler = nil }, send: get("/default", closing)},
	{name: "mux: nested", handler: func(o *observer) http.Handler {
		inner := mux("/items/{id}")(o)
		m := http.NewServeMux()
		m.Handle("/api/{id}/", http.StripPrefix("/api/v1", inner))
		return m
	}, play: askAll([]string{"/api/v1/items/7", "/api/v2/items/7", "/api/v1/none"})},
	{name: "mux: OPTIONS * without the general handler", noPath: true, handler: site, send: message("OPTIONS * HTTP/1.1", "Host: h"), fields: func(_ *observer, s *http.Server) {
		s.DisableGeneralOptionsHandler = true
	}},
	{name: "mux: GET *", differs: &strict, refuses: "400 request target does not fit the method", handler: site, send: message("GET * HTTP/1.1", "Host: h")},

	{name: "handlers: NotFound", handler: func(*observer) http.Handler { return http.NotFoundHandler() }, send: get("/x")},
	{name: "handlers: Error drops what does not fit", handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("X-A", "b")
		http.Error(w, "oops", http.StatusTeapot)
	}, send: get("/")},
	{name: "handlers: Redirect", handle: func(_ *observer, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}, play: askAll([]string{"/a/b?to=c", "/a/b?to=../c?d", "/a/b/?to=/x//y/../z/", "/?to=http://other/", "/a?to=//other/x", "/a?to=%C3%A9"})},
	{name: "handlers: Redirect of HEAD and POST", handler: func(*observer) http.Handler { return http.RedirectHandler("/new", http.StatusPermanentRedirect) }, play: []step{
		toHEAD(0), say(message("HEAD / HTTP/1.1", "Host: h")), hear(1), say(post("/", "hello")), hear(2),
	}},
	{name: "handlers: StripPrefix", handler: func(o *observer) http.Handler {
		return http.StripPrefix("/pre", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { o.request(r) }))
	}, play: askAll([]string{"/pre/a%2Fb?c", "/pre", "/other"})},
	{name: "handlers: AllowQuerySemicolons", handler: func(o *observer) http.Handler {
		return http.AllowQuerySemicolons(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { o.note("%q %q", r.FormValue("a"), r.FormValue("b")) }))
	}, send: get("/?a=1;b=2")},
	{name: "handlers: MaxBytesHandler", handler: func(o *observer) http.Handler {
		return http.MaxBytesHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.read(r.Body)
			put(o, w, "ok")
		}), 5)
	}, play: []step{say(post("/", "hello")), hear(1), say(postChunked("/", "he", "llo")), hear(2), say(post("/", "hello!")), hear(3)}},
	{name: "handlers: TimeoutHandler in time", handler: timeout(func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		w.Header().Set("X-A", "b")
		w.WriteHeader(202)
		put(o, w, "in time")
	}, time.Hour), send: post("/", "hello")},
	{name: "handlers: TimeoutHandler too late", handler: timeout(func(o *observer, w http.ResponseWriter, r *http.Request) {
		defer o.open("done")
		o.begin()
		defer o.end()
		_, _ = io.WriteString(w, "lost") // or late, that is chance
		o.await(r.Context().Done(), "the timeout")
		o.err("context", r.Context().Err())
		o.pass("answered")
		n, err := w.Write([]byte("x"))
		o.note("%d, %s", n, describe(err))
	}, time.Millisecond), play: []step{say(get("/")), hear(1), open("answered"), pass("done")}},
	{name: "handlers: TimeoutHandler panics", handler: timeout(func(*observer, http.ResponseWriter, *http.Request) { panic("oops") }, time.Hour), play: []step{say(get("/")), end()}},
	{name: "handlers: TimeoutHandler implements", handler: timeout(func(o *observer, w http.ResponseWriter, _ *http.Request) {
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		o.note("Flusher %v, Hijacker %v, %s", flusher, hijacker, describe(http.NewResponseController(w).Flush()))
	}, time.Hour), send: get("/")},
	{name: "handlers: a recorder's answer, copied", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		path(o, rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, err := rec.Body.WriteTo(w)
		o.err("copy", err)
	}, send: get("/a")},
	{name: "handlers: writers wrapped by middleware", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		counted := &counter{ResponseWriter: w}
		c := http.NewResponseController(counted)
		put(o, counted, "one")
		o.err("flush", c.Flush())
		n, err := io.Copy(counted, strings.NewReader("two"))
		o.note("%d, %s, %d bytes in all", n, describe(err), counted.n)
	}, send: get("/")},
}

// counter is a writer as middleware has them.
type counter struct {
	http.ResponseWriter
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += n
	return n, err
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// timeout is a handler behind http.TimeoutHandler.
func timeout(h func(o *observer, w http.ResponseWriter, r *http.Request), d time.Duration) func(o *observer) http.Handler {
	return func(o *observer) http.Handler {
		return http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(o, w, r) }), d, "too late")
	}
}

// askAll asks for one path after the other.
func askAll(paths []string) (steps []step) {
	for i, p := range paths {
		steps = append(steps, say(get(p)), hear(i+1))
	}
	return steps
}

func init() {
	http.HandleFunc("/default", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "default "+r.Pattern) })
}
