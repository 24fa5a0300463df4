package nethttptest

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// flush flushes in the plain way.
func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// streamTrials are about answers that come in parts.
var streamTrials = []trial{
	{name: "flush: each part arrives", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for _, p := range []string{"one ", "two ", "three "} {
			put(o, w, p)
			flush(w)
			o.pass(p)
		}
	}, play: []step{say(get("/")), hearText("one "), open("one "), hearText("one two "), open("two "), hearText("one two three "), open("three "), hear(1)}},
	{name: "flush: the head alone", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "b")
		flush(w)
		w.Header().Set("X-C", "d")
		put(o, w, "later")
	}, send: get("/")},
	{name: "flush: nothing else", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) { flush(w) }},
	{name: "flush: behind WriteHeader", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		flush(w)
		w.WriteHeader(200)
		flush(w)
	}},
	{name: "flush: type is guessed of what is there", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "<ht")
		flush(w)
		put(o, w, "ml>")
	}},
	{name: "flush: with length", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "6")
		for range 3 {
			put(o, w, "ab")
			flush(w)
		}
	}},
	{name: "flush: with length, too short a body", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		put(o, w, large[:50_000])
		flush(w)
		put(o, w, large[50_000:90_000])
	}},
	{name: "flush: with length, too long a body", differs: &framing, send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		put(o, w, "hello")
		flush(w)
		put(o, w, "x")
	}},
	{name: "flush: over 1.0", send: message("GET / HTTP/1.0"), handle: flushTwice},
	{name: "flush: over 1.0, to be kept alive", send: message("GET / HTTP/1.0", "Connection: keep-alive"), handle: flushTwice},
	{name: "flush: HEAD", play: head("/"), handle: flushTwice},
	{name: "flush: 204", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(204)
		flush(w)
	}},
	{name: "flush: 304", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(304)
		flush(w)
	}},
	{name: "flush: with Connection: close", send: get("/", closing), handle: flushTwice},
	{name: "flush: much", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(large); i += 100_000 {
			put(o, w, large[i:min(i+100_000, len(large))])
			flush(w)
		}
	}},
	{name: "flush: behind what was written by WriteHeader(100)", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(103)
		flush(w)
		put(o, w, "x")
	}},
	{name: "flush: small writes behind it", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		flush(w)
		for i := range 3000 {
			put(o, w, large[i:i+i%7])
			if i == 1500 {
				flush(w)
			}
		}
	}},
	{name: "flush: all sizes behind it", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "begin")
		flush(w)
		for _, n := range []int{1, 4095, 1, 1, 4096, 4097, 100, 5000, 32 << 10, 1, 40 << 10, 100} {
			put(o, w, large[:n])
		}
	}},
	{name: "flush: server-sent events", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		for _, e := range []string{"data: 1\n\n", "data: 2\n\n"} {
			put(o, w, e)
			flush(w)
		}
		o.await(r.Context().Done(), "the client to leave")
	}, play: []step{say(get("/")), hearText("data: 2\n\n"), leave()}},

	{name: "info: early hints", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Add("Link", "</b.js>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-A", "b")
		put(o, w, "x")
	}},
	{name: "info: arrives before the answer", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProcessing)
		o.pass("hinted")
		put(o, w, "x")
	}, play: []step{say(get("/")), hearInfo(1), open("hinted"), hear(1)}},
	{name: "info: without fields", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(102) }},
	{name: "info: length and coding are left out", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1")
		w.WriteHeader(103)
		put(o, w, "x")
	}},
	{name: "info: 100 of the handler's", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(100)
		w.WriteHeader(100)
		put(o, w, "x")
	}},
	{name: "info: the announced body does not come", play: []step{say(get("/")), end()}, handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(102)
	}},
	{name: "info: 199", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(199)
		put(o, w, "x")
	}},
	{name: "info: behind the answer", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "x")
		w.WriteHeader(103)
	}},
	{name: "info: line ends in values", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "a\r\nX-Injected: b")
		w.WriteHeader(103)
		put(o, w, "x")
	}},
	{name: "info: over 1.0", send: message("GET / HTTP/1.0"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(103)
		put(o, w, "x")
	}},
	{name: "info: 101 without hijacking", play: []step{say(get("/", "Connection: upgrade", "Upgrade: x")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "upgrade")
		w.Header().Set("Upgrade", "x")
		w.WriteHeader(101)
		n, err := w.Write([]byte("x"))
		o.note("%d, %s", n, describe(err))
		panic(http.ErrAbortHandler)
	}},

	{name: "trailers out: announced", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A, X-B")
		w.Header().Add("Trailer", "X-C")
		w.WriteHeader(200)
		w.Header().Set("X-A", "1")
		put(o, w, "hello")
		w.Header().Set("X-C", "3")
		w.Header().Set("X-D", "not announced")
	}},
	{name: "trailers out: announced, known before", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A")
		w.Header().Set("X-A", "1")
		put(o, w, "hello")
	}},
	{name: "trailers out: announced, no body", send: get("/"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A")
		w.WriteHeader(200)
		w.Header().Set("X-A", "1")
	}},
	{name: "trailers out: announced, not set", send: get("/"), handle: answers(200, []string{"Trailer", "X-A"}, "hello")},
	{name: "trailers out: with length", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A")
		w.Header().Set("Content-Length", "5")
		put(o, w, "hello")
		w.Header().Set("X-A", "1")
	}},
	{name: "trailers out: by prefix", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "hello")
		flush(w)
		w.Header().Set(http.TrailerPrefix+"X-A", "1")
		w.Header().Add(http.TrailerPrefix+"X-B", "2")
		w.Header().Add(http.TrailerPrefix+"X-B", "3")
	}},
	{name: "trailers out: by prefix, without flush", differs: &trailers, send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "hello")
		w.Header().Set(http.TrailerPrefix+"X-A", "1")
	}},
	{name: "trailers out: by prefix, before the body", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(http.TrailerPrefix+"X-A", "1")
		put(o, w, "hello")
	}},
	{name: "trailers out: forbidden ones", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Content-Length, Transfer-Encoding, Trailer, X-A")
		put(o, w, "hello")
		flush(w)
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Transfer-Encoding", "x")
		w.Header().Set("X-A", "a\r\nX-Injected: b")
	}},
	{name: "trailers out: fields that belong in the head", differs: &trailers, send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		const names = "Date, Expires, Location, Retry-After, Set-Cookie, Upgrade, Vary"
		w.Header().Set("Trailer", names+", X-A")
		put(o, w, "hello")
		for name := range strings.SplitSeq(names+", X-A", ", ") {
			w.Header().Set(name, "1")
		}
	}},
	{name: "trailers out: over 1.0", send: message("GET / HTTP/1.0"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A")
		put(o, w, "hello")
		w.Header().Set("X-A", "1")
	}},
	{name: "trailers out: HEAD over 1.0", play: []step{toHEAD(0), say(message("HEAD / HTTP/1.0")), hear(1)}, handle: answers(0, []string{"Trailer", "X-A"}, "hello")},
	{name: "trailers out: HEAD", play: head("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-A")
		put(o, w, "hello")
		w.Header().Set("X-A", "1")
	}},

	{name: "read from: a file", send: get("/"), handle: copyOf(func(o *observer) io.Reader { return o.file(large) })},
	{name: "read from: a file, with length", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1048576")
		copyOf(func(o *observer) io.Reader { return o.file(large) })(o, w, r)
	}},
	{name: "read from: a small file", send: get("/"), handle: copyOf(func(o *observer) io.Reader { return o.file("hello") })},
	{name: "read from: a file behind text", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "<html>")
		copyOf(func(o *observer) io.Reader { return o.file(large) })(o, w, r)
		put(o, w, "</html>")
	}},
	{name: "read from: a part of a file", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		f := o.file(large)
		_, err := f.Seek(500_000, io.SeekStart)
		o.err("seek", err)
		n, err := io.CopyN(w, f, 100_000)
		at, _ := f.Seek(0, io.SeekCurrent)
		o.note("%d, %s, file is at %d", n, describe(err), at)
	}},
	{name: "read from: a file longer than announced", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		copyOf(func(o *observer) io.Reader { return o.file("hello, world") })(o, w, r)
	}},
	{name: "read from: a file for HEAD", play: head("/"), handle: copyOf(func(o *observer) io.Reader { return o.file(large) })},
	{name: "read from: a file for 204", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(204)
		copyOf(func(o *observer) io.Reader { return o.file("hello") })(o, w, r)
	}},
	{name: "read from: a text", send: get("/"), handle: copyOf(func(*observer) io.Reader { return strings.NewReader(large[:50_000]) })},
	{name: "read from: nothing", send: get("/"), handle: copyOf(func(*observer) io.Reader { return strings.NewReader("") })},
	{name: "read from: a reader that fails", send: get("/"), handle: copyOf(func(*observer) io.Reader {
		return io.MultiReader(strings.NewReader("hello"), failing{})
	})},
	{name: "read from: a file that is closed", send: get("/"), handle: copyOf(func(o *observer) io.Reader {
		f := o.file("hello")
		f.Close()
		return onlyReader{f}
	})},
	{name: "write: by a bufio.Writer", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		b := bufio.NewWriterSize(w, 100)
		for range 50 {
			put(o, b, "0123456789")
		}
		o.err("flush", b.Flush())
	}},
}

func flushTwice(o *observer, w http.ResponseWriter, _ *http.Request) {
	put(o, w, "one")
	flush(w)
	put(o, w, "two")
}

// copyOf copies what a function opens to the answer.
func copyOf(open func(o *observer) io.Reader) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		src := open(o)
		n, err := io.Copy(w, src)
		o.note("%d copied, %s", n, describe(err))
		if c, ok := src.(io.Closer); ok {
			o.err("close", c.Close())
		}
	}
}

// file returns an open file with this content.
func (o *observer) file(content string) *os.File {
	name := filepath.Join(o.dir, "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		panic(err)
	}
	f, err := os.Open(name)
	if err != nil {
		panic(err)
	}
	return f
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

type onlyReader struct{ io.Reader }
