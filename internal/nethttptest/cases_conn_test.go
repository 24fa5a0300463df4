package nethttptest

import (
	"net/http"
	"strings"
)

// path answers with the path.
func path(o *observer, w http.ResponseWriter, r *http.Request) { put(o, w, r.URL.Path) }

// connTrials are about what becomes of connections.
var connTrials = []trial{
	{name: "conn: kept", handle: path, play: []step{say(get("/a")), hear(1), say(get("/b")), hear(2), say(get("/c")), hear(3)}},
	{name: "conn: to be closed", handle: path, send: get("/a", "Connection: close")},
	{name: "conn: to be closed, in capitals", handle: path, send: get("/a", "connection: CLOSE")},
	{name: "conn: to be closed, among others", handle: path, send: get("/a", "Connection: x, close , y")},
	{name: "conn: close in the second field", handle: path, send: get("/a", "Connection: x", "Connection: close")},
	{name: "conn: not quite close", handle: path, send: get("/a", "Connection: xclose, close-x")},
	{name: "conn: both close and keep-alive", handle: path, send: get("/a", "Connection: keep-alive, close")},
	{name: "conn: 1.0", handle: path, send: message("GET /a HTTP/1.0")},
	{name: "conn: 1.0 to be kept", handle: path, send: message("GET /a HTTP/1.0", "Connection: keep-alive")},
	{name: "conn: 1.0 to be kept, in capitals", handle: path, send: message("GET /a HTTP/1.0", "Connection: Keep-Alive")},
	{name: "conn: 1.0 to be closed", handle: path, send: message("GET /a HTTP/1.0", "Connection: close")},
	{name: "conn: 1.0 to be kept, without length", handle: answers(0, nil, large[:100_000]), send: message("GET /a HTTP/1.0", "Connection: keep-alive")},
	{name: "conn: 1.0 to be kept, nothing written", handle: answers(0, nil), send: message("GET /a HTTP/1.0", "Connection: keep-alive")},
	{name: "conn: 1.0 to be kept, 204", handle: answers(204, nil), send: message("GET /a HTTP/1.0", "Connection: keep-alive")},
	{name: "conn: 1.0 to be kept, HEAD", handle: path, play: []step{toHEAD(0), say(message("HEAD /a HTTP/1.0", "Connection: keep-alive")), hear(1)}},
	{name: "conn: 1.0 to be kept, handler closes", handle: answers(0, []string{"Connection", "close"}, "x"), send: message("GET /a HTTP/1.0", "Connection: keep-alive")},
	{name: "conn: 1.0 kept twice", handle: path, play: []step{
		say(message("GET /a HTTP/1.0", "Connection: keep-alive")), hear(1), say(message("GET /b HTTP/1.0", "Connection: keep-alive")), hear(2),
	}},
	{name: "conn: 1.0 asks for chunks", handle: answers(0, []string{"Transfer-Encoding", "chunked"}, "x"), send: message("GET /a HTTP/1.0")},

	{name: "pipelining: three", handle: path, play: []step{say(get("/a") + get("/b") + get("/c")), hear(3)}},
	{name: "pipelining: 100", handle: path, play: []step{say(strings.Repeat(get("/a")+get("/b"), 50)), hear(100)}},
	{name: "pipelining: with content", handle: look, play: []step{say(post("/a", "hello") + postChunked("/b", "hello") + get("/c") + post("/d", "x")), hear(4)}},
	{name: "pipelining: content is not read", handle: path, play: []step{say(post("/a", "GET /evil HTTP/1.1\r\n\r\n") + postChunked("/b", "hello") + get("/c")), hear(3)}},
	{name: "pipelining: the second closes", handle: path, play: []step{say(get("/a") + get("/b", closing) + get("/c")), end()}},
	{name: "pipelining: the second is malformed", differs: &states, handle: path, play: []step{say(get("/a") + "G E T\r\n\r\n" + get("/c")), end()}},
	{name: "pipelining: the handler closes", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			w.Header().Set("Connection", "close")
		}
		path(o, w, r)
	}, play: []step{say(get("/a") + get("/b") + get("/c")), end()}},
	{name: "pipelining: streams", handle: flushTwice, play: []step{say(get("/a") + get("/b")), hear(2)}},
	{name: "pipelining: byte by byte", handle: look, play: append(spelled(get("/a", "X-A: b")+postChunked("/b", "hello")), hear(2))},
	{name: "pipelining: answered in order while the first waits", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.note("%s", r.URL.Path)
		if r.URL.Path == "/a" {
			o.pass("sent")
		}
		path(o, w, r)
	}, play: []step{say(get("/a")), say(get("/b") + get("/c")), open("sent"), hear(3)}},

	{name: "conn: one waits while others are served", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			gated(o, w, r)
			return
		}
		path(o, w, r)
	}, play: []step{
		say(get("/slow")), pass("called"), conn(2), say(get("/a")), hear(1), conn(3), say(get("/b")), hear(1), conn(2), say(get("/c")), hear(2),
		open("go on"), conn(1), hear(1),
	}},
	{name: "conn: what a handler keeps is not changed by the next request", handle: keepAndCompare, play: []step{
		say(post("/first?a=b", "the first content", "X-A: first value", "Cookie: a=first")), hear(1),
		say(post("/other?c=d", "the other content", "X-A: other value", "Cookie: a=other")), hear(2),
		say(get("/last?e=f", "X-A: last")), hear(3),
	}},

	{name: "leaving: says nothing", play: []step{leave()}},
	{name: "leaving: within a head", differs: &states, play: []step{say("GET / HTTP/1.1\r\nHo"), half()}},
	{name: "leaving: closes its half behind the request", handle: path, play: []step{say(get("/a")), half()}},
	{name: "leaving: closes its half behind several", handle: path, play: []step{say(get("/a") + get("/b")), half()}},
	{name: "leaving: closes its half after an empty line", differs: &states, play: []step{say("\r\n"), half()}},

	{name: "panic: before anything", handle: func(*observer, http.ResponseWriter, *http.Request) { panic("oops") }, play: []step{say(get("/")), end()}},
	{name: "panic: with an error", handle: func(*observer, http.ResponseWriter, *http.Request) { panic(http.ErrBodyNotAllowed) }, play: []step{say(get("/")), end()}},
	{name: "panic: of the runtime", handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		_ = [1]int{}[len(r.Host)]
	}, play: []step{say(get("/")), end()}},
	{name: "panic: behind a write", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "hello")
		panic("oops")
	}, play: []step{say(get("/")), end()}},
	{name: "panic: behind a flush", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		flushTwice(o, w, r)
		panic("oops")
	}, play: []step{say(get("/")), end()}},
	{name: "panic: behind much", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2000000")
		put(o, w, large)
		flush(w)
		panic("oops")
	}, play: []step{say(get("/")), end()}},
	{name: "panic: ErrAbortHandler", handle: func(*observer, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, play: []step{say(get("/")), end()}},
	{name: "panic: ErrAbortHandler behind a flush", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		flushTwice(o, w, r)
		panic(http.ErrAbortHandler)
	}, play: []step{say(get("/")), end()}},
	{name: "panic: behind the whole answer", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		put(o, w, "hello")
		flush(w)
		panic("oops")
	}, play: []step{say(get("/")), end()}},
	{name: "panic: content is not read", handle: func(*observer, http.ResponseWriter, *http.Request) { panic("oops") }, play: []step{say(post("/", "hello")), end()}},
	{name: "panic: pipelined", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			panic("oops")
		}
		path(o, w, r)
	}, play: []step{say(get("/a") + get("/b") + get("/c")), end()}},
	{name: "panic: other connections live on", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			panic("oops")
		}
		path(o, w, r)
	}, play: []step{say(get("/a")), hear(1), conn(2), say(get("/b")), end(), conn(1), say(get("/c")), hear(2)}},
	{name: "panic: nil", handle: func(*observer, http.ResponseWriter, *http.Request) { panic(nil) }, play: []step{say(get("/")), end()}},
	{name: "panic: recovered by the handler", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		defer func() {
			recover()
			http.Error(w, "recovered", 500)
		}()
		panic("oops")
	}},
}

// keepAndCompare keeps each request, and writes down what the first of them says
// at each of the next.
func keepAndCompare(o *observer, w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.kept = append(o.kept, r)
	first := o.kept[0]
	o.mu.Unlock()
	body := r.Body
	o.read(body)
	w.Header().Set("X-Answer", r.Header.Get("X-A"))
	o.note("%s %s %s, %s, %q", first.Method, first.RequestURI, first.URL, first.Host, first.RemoteAddr)
	o.header("first", first.Header)
	o.note("%d, %s", first.ContentLength, first.Proto)
	put(o, w, "ok")
}

// spelled sends each byte alone.
func spelled(s string) (steps []step) {
	for i := range len(s) {
		steps = append(steps, say(s[i:i+1]))
	}
	return steps
}
