package nethttptest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// over2 is a trial over HTTP/2 whose script is sent at once, and which waits for one answer.
func over2(name string, handle func(o *observer, w http.ResponseWriter, r *http.Request), frames ...string) trial {
	return play2(name, handle, raw(frames...), hear(1))
}

// play2 is a trial over HTTP/2.
func play2(name string, handle func(o *observer, w http.ResponseWriter, r *http.Request), steps ...step) trial {
	return trial{name: prefix2 + name, http2: true, handle: handle, play: steps}
}

// request2 is a request of these fields alone.
func request2(fields ...string) string { return heads(1, flagEnd, fields...) }

// get2 is a request with more fields.
func get2(fields ...string) string { return asks(1, "GET", "/", fields...) }

// frameTrials are scripts of frames.
func frameTrials() []trial {
	all := slices.Concat(headTrials2, contentTrials2, connTrials2, windowTrials2, resetTrials2, deadlineTrials2)
	for i := range all {
		all[i].differs = reasonOver2(strings.TrimPrefix(all[i].name, prefix2))
	}
	return all
}

// quiet reads the content and does not say what it was: it may not even be called.
func quiet(_ *observer, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, "ok") // the stream may have ended
}

// noPath2 is a trial whose target is no path.
func noPath2(tr trial) trial {
	tr.noPath = true
	return tr
}

// headTrials2 are about the head of a request.
var headTrials2 = []trial{
	over2("head: get", look, get2("x-a", "b", "accept", "*/*")),
	over2("head: CONTINUATION", look, frame(frameHeaders, flagEnd, 1, block(usual("GET", "/")...))+frame(frameContinuation, 0, 1, "")+frame(frameContinuation, flagWhole, 1, block("x-a", "b"))),
	over2("head: padded, with priority", look, frame(frameHeaders, flagEnd|flagWhole|flagPadded|flagPriority, 1, "\x03"+word(0)+"\x10"+block(usual("GET", "/")...)+"\x00\x00\x00")),
	over2("head: cookies in several fields", look, get2("cookie", "a=b", "x-a", "1", "cookie", "c=d", "cookie", "e=f; g=h")),
	over2("head: fields several times", look, get2("x-a", "1", "x-a", "2", "x-a", "")),
	over2("head: Host and no :authority", look, request2(":method", "GET", ":scheme", "http", ":path", "/", "host", "other")),
	over2("head: Host equal to :authority", look, get2("host", "h")),
	over2("head: Host other than :authority", look, get2("host", "other")),
	over2("head: Host equal to :authority but for case and port", look, request2(":method", "GET", ":scheme", "http", ":authority", "LocalHost:80", ":path", "/", "host", "localhost")),
	over2("head: Host twice", look, get2("host", "h", "host", "h")),
	over2("head: neither Host nor :authority", look, request2(":method", "GET", ":scheme", "http", ":path", "/")),
	over2("head: empty :authority", look, request2(":method", "GET", ":scheme", "http", ":authority", "", ":path", "/")),
	over2("head: :authority with user", look, request2(":method", "GET", ":scheme", "http", ":authority", "u@h", ":path", "/")),
	over2("head: :authority with space", look, request2(":method", "GET", ":scheme", "http", ":authority", "a b", ":path", "/")),
	over2("head: :authority with port", look, request2(":method", "GET", ":scheme", "http", ":authority", "H:8080", ":path", "/")),
	over2("head: scheme of TLS", look, request2(":method", "GET", ":scheme", "https", ":authority", "h", ":path", "/")),
	over2("head: scheme of its own", look, request2(":method", "GET", ":scheme", "ftp", ":authority", "h", ":path", "/")),
	over2("head: empty scheme", look, request2(":method", "GET", ":scheme", "", ":authority", "h", ":path", "/")),
	over2("head: no :method", look, request2(":scheme", "http", ":authority", "h", ":path", "/")),
	over2("head: no :scheme", look, request2(":method", "GET", ":authority", "h", ":path", "/")),
	over2("head: no :path", look, request2(":method", "GET", ":scheme", "http", ":authority", "h")),
	over2("head: empty :path", look, request2(":method", "GET", ":scheme", "http", ":authority", "h", ":path", "")),
	over2("head: :path without slash", look, asks(1, "GET", "a")),
	over2("head: :path in absolute form", look, asks(1, "GET", "http://h/a")),
	over2("head: :path with fragment", look, asks(1, "GET", "/a#b")),
	over2("head: :path with space", look, asks(1, "GET", "/a b")),
	over2("head: :path with bad escape", look, asks(1, "GET", "/%zz")),
	over2("head: :path beyond ASCII", look, asks(1, "GET", "/\xc3\xa9")),
	over2("head: :path twice", look, get2(":path", "/")),
	over2("head: :path twice at the front", look, request2(":path", "/", ":path", "/", ":method", "GET", ":scheme", "http")),
	over2("head: pseudo field after a field", look, request2(":method", "GET", ":scheme", "http", "x-a", "b", ":path", "/", ":authority", "h")),
	over2("head: unknown pseudo field", look, request2(append([]string{":x", "y"}, usual("GET", "/")...)...)),
	over2("head: pseudo field of responses", look, request2(append([]string{":status", "200"}, usual("GET", "/")...)...)),
	over2("head: method is no token", look, asks(1, "G T", "/")),
	over2("head: empty method", look, asks(1, "", "/")),
	over2("head: method in lower case", look, asks(1, "get", "/")),
	over2("head: name in upper case", look, get2("X-A", "b")),
	over2("head: empty name", look, get2("", "b")),
	over2("head: name with space", look, get2("x a", "b")),
	over2("head: value with line feed", look, get2("x-a", "b\nc")),
	over2("head: value with NUL", look, get2("x-a", "b\x00c")),
	over2("head: value with control character", look, get2("x-a", "b\x01c")),
	over2("head: value with spaces around it", look, get2("x-a", " b ")),
	over2("head: value beyond ASCII", look, get2("x-a", "\xc3\xa9\xff")),
	over2("head: connection", look, get2("connection", "close")),
	over2("head: keep-alive", look, get2("keep-alive", "x")),
	over2("head: proxy-connection", look, get2("proxy-connection", "x")),
	over2("head: transfer-encoding", look, get2("transfer-encoding", "chunked")),
	over2("head: upgrade", look, get2("upgrade", "x")),
	over2("head: te: trailers", look, get2("te", "trailers")),
	over2("head: te: gzip", look, get2("te", "gzip")),
	over2("head: te twice", look, get2("te", "trailers", "te", "trailers")),
	over2("head: unknown expectation", look, get2("expect", "x")),
	over2("head: 300 KiB", look, get2("x-a", strings.Repeat("v", 300<<10))),
	over2("head: 100 KiB", look, get2("x-a", strings.Repeat("v", 100<<10))),
	over2("head: 200 fields", lookBriefly, get2(strings.Split(strings.Repeat("x-a,b,", 199)+"x-a,b", ",")...)),
	over2("head: path of 80 KiB", lookBriefly, asks(1, "GET", "/"+strings.Repeat("p", 80<<10))),
	over2("head: HEAD", answers(0, nil, "hello"), asks(1, "HEAD", "/")),
	noPath2(over2("head: OPTIONS *", look, asks(1, "OPTIONS", "*"))),
	over2("head: GET *", look, asks(1, "GET", "*")),
	over2("head: PRI *", look, asks(1, "PRI", "*")),
	noPath2(over2("connect: to an authority", look, request2(":method", "CONNECT", ":authority", "example.org:443"))),
	noPath2(over2("connect: without port", look, request2(":method", "CONNECT", ":authority", "example.org"))),
	over2("connect: with :path", look, asks(1, "CONNECT", "/")),
	over2("connect: without :authority", look, request2(":method", "CONNECT")),
	noPath2(over2("connect: with content", look, heads(1, 0, ":method", "CONNECT", ":authority", "example.org:443")+finishes(1, "hello"))),
	over2("connect: extended", look, request2(":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "h", ":path", "/")),
	over2("connect: :protocol without CONNECT", look, request2(":method", "GET", ":protocol", "websocket", ":scheme", "http", ":authority", "h", ":path", "/")),
	over2("connect: :protocol without :path", look, request2(":method", "CONNECT", ":protocol", "websocket", ":authority", "h")),
}

// contentTrials2 are about content and trailers.
var contentTrials2 = []trial{
	over2("content: with length", look, opens(1, "/", "content-length", "5")+finishes(1, "hello")),
	over2("content: without length", look, opens(1, "/")+data(1, "hel")+finishes(1, "lo")),
	over2("content: ended by an empty frame", look, opens(1, "/", "content-length", "5")+data(1, "hello")+finishes(1, "")),
	over2("content: empty", look, opens(1, "/")+finishes(1, "")),
	over2("content: empty, with length", look, opens(1, "/", "content-length", "0")+finishes(1, "")),
	over2("content: length zero and none", look, get2("content-length", "0")),
	over2("content: padded", look, opens(1, "/")+frame(frameData, flagEnd|flagPadded, 1, "\x03hello\x00\x00\x00")),
	over2("content: longer than announced", quiet, opens(1, "/", "content-length", "3")+finishes(1, "hello")),
	over2("content: shorter than announced", quiet, opens(1, "/", "content-length", "9")+finishes(1, "hello")),
	over2("content: announced and none", look, get2("content-length", "5")),
	over2("content: announced as zero, comes", quiet, opens(1, "/", "content-length", "0")+finishes(1, "hello")),
	over2("content: length is no number", quiet, opens(1, "/", "content-length", "five")+finishes(1, "hello")),
	over2("content: negative length", quiet, opens(1, "/", "content-length", "-5")+finishes(1, "hello")),
	over2("content: equal lengths twice", look, opens(1, "/", "content-length", "5", "content-length", "5")+finishes(1, "hello")),
	over2("content: lengths that differ", quiet, opens(1, "/", "content-length", "5", "content-length", "6")+finishes(1, "hello")),
	over2("content: trailers, announced", look, opens(1, "/", "trailer", "x-a, x-b")+data(1, "hello")+heads(1, flagEnd, "x-a", "1", "x-b", "2")),
	over2("content: trailers, not announced", look, opens(1, "/")+data(1, "hello")+heads(1, flagEnd, "x-a", "1")),
	over2("content: trailers, announced and not sent", look, opens(1, "/", "trailer", "x-a")+finishes(1, "hello")),
	over2("content: trailers, forbidden ones announced", look, opens(1, "/", "trailer", "content-length, x-a")+data(1, "hello")+heads(1, flagEnd, "x-a", "1")),
	over2("content: trailers with content-length", quiet, opens(1, "/")+data(1, "hello")+heads(1, flagEnd, "content-length", "5")),
	over2("content: trailers with pseudo field", quiet, opens(1, "/")+data(1, "hello")+heads(1, flagEnd, ":path", "/")),
	over2("content: trailers in upper case", quiet, opens(1, "/")+data(1, "hello")+heads(1, flagEnd, "X-A", "1")),
	over2("content: trailers that do not end", quiet, opens(1, "/")+data(1, "hello")+heads(1, 0, "x-a", "1")),
	over2("content: trailers alone", look, opens(1, "/", "trailer", "x-a")+heads(1, flagEnd, "x-a", "1")),
	over2("content: trailers, too little content", quiet, opens(1, "/", "content-length", "9")+data(1, "hello")+heads(1, flagEnd, "x-a", "1")),
	play2("content: comes in parts", readAsItComes, raw(opens(1, "/"), data(1, "ab")), pass("read ab"), raw(data(1, "cd")), pass("read cd"), raw(finishes(1, "ef")), hear(1)),
	play2("content: expected, and read", look, raw(opens(1, "/", "expect", "100-continue")), hearInfo(1), raw(finishes(1, "hello")), hear(1)),
	over2("content: expected, not read", text("no, thanks"), opens(1, "/", "expect", "100-continue")),
	over2("content: expected, came already", look, opens(1, "/", "expect", "100-continue")+finishes(1, "hello")),
	over2("content: not read", text("ok"), opens(1, "/")+finishes(1, large[:60_000])),
	over2("content: not read, more is to come", text("ok"), opens(1, "/")+data(1, "hello")),
	play2("content: not read, comes afterwards", text("ok"), raw(opens(1, "/")), hear(1), raw(data(1, "hello"), finishes(1, "")), raw(asks(3, "GET", "/")), hear(2)),
	over2("content: MaxBytesReader", func(o *observer, w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 3)
		look(o, w, r)
	}, opens(1, "/", "content-length", "5")+finishes(1, "hello")),
	over2("content: MaxBytesReader, more is to come", func(o *observer, w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 3)
		look(o, w, r)
	}, opens(1, "/")+data(1, "hello")),
	over2("content: closed, then read", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("close", r.Body.Close())
		o.read(r.Body)
		put(o, w, "ok")
	}, opens(1, "/")+data(1, "hello")),
	over2("content: read deadline", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("deadline", http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.short())))
		o.read(r.Body)
		put(o, w, "ok")
	}, opens(1, "/")+data(1, "hello")),
	play2("content: echoed as it comes", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("full duplex", http.NewResponseController(w).EnableFullDuplex())
		p := make([]byte, 10)
		for {
			n, err := r.Body.Read(p)
			put(o, w, string(p[:n]))
			flush(w)
			if err == io.EOF {
				return
			}
		}
	}, raw(opens(1, "/")), raw(data(1, "ab")), hearText("ab"), raw(data(1, "cd")), hearText("abcd"), raw(finishes(1, "")), hear(1)),
}
