package nethttptest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// bodyTrials are about how a handler reads content.
var bodyTrials = []trial{
	{name: "body: comes in pieces", handle: look, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 10") + "01"), pass("called"), say("234"), say("56789"), hear(1)}},
	{name: "body: read as it comes", handle: readAsItComes, play: []step{
		say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 6") + "ab"), pass("read ab"), say("cd"), pass("read cd"), say("ef"), hear(1),
	}},
	{name: "body: chunks read as they come", handle: readAsItComes, play: []step{
		say(postCoded("/", encode("ab"))), pass("read ab"), say(encode("cd")), pass("read cd"), say(encode("ef") + "0\r\n\r\n"), hear(1),
	}},
	{name: "body: small reads", send: post("/", "0123456789"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		for range 6 {
			p := make([]byte, 3)
			n, err := io.ReadFull(r.Body, p)
			o.note("%q, %s", p[:n], describe(err))
		}
	}},
	{name: "body: reads behind the end", send: post("/", "hello"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		o.read(r.Body)
		n, err := r.Body.Read(nil)
		o.note("%d, %s", n, describe(err))
	}},
	{name: "body: none, read", send: get("/"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		n, err := r.Body.Read(make([]byte, 10))
		o.note("%d, %s, closed: %s", n, describe(err), describe(r.Body.Close()))
	}},
	{name: "body: closed before it is read", send: post("/", "hello"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.err("close", r.Body.Close())
		o.err("close again", r.Body.Close())
		o.read(r.Body)
	}},
	{name: "body: closed behind its end", send: post("/", "hello"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		o.err("close", r.Body.Close())
		o.read(r.Body)
	}},
	{name: "body: closed halfway", send: post("/", "hello") + get("/next"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		p := make([]byte, 2)
		_, err := io.ReadFull(r.Body, p)
		o.note("%s %q %s", r.URL.Path, p, describe(err))
		o.err("close", r.Body.Close())
		o.read(r.Body)
	}},
	{name: "body: closed, with trailers", send: postCoded("/", encode("hello")+"0\r\nX-T: v\r\n\r\n", "Trailer: X-T") + get("/next"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("close", r.Body.Close())
		o.note("%s trailer %q", r.URL.Path, r.Trailer.Get("X-T"))
	}},
	{name: "body: closed, the rest comes late", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.pass("called")
		o.err("close", r.Body.Close())
		o.note("closed")
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), pass("called"), say("llo"), hear(1)}},
	{name: "body: closed, much is left", send: post("/", large[:300_000]) + get("/next"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("close", r.Body.Close())
	}},
	{name: "body: closed, much is left in chunks", send: postChunked("/", large[:300_000]) + get("/next"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("close", r.Body.Close())
	}},
	{name: "body: replaced by the handler", send: post("/", "hello"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader("other"))
		o.read(r.Body)
		put(o, w, "ok")
	}},
	{name: "body: 1 MiB", send: post("/", large), handle: lengthOfContent},
	{name: "body: 1 MiB chunked", send: postChunked("/", large[:1000], large[1000:600_000], large[600_000:]), handle: lengthOfContent},
	{name: "body: WriterTo and copies", differs: &readable, send: post("/", large[:100_000]), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		_, is := r.Body.(io.WriterTo)
		n, err := io.Copy(w, r.Body)
		o.note("writer to %v, %d bytes, %s", is, n, describe(err))
	}},
	{name: "body: client closes its half early", differs: &ends, handle: look, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 10") + "01234"), pass("called"), half()}},
	{name: "body: client closes its half within a chunk", handle: look, play: []step{say(postCoded("/", "a\r\n01234")), pass("called"), half()}},
	{name: "body: client closes its half between chunks", handle: look, play: []step{say(postCoded("/", encode("01234"))), pass("called"), half()}},
	{name: "body: client is gone", handle: readUntilGone, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 10") + "01234"), pass("called"), reset()}},

	{name: "unread: small", send: post("/a", "hello"), handle: text("ok")},
	{name: "unread: small, comes late", handle: text("ok"), play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), pass("called"), say("llo"), hear(1)}},
	{name: "unread: chunked", send: postChunked("/a", "hello"), handle: text("ok")},
	{name: "unread: 200 KiB", send: post("/a", large[:200<<10]), handle: text("ok")},
	{name: "unread: a byte less than 256 KiB", send: post("/a", large[:256<<10-1]) + get("/next"), handle: text("ok")},
	{name: "unread: 256 KiB", send: post("/a", large[:256<<10]) + get("/next"), handle: text("ok")},
	{name: "unread: 1 MiB", send: post("/a", large), handle: text("ok")},
	{name: "unread: announced to be huge", send: message("POST / HTTP/1.1", "Host: h", "Content-Length: 100000000"), handle: text("ok")},
	{name: "unread: 1 MiB chunked", send: postChunked("/a", large[:1<<19], large[1<<19:]), handle: text("ok")},
	{name: "unread: 300 KB, large answer", differs: &unread, send: post("/a", large[:300_000]), handle: answers(0, nil, large[:200_000])},
	{name: "unread: 300 KB, large answer, flushed", differs: &unread, send: post("/a", large[:300_000]), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, large[:50_000])
		flush(w)
		put(o, w, large[50_000:200_000])
	}},
	{name: "unread: 1 MiB, answer of 1 MiB", differs: &unread, send: post("/a", large), handle: answers(0, nil, large)},
	{name: "unread: half of it", send: post("/a", "0123456789") + get("/b"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		p := make([]byte, 5)
		n, err := r.Body.Read(p)
		o.note("%s: %q, %s", r.URL.Path, p[:n], describe(err))
	}},
	{name: "unread: with Connection: close", send: post("/a", "hello", closing), handle: text("ok")},

	{name: "after the handler: content is closed", handle: readAfterwards, play: []step{say(post("/", "hello")), hear(1), open("answered"), pass("read")}},
	{name: "after the handler: content was read", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		readAfterwards(o, w, r)
	}, play: []step{say(post("/", "hello")), hear(1), open("answered"), pass("read")}},
	{name: "after the handler: no content", handle: readAfterwards, play: []step{say(get("/")), hear(1), open("answered"), pass("read")}},

	{name: "expect: content is read", handle: look, play: []step{say(expecting("5")), hearInfo(1), say("hello"), hear(1)}},
	{name: "expect: chunked content is read", handle: look, play: []step{
		say(message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue", "Transfer-Encoding: chunked")), hearInfo(1), say(encode("hello") + "0\r\n\r\n"), hear(1),
	}},
	{name: "expect: in capitals", handle: look, play: []step{
		say(message("POST / HTTP/1.1", "Host: h", "Expect: 100-Continue", "Content-Length: 5")), hearInfo(1), say("hello"), hear(1),
	}},
	{name: "expect: content is not read", send: expecting("5"), handle: text("no, thanks")},
	{name: "expect: content is not read, comes anyway", send: expecting("5") + "hello", handle: text("no, thanks")},
	{name: "expect: content is read, came already", send: expecting("5") + "hello", handle: look},
	{name: "expect: a part of the content is read, came already", send: expecting("5") + "hello", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		n, err := r.Body.Read(make([]byte, 3))
		o.note("%d, %s", n, describe(err))
	}},
	{name: "expect: chunked content is read except for its end, already received", differs: &ends, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		n, err := io.ReadFull(r.Body, make([]byte, 5))
		o.note("%d, %s", n, describe(err))
	}, send: message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue", "Transfer-Encoding: chunked") + encode("hello") + "0\r\n\r\n"},
	{name: "expect: content is closed", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.open("called")
		o.err("close", r.Body.Close())
		put(o, w, "ok")
	}, play: []step{say(expecting("5")), pass("called"), say("hello"), hear(1)}},
	{name: "expect: no content", send: message("GET / HTTP/1.1", "Host: h", "Expect: 100-continue"), handle: look},
	{name: "expect: length of zero", send: message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue", "Content-Length: 0"), handle: look},
	{name: "expect: over 1.0", send: message("POST / HTTP/1.0", "Expect: 100-continue", "Content-Length: 5") + "hello", handle: look},
	{name: "expect: something else", send: message("POST / HTTP/1.1", "Host: h", "Expect: 200-ok", "Content-Length: 5") + "hello", handle: look},
	{name: "expect: empty", send: message("POST / HTTP/1.1", "Host: h", "Expect:", "Content-Length: 5") + "hello", handle: look},
	{name: "expect: empty elements", send: message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue,", "Content-Length: 5") + "hello", handle: look},
	{name: "expect: two things", differs: &strict, refuses: "417 unknown expectation", send: message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue, x", "Content-Length: 5") + "hello", handle: look},
	{name: "expect: answered first, read later", differs: &continues, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		put(o, w, "first")
		o.open("called")
		o.read(r.Body)
	}, play: []step{say(expecting("5")), pass("called"), say("hello"), hear(1)}},
	{name: "expect: 100 sent by the handler", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusContinue)
		o.read(r.Body)
		put(o, w, "ok")
	}, play: []step{say(expecting("5")), hearInfo(1), say("hello"), hear(1)}},
	{name: "expect: refused with 413", send: expecting("5"), handle: func(_ *observer, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	}},
}

// large is 1 MiB that does not repeat where it may be cut.
var large = func() string {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return string(b)
}()

// expecting is the head of a request whose client waits before it sends content.
func expecting(length string) string {
	return message("POST / HTTP/1.1", "Host: h", "Expect: 100-continue", "Content-Length: "+length)
}

// readAsItComes opens a gate for each two bytes.
func readAsItComes(o *observer, _ http.ResponseWriter, r *http.Request) {
	p := make([]byte, 2)
	for {
		n, err := io.ReadFull(r.Body, p)
		o.note("%q, %s", p[:n], describe(err))
		if err != nil {
			return
		}
		o.open("read " + string(p))
	}
}

func lengthOfContent(o *observer, _ http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	o.note("%d bytes, %d announced, right %v, %s", len(b), r.ContentLength, bytes.Equal(b, []byte(large)), describe(err))
}

// readUntilGone wants an error, whichever of them the client's leaving is.
func readUntilGone(o *observer, _ http.ResponseWriter, r *http.Request) {
	o.open("called")
	b, err := io.ReadAll(r.Body)
	o.note("%q, an error %v", b, err != nil)
	o.await(r.Context().Done(), "the context's end")
	o.err("context", r.Context().Err())
}

// readAfterwards has a goroutine read the content when the answer is complete.
func readAfterwards(o *observer, w http.ResponseWriter, r *http.Request) {
	put(o, w, "ok")
	o.begin()
	go func() {
		defer o.end()
		defer o.open("read")
		o.pass("answered")
		n, err := r.Body.Read(make([]byte, 10))
		o.note("%d, %s", n, describe(err))
	}()
}
