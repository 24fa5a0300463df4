package nethttptest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// answers is a handler that sets fields, given as name, value, name, value ..., then
// writes the status unless it is 0, then the parts of the body.
func answers(status int, fields []string, parts ...string) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		for _, p := range parts {
			put(o, w, p)
		}
	}
}

// head is a request that wants no body.
func head(path string, fields ...string) []step {
	return []step{toHEAD(0), say(strings.Replace(get(path, fields...), "GET", "HEAD", 1)), hear(1)}
}

// responseTrials are about what a handler's answer becomes.
var responseTrials = []trial{
	{name: "status: implicit", send: get("/"), handle: answers(0, nil, "x")},
	{name: "status: nothing at all", send: get("/"), handle: answers(0, nil)},
	{name: "status: without body", send: get("/"), handle: answers(201, nil)},
	{name: "status: with body", send: get("/"), handle: answers(404, nil, "not ", "found")},
	{name: "status: without a name", send: get("/"), handle: answers(599, nil, "x")},
	{name: "status: 204", send: get("/"), handle: answers(204, nil)},
	{name: "status: 204 with body", send: get("/"), handle: answers(204, nil, "x")},
	{name: "status: 204 with length", send: get("/"), handle: answers(204, []string{"Content-Length", "5"})},
	{name: "status: 204 with type and coding", send: get("/"), handle: answers(204, []string{"Content-Type", "text/css", "Transfer-Encoding", "chunked"})},
	{name: "status: 205", send: get("/"), handle: answers(205, nil)},
	{name: "status: 205 with body", differs: &noBody, send: get("/"), handle: answers(205, nil, "x")},
	{name: "status: 304", send: get("/"), handle: answers(304, []string{"ETag", `"x"`})},
	{name: "status: 304 with body", send: get("/"), handle: answers(304, nil, "x")},
	{name: "status: 304 with length and type", send: get("/"), handle: answers(304, []string{"Content-Length", "5", "Content-Type", "text/css"})},
	{name: "status: HEAD of 204", play: head("/"), handle: answers(204, nil)},
	{name: "status: written twice", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(202)
		w.WriteHeader(500)
	}},
	{name: "status: written behind the body", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "x")
		w.WriteHeader(500)
	}},
	{name: "status: written behind an empty body", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "")
		w.WriteHeader(500)
	}},
	{name: "status: invalid", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for _, code := range []int{0, -1, 99, 1000, 12345} {
			panics(o, fmt.Sprint(code), func() { w.WriteHeader(code) })
		}
		put(o, w, "x")
	}},
	{name: "status: 999", send: get("/"), handle: answers(999, nil, "x")},

	{name: "length out: of what the handler wrote", send: get("/"), handle: answers(0, nil, strings.Repeat("x", 2048))},
	{name: "length out: beyond 2 KiB", send: get("/"), handle: answers(0, nil, strings.Repeat("x", 2049))},
	{name: "length out: 16 KiB", send: get("/"), handle: answers(0, nil, strings.Repeat("x", 10_000), strings.Repeat("y", 6384))},
	{name: "length out: beyond 16 KiB", send: get("/"), handle: answers(0, nil, strings.Repeat("x", 10_000), strings.Repeat("y", 6385))},
	{name: "length out: 1 MiB", send: get("/"), handle: answers(0, nil, large)},
	{name: "length out: many small writes", send: get("/"), handle: answers(0, nil, slices.Repeat([]string{"0123456789"}, 5000)...)},
	{name: "length out: announced", send: get("/"), handle: answers(0, []string{"Content-Length", "5"}, "he", "llo")},
	{name: "length out: announced, 1 MiB", send: get("/"), handle: answers(0, []string{"Content-Length", "1048576"}, large)},
	{name: "length out: announced, too short a body", send: get("/"), handle: answers(0, []string{"Content-Length", "9"}, "hello")},
	{name: "length out: announced, no body", send: get("/"), handle: answers(0, []string{"Content-Length", "9"})},
	{name: "length out: announced, too long a body", send: get("/"), handle: answers(0, []string{"Content-Length", "3"}, "hello")},
	{name: "length out: announced, too long in the second write", send: get("/"), handle: answers(0, []string{"Content-Length", "3"}, "he", "llo", "x")},
	{name: "length out: announced, not a number", send: get("/"), handle: answers(0, []string{"Content-Length", "five"}, "hello")},
	{name: "length out: announced, negative", send: get("/"), handle: answers(0, []string{"Content-Length", "-5"}, "hello")},
	{name: "length out: announced twice", differs: &framing, send: get("/"), handle: answers(0, []string{"Content-Length", "5", "Content-Length", "5"}, "hello")},
	{name: "length out: announced as zero", send: get("/"), handle: answers(0, []string{"Content-Length", "0"})},
	{name: "length out: HEAD", play: head("/"), handle: answers(0, nil, "hello")},
	{name: "length out: HEAD beyond 2 KiB", play: head("/"), handle: answers(0, nil, strings.Repeat("x", 5000))},
	{name: "length out: HEAD beyond 16 KiB", play: head("/"), handle: answers(0, nil, large)},
	{name: "length out: HEAD announced", play: head("/"), handle: answers(0, []string{"Content-Length", "5"}, "hello")},
	{name: "length out: HEAD announced, nothing written", play: head("/"), handle: answers(0, []string{"Content-Length", "12345"})},
	{name: "length out: HEAD announced, too long a body", play: head("/"), handle: answers(0, []string{"Content-Length", "3"}, "hello")},
	{name: "length out: HEAD, nothing written", play: head("/"), handle: answers(0, nil)},

	{name: "length out: forbidden", send: get("/"), handle: noLength("hello")},
	{name: "length out: forbidden, kept", play: []step{say(get("/a")), hear(1), say(get("/b")), hear(2)}, handle: noLength("hello")},
	{name: "length out: forbidden, nothing written", send: get("/"), handle: noLength("")},
	{name: "length out: forbidden, 1 MiB", send: get("/"), handle: noLength(large)},
	{name: "length out: forbidden, HEAD", play: head("/"), handle: noLength("hello")},
	{name: "length out: forbidden, 1.0", send: message("GET / HTTP/1.0"), handle: noLength("hello")},
	{name: "length out: forbidden, 1.0 to be kept", send: message("GET / HTTP/1.0", "Connection: keep-alive"), handle: noLength("hello")},
	{name: "length out: forbidden, 204", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = nil
		w.WriteHeader(204)
	}},
	{name: "length out: forbidden, 304", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = nil
		w.WriteHeader(304)
	}},
	{name: "length out: forbidden, flushed", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Length"] = []string{}
		flushTwice(o, w, r)
	}},
	{name: "length out: announced as empty", send: get("/"), handle: answers(0, []string{"Content-Length", ""}, "hello")},

	{name: "type: given", send: get("/"), handle: answers(0, []string{"Content-Type", "text/x"}, "<html>")},
	{name: "type: given as empty", send: get("/"), handle: answers(0, []string{"Content-Type", ""}, "<html>")},
	{name: "type: forbidden", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		put(o, w, "<html>")
	}},
	{name: "type: not guessed of codings", send: get("/"), handle: answers(0, []string{"Content-Encoding", "gzip"}, "<html>")},
	{name: "type: not guessed of nothing", send: get("/"), handle: answers(0, nil, "")},
	{name: "type: guessed of the first write", send: get("/"), handle: answers(0, nil, "<", "html>")},
	{name: "type: guessed across a large write", send: get("/"), handle: answers(0, nil, strings.Repeat(" ", 600)+"<html>")},
	{name: "type: guessed for HEAD", play: head("/"), handle: answers(0, nil, "<html>")},
	{name: "type: beside a coding of its own", differs: &framing, send: get("/"), handle: answers(0, []string{"Transfer-Encoding", "identity"}, "<html>")},
	{name: "type: guessed", play: guessScript(), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, guessable[len(r.URL.Path)-1])
	}},

	{name: "fields out: several of a name", send: get("/"), handle: answers(0, []string{"X-A", "1", "X-A", "2", "Set-Cookie", "a=b", "Set-Cookie", "c=d"}, "x")},
	{name: "fields out: names not canonical", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["x-lower"] = []string{"1"}
		w.Header()["X-Empty"] = []string{""}
		w.Header()["X-None"] = nil
		w.Header()["X-NONE"] = []string{}
	}},
	{name: "fields out: invalid names", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["X A"], h["X:A"], h["X\r\nA"], h[""], h["X-\xc3\xa9"] = []string{"1"}, []string{"2"}, []string{"3"}, []string{"4"}, []string{"5"}
		h.Set("X-Ok", "6")
	}},
	{name: "fields out: invalid values", send: get("/"), handle: answers(0, []string{"X-A", "a\r\nX-Injected: b", "X-B", "a\nb", "X-C", " a\t", "X-D", "\xc3\xa9\xff", "X-E", "a\rb"})},
	{name: "fields out: control characters in values", differs: &controls, send: get("/"), handle: answers(0, []string{"X-A", "a\x00b", "X-B", "a\x01b\x7f"})},
	{name: "fields out: changed behind WriteHeader", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "before")
		w.Header().Set("X-B", "before")
		w.WriteHeader(200)
		w.Header().Set("X-A", "after")
		w.Header().Del("X-B")
		w.Header().Set("X-C", "after")
		put(o, w, "x")
		w.Header().Set("X-D", "after")
	}},
	{name: "fields out: changed behind the first write", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["X-A"] = []string{"before"}
		put(o, w, "x")
		h["X-A"][0] = "after"
		h["X-B"] = []string{"after"}
	}},
	{name: "fields out: changed when nothing is written", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-A", "b")
		o.note("the same header %v", maps.EqualFunc(h, w.Header(), slices.Equal))
	}},
	{name: "fields out: Date of its own", send: get("/"), handle: answers(0, []string{"Date", "Thu, 01 Jan 1970 00:00:00 GMT"}, "x")},
	{name: "fields out: Date forbidden", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		put(o, w, "x")
	}},
	{name: "fields out: Server", send: get("/"), handle: answers(0, []string{"Server", "mine/1.0"}, "x")},
	{name: "fields out: Connection: close", send: get("/"), handle: answers(0, []string{"Connection", "close"}, "x")},
	{name: "fields out: Connection: Close among others", differs: &framing, send: get("/"), handle: answers(0, []string{"Connection", "x, Close"}, "x")},
	{name: "fields out: Connection: keep-alive", send: get("/"), handle: answers(0, []string{"Connection", "keep-alive"}, "x")},
	{name: "fields out: Connection: keep-alive, to a client that closes", send: get("/", closing), handle: answers(0, []string{"Connection", "keep-alive"}, "x")},
	{name: "fields out: Connection: keep-alive, of events", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Connection", "keep-alive")
		put(o, w, "data: 1\n\n")
		o.err("flush", http.NewResponseController(w).Flush())
		put(o, w, "data: 2\n\n")
	}},
	{name: "fields out: Connection: upgrade", send: get("/"), handle: answers(426, []string{"Connection", "upgrade", "Upgrade", "x"}, "x")},
	{name: "fields out: Transfer-Encoding: chunked", send: get("/"), handle: answers(0, []string{"Transfer-Encoding", "chunked"}, "x")},
	{name: "fields out: Transfer-Encoding: identity", differs: &framing, send: get("/"), handle: answers(0, []string{"Transfer-Encoding", "identity"}, "x")},
	{name: "fields out: Transfer-Encoding: gzip", differs: &framing, send: get("/"), handle: answers(0, []string{"Transfer-Encoding", "gzip"}, "x")},
	{name: "fields out: coding and length", differs: &framing, send: get("/"), handle: answers(0, []string{"Transfer-Encoding", "chunked", "Content-Length", "1"}, "x")},
	{name: "fields out: many", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		for i := range 300 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("v", i))
		}
	}},
	{name: "fields out: value of 100 KiB", send: get("/"), handle: answers(0, []string{"X-A", strings.Repeat("v", 100<<10)}, "x")},
	{name: "fields out: cookies", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b c", Path: "/", MaxAge: 5, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.SetCookie(w, &http.Cookie{Name: "d", Value: "e", Expires: time.Unix(1, 0)})
	}},

	{name: "writer: what it implements", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		_, readerFrom := w.(io.ReaderFrom)
		_, stringWriter := w.(io.StringWriter)
		_, pusher := w.(http.Pusher)
		_, errorFlusher := w.(interface{ FlushError() error })
		_, deadlines := w.(interface {
			SetReadDeadline(time.Time) error
			SetWriteDeadline(time.Time) error
			EnableFullDuplex() error
		})
		_, unwrapper := w.(interface{ Unwrap() http.ResponseWriter })
		_, closeNotifier := w.(interface{ CloseNotify() <-chan bool })
		o.note("Flusher %v, Hijacker %v, ReaderFrom %v, StringWriter %v, Pusher %v", flusher, hijacker, readerFrom, stringWriter, pusher)
		o.note("FlushError %v, deadlines %v, Unwrap %v, CloseNotifier %v", errorFlusher, deadlines, unwrapper, closeNotifier)
	}},
	{name: "writer: sizes and empty writes", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for _, p := range []string{"", "a", "", strings.Repeat("b", 3000)} {
			n, err := w.Write([]byte(p))
			o.note("%d, %s", n, describe(err))
			n, err = io.WriteString(w, p)
			o.note("%d, %s", n, describe(err))
		}
	}},
	{name: "writer: what it was given may change", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		p := make([]byte, 3000)
		for i := range byte(10) {
			for j := range p {
				p[j] = 'a' + i
			}
			w.Write(p)
		}
		clear(p)
	}},
	{name: "writer: HEAD counts what is not sent", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		for range 2 {
			n, err := w.Write([]byte("hello"))
			o.note("%s: %d, %s", r.Method, n, describe(err))
		}
	}, play: head("/")},
	{name: "writer: ErrContentLength", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		for _, p := range []string{"ab", "", "cdef", "g", "h"} {
			n, err := io.WriteString(w, p)
			o.note("%d, %s", n, describe(err))
		}
	}},
	{name: "writer: used by another goroutine while the handler waits", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 100 {
				put(o, w, "0123456789")
			}
			w.(http.Flusher).Flush()
		}()
		o.await(done, "the goroutine")
		put(o, w, "end")
	}},
}

// noLength is a handler that will not have its length told.
func noLength(body string) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = nil
		put(o, w, body)
	}
}

// guessable are bodies of many kinds, each for the path of its length.
var guessable = []string{
	"", "plain", "<!DOCTYPE HTML>", "  <script>", "<?xml version=\"1.0\"?>", "%PDF-1.7", "%!PS-Adobe-", "\xfe\xff\x00a", "\xff\xfea\x00", "\xef\xbb\xbfx",
	"GIF89a...", "\x89PNG\x0d\x0a\x1a\x0a", "\xff\xd8\xff\xe0", "RIFF....WEBPVP8", "\x1f\x8b\x08\x00", "PK\x03\x04", "{\"a\": 1}", "\x00asm\x01", "\x00\x01\x02", "\x7f",
	"OggS\x00", "....ftypmp42....", "wOFF", "\x1aE\xdf\xa3", "<b", "< b", "a\x1bb", "\xc3\xa9", "<!-- x -->", "body { }",
}

func guessScript() (steps []step) {
	for i := range guessable {
		steps = append(steps, say(get("/"+strings.Repeat("x", i))), hear(i+1))
	}
	return steps
}
