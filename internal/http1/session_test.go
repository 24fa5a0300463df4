package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// handlers are what most tests of the session ask for.
var handlers = pathHandler{
	"text":  func(x *exchange.Exchange) { x.Body = append(x.Body, "hello"...) },
	"path":  func(x *exchange.Exchange) { x.Body = append(x.Body, x.PathBytes()...) },
	"empty": func(*exchange.Exchange) {},
	"204":   func(x *exchange.Exchange) { x.Status, x.Body = 204, append(x.Body, "dropped"...) },
	"205":   func(x *exchange.Exchange) { x.Status, x.Body = 205, append(x.Body, "dropped"...) },
	"304":   func(x *exchange.Exchange) { x.Status = 304; must(x.Response.Set("ETag", `"e"`)) },
	"close": func(x *exchange.Exchange) { x.Response.Close = true },
	"sayclose": func(x *exchange.Exchange) {
		must(x.Response.Set("Connection", "x-option, Close"))
	},
	"echo": func(x *exchange.Exchange) {
		body, err := readContent(x)
		x.Body = append(x.Body, body...)
		for _, f := range x.Request.Trailers {
			x.Body = fmt.Appendf(x.Body, "|%s:%s", f.Name.In(x.TrailerBytes), f.Value.In(x.TrailerBytes))
		}
		if err != nil {
			x.Body = fmt.Appendf(x.Body, "|%v", err)
		}
	},
	"chunks": func(x *exchange.Exchange) {
		sent(x.Session.SendBody(x, []byte("ab")))
		x.Body = append(x.Body, "cd"...)
		sent(x.Session.SendBody(x, []byte("e")))
		x.Body = append(x.Body, "f"...)
	},
	"pieces": func(x *exchange.Exchange) {
		x.Response.Length = 4
		sent(x.Session.SendBody(x, []byte("ab")))
		sent(x.Session.SendBody(x, []byte("cd")))
	},
	"trailers": func(x *exchange.Exchange) {
		x.Body = append(x.Body, "ab"...)
		must(x.SetTrailer("A", "1"))
		must(x.SetTrailer("B", "2"))
	},
	"first": func(x *exchange.Exchange) {
		p := make([]byte, 1)
		if _, err := x.Session.ReadBody(x, p); err == nil {
			x.Body = append(x.Body, p...)
		}
	},
	"whole": func(x *exchange.Exchange) { x.Prebuilt = &prebuilt },
	"info": func(x *exchange.Exchange) {
		must(x.Response.Set("Link", "</a>"))
		sent(x.Session.SendInfo(x, 103))
		x.Response.Del("Link")
		x.Body = append(x.Body, "hello"...)
	},
	"own": func(x *exchange.Exchange) {
		must(x.Response.Set("Date", "Mon, 01 Jan 2001 00:00:00 GMT"))
		must(x.Response.Set("Server", "mine"))
	},
}

var prebuilt = exchange.Prebuilt{Status: 200, Body: []byte("abc")}

const whole = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

// sent is must for what a client may have left before.
func sent(err error) {
	if err != exchange.ErrGone {
		must(err)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func req(method, path, lines string) string {
	return method + " " + path + " HTTP/1.1\r\n" + host + lines + "\r\n"
}

func req10(method, path, lines string) string {
	return method + " " + path + " HTTP/1.0\r\n" + lines + "\r\n"
}

// behind is a request that must not be seen where it follows a last one.
var behind = req("GET", "/text", "")

var sessions = []struct {
	name, in, state, want string
}{
	// Keep-alive and Connection (RFC 9112, 9.3).
	{"one", req("GET", "/text", ""), "idle", answer(200, "", "hello")},
	{"pipelined", strings.Repeat(req("GET", "/text", ""), 5), "idle", strings.Repeat(answer(200, "", "hello"), 5)},
	{"in order", req("GET", "/path/a", "") + req("GET", "/path/b", "") + req("GET", "/empty", ""), "idle", answer(200, "", "/path/a") + answer(200, "", "/path/b") + answer(200, "", "")},
	{"repeated", strings.Repeat(req("GET", "/path/a", ""), 3) + strings.Repeat(req("GET", "/path/b", ""), 2) + req("GET", "/path/a", ""), "idle", strings.Repeat(answer(200, "", "/path/a"), 3) + strings.Repeat(answer(200, "", "/path/b"), 2) + answer(200, "", "/path/a")},
	{"repeated with content", strings.Repeat(req("POST", "/echo", "Content-Length: 2\r\n")+"ab", 2) + req("POST", "/echo", "Content-Length: 2\r\n") + "cd", "idle", strings.Repeat(answer(200, "", "ab"), 2) + answer(200, "", "cd")},
	{"repeated, then without its end", strings.Repeat(req("GET", "/text", ""), 2) + strings.TrimSuffix(req("GET", "/text", ""), "\r\n") + "A: b\r\n\r\n", "idle", strings.Repeat(answer(200, "", "hello"), 3)},
	{"client closes", req("GET", "/text", "Connection: close\r\n") + behind, "refused", answer(200, closes, "hello")},
	{"client closes at the end", req("GET", "/text", "Connection: x, close\r\n"), "closed", answer(200, closes, "hello")},
	{"handler closes", req("GET", "/close", "") + behind, "refused", answer(200, closes, "")},
	{"handler says close", req("GET", "/sayclose", "") + behind, "refused", "HTTP/1.1 200 OK\r\nConnection: x-option\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	{"1.0", req10("GET", "/text", "") + behind, "refused", answer10(200, "", "hello")},
	{"1.0 keep-alive", req10("GET", "/text", keeps) + req10("GET", "/text", ""), "closed", answer10(200, keeps, "hello") + answer10(200, "", "hello")},
	{"1.0 keep-alive and close", req10("GET", "/text", "Connection: keep-alive, close\r\n") + behind, "refused", answer10(200, "", "hello")},
	{"empty lines between", "\r\n" + req("GET", "/text", "") + "\r\n" + req("GET", "/text", ""), "idle", strings.Repeat(answer(200, "", "hello"), 2)},

	// HEAD and statuses without a body (RFC 9110, 6.4.1, 8.6).
	{"HEAD", req("HEAD", "/text", "") + req("GET", "/text", ""), "idle", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + answer(200, "", "hello")},
	{"HEAD chunked", req("HEAD", "/chunks", "") + req("GET", "/text", ""), "idle", "HTTP/1.1 200 OK\r\n\r\n" + answer(200, "", "hello")},
	{"HEAD announced", req("HEAD", "/pieces", "") + req("GET", "/text", ""), "idle", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + answer(200, "", "hello")},
	{"204", req("GET", "/204", "") + req("GET", "/text", ""), "idle", answer(204, "", "") + answer(200, "", "hello")},
	{"205", req("GET", "/205", "") + req("GET", "/text", ""), "idle", answer(205, "", "") + answer(200, "", "hello")},
	{"304", req("GET", "/304", "") + req("GET", "/text", ""), "idle", answer(304, "ETag: \"e\"\r\n", "") + answer(200, "", "hello")},
	{"CONNECT", "CONNECT h:1 HTTP/1.1\r\n" + host + "\r\n" + behind, "refused", answer(404, closes, "")},

	// Content (RFC 9112, 6 and 7).
	{"length", req("POST", "/echo", "Content-Length: 10\r\n") + "0123456789" + req("GET", "/text", ""), "idle", answer(200, "", "0123456789") + answer(200, "", "hello")},
	{"chunked", req("POST", "/echo", "Transfer-Encoding: chunked\r\n") + "4\r\nabcd\r\n0a;x=y\r\n0123456789\r\n0\r\n\r\n" + req("GET", "/text", ""), "idle", answer(200, "", "abcd0123456789") + answer(200, "", "hello")},
	{"trailers", req("POST", "/echo", "Transfer-Encoding: chunked\r\n") + "1\r\na\r\n0\r\nA: b\r\nCookie: dropped\r\nC: d\r\n\r\n" + req("GET", "/text", ""), "idle", answer(200, "", "a|A:b|C:d") + answer(200, "", "hello")},
	{"content not read", req("POST", "/text", "Content-Length: 10\r\n") + "0123456789" + req("GET", "/text", ""), "idle", strings.Repeat(answer(200, "", "hello"), 2)},
	{"chunks not read", req("POST", "/text", "Transfer-Encoding: chunked\r\n") + "4\r\nabcd\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n" + behind, "refused", answer(200, closes, "hello")},
	{"chunks not read to their end", req("POST", "/first", "Transfer-Encoding: chunked\r\n") + "4\r\nabcd\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n" + behind, "idle", answer(200, "", "a") + answer(200, "", "hello")},
	{"bad chunk", req("POST", "/echo", "Transfer-Encoding: chunked\r\n") + "1\r\na\r\n0x2\r\nab\r\n0\r\n\r\n" + behind, "refused", refused(400, "invalid chunk size")},
	{"bad chunk not read", req("POST", "/text", "Transfer-Encoding: chunked\r\n") + "1\r\na\r\n0x2\r\nab\r\n0\r\n\r\n" + behind, "refused", answer(200, closes, "hello")},
	{"refused", "GET / HTTP/1.1\r\n\r\n" + behind, "refused", refused(400, "missing Host")},
	{"refused behind", req("GET", "/text", "") + "GET /\r\n\r\n" + behind, "refused", answer(200, "", "hello") + refused(400, "invalid character in request target")},

	// Answers.
	{"chunks", req("GET", "/chunks", ""), "idle", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n1\r\nf\r\n0\r\n\r\n"},
	{"chunks to 1.0", req10("GET", "/chunks", keeps) + behind, "refused", "HTTP/1.0 200 OK\r\n\r\nabcdef"},
	{"pieces", req("GET", "/pieces", ""), "idle", answer(200, "", "abcd")},
	{"trailers sent", req("GET", "/trailers", ""), "idle", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A, B\r\n\r\n2\r\nab\r\n0\r\nA: 1\r\nB: 2\r\n\r\n"},
	{"trailers to 1.0", req10("GET", "/trailers", keeps), "idle", answer10(200, keeps, "ab")},
	{"trailers to HEAD", req("HEAD", "/trailers", ""), "idle", "HTTP/1.1 200 OK\r\n\r\n"},
	{"whole", req("GET", "/whole", "") + req("GET", "/text", ""), "idle", whole + answer(200, "", "hello")},
	{"whole HEAD", req("HEAD", "/whole", "") + req("GET", "/text", ""), "idle", whole[:len(whole)-3] + answer(200, "", "hello")},
	{"whole, closing", req("GET", "/whole", closes) + behind, "refused", answer(200, closes, "abc")},
	{"whole HEAD, closing", req("HEAD", "/whole", closes) + behind, "refused", strings.TrimSuffix(answer(200, closes, "abc"), "abc")},
	{"whole to 1.0", req10("GET", "/whole", ""), "closed", answer10(200, "", "abc")},
	{"whole to 1.0 keep-alive", req10("GET", "/whole", keeps) + req10("HEAD", "/whole", keeps), "idle", answer10(200, keeps, "abc") + strings.TrimSuffix(answer10(200, keeps, "abc"), "abc")},
	{"info", req("GET", "/info", ""), "idle", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(200, "", "hello")},
	{"info to 1.0", req10("GET", "/info", keeps), "idle", answer10(200, keeps, "hello")},
	{"own Date", req("GET", "/own", ""), "idle", "HTTP/1.1 200 OK\r\nServer: mine\r\nContent-Length: 0\r\n\r\n"},
	{"404", req("GET", "/nowhere", ""), "idle", answer(404, "", "")},

	// Expect (RFC 9110, 10.1.1).
	{"continue", req("POST", "/echo", "Expect: 100-continue\r\nContent-Length: 3\r\n") + "abc", "idle", "HTTP/1.1 100 Continue\r\n\r\n" + answer(200, "", "abc")},
	{"continue, not read", req("POST", "/text", "Expect: 100-continue\r\nContent-Length: 3\r\n") + "abc" + behind, "refused", answer(200, closes, "hello")},
	{"continue without content", req("POST", "/echo", "Expect: 100-continue\r\nContent-Length: 0\r\n"), "idle", answer(200, "", "")},
	{"other expectation", req("POST", "/echo", "Expect: x\r\nContent-Length: 0\r\n") + behind, "refused", refused(417, "unknown expectation")},
}

// TestSession feeds each input whole, a byte at a time, and in two pieces split
// everywhere. The client gets the same, up to 100 (Continue), which a client does
// not need that has sent its content already.
func TestSession(t *testing.T) {
	for _, c := range sessions {
		t.Run(c.name, func(t *testing.T) {
			const interim = "HTTP/1.1 100 Continue\r\n\r\n"
			check := func(pieces ...string) {
				t.Helper()
				m := newMem(t, handlers)
				m.send(pieces...)
				got := strings.ReplaceAll(m.answers(), interim, "")
				state := m.state()
				if state == "closed" && len(pieces) > 1 && len(m.pieces) > 0 {
					state = "refused" // what is behind has not arrived yet
				}
				if want := strings.ReplaceAll(c.want, interim, ""); got != want || state != c.state {
					t.Fatalf("%q:\n%q, %s, want\n%q, %s", pieces, got, m.state(), want, c.state)
				}
			}
			check(c.in)
			check(strings.Split(c.in, "")...)
			for i := 1; i < len(c.in); i++ {
				check(c.in[:i], c.in[i:])
			}
		})
	}
}

// TestOneWrite wants all answers of one feed in one write.
func TestOneWrite(t *testing.T) {
	m := newMem(t, handlers).send(strings.Repeat(req("GET", "/text", ""), 16))
	m.want("idle", strings.Repeat(answer(200, "", "hello"), 16))
	if len(m.writes) != 1 {
		t.Errorf("writes of %d bytes, want one", m.writes)
	}
}

// TestContinue sends 100 (Continue) when the handler first reads, and not to a
// client whose content is there.
func TestContinue(t *testing.T) {
	head := req("POST", "/echo", "Expect: 100-continue\r\nContent-Length: 3\r\n")
	newMem(t, handlers).send(head, "a", "bc").want("idle", "HTTP/1.1 100 Continue\r\n\r\n"+answer(200, "", "abc"))
	newMem(t, handlers).send(head+"a", "bc").want("idle", "HTTP/1.1 100 Continue\r\n\r\n"+answer(200, "", "abc"))
	newMem(t, handlers).send(head+"abc").want("idle", answer(200, "", "abc"))
	newMem(t, handlers).send(req10("POST", "/echo", keeps+"Expect: 100-continue\r\nContent-Length: 3\r\n"), "abc").want("idle", answer10(200, keeps, "abc"))
}

// TestCut ends connections whose client must not take what it gets for the whole.
func TestCut(t *testing.T) {
	h := pathHandler{
		"short": func(x *exchange.Exchange) { x.Response.Length, x.Body = 5, append(x.Body, "abcd"...) },
		"long":  func(x *exchange.Exchange) { x.Response.Length, x.Body = 3, append(x.Body, "abcd"...) },
		"none":  func(x *exchange.Exchange) { x.Response.Length = 3 },
		"shortpieces": func(x *exchange.Exchange) {
			x.Response.Length = 5
			must(x.Session.SendBody(x, []byte("abcd")))
		},
		"longpieces": func(x *exchange.Exchange) {
			x.Response.Length = 3
			must(x.Session.SendBody(x, []byte("abc")))
			if err := x.Session.SendBody(x, []byte("d")); err != exchange.ErrLength {
				t.Errorf("one byte too much: %v", err)
			}
		},
		"abort": func(x *exchange.Exchange) { x.Abort() },
		"abortpieces": func(x *exchange.Exchange) {
			must(x.Session.SendBody(x, []byte("abcd")))
			x.Abort()
		},
	}
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for path, want := range map[string]string{
		"/short":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
		"/long":        "",
		"/none":        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
		"/shortpieces": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
		"/abort":       "",
		"/abortpieces": chunked + "4\r\nabcd\r\n",
	} {
		newMem(t, h).send(req("GET", path, "")+behind).want("refused", want)
	}
	// Over HTTP/1.0 only a reset tells that the body is not complete.
	newMem(t, h).send(req10("GET", "/abortpieces", "")).want("cut", "HTTP/1.0 200 OK\r\n\r\nabcd")
	newMem(t, h).send(req("GET", "/longpieces", "")).want("idle", answer(200, "", "abc"))
}

// standing are handlers that answer as http.Handlers do, without a look at the content.
var standing = pathHandler{
	"text":   handlers["text"],
	"stands": func(x *exchange.Exchange) { x.Stands = true; handlers["text"](x) },
	"closes": func(x *exchange.Exchange) { x.Stands, x.Response.Close = true, true; handlers["text"](x) },
	"begins": func(x *exchange.Exchange) { x.Stands = true; sent(x.Session.SendBody(x, []byte("hello"))) },
}

// TestUnreadContent skips what is little and closes on what is much.
func TestUnreadContent(t *testing.T) {
	const size = skipMost - 1 // as in net/http
	body := strings.Repeat("x", size)
	post := func(n int) string { return req("POST", "/text", fmt.Sprintf("Content-Length: %d\r\n", n)) }
	two := strings.Repeat(answer(200, "", "hello"), 2)
	newMem(t, handlers).send(post(size), body[:size/2], body[size/2:], behind).want("idle", two)
	newMem(t, handlers).send(post(size+1), body+"x", behind).want("refused", answer(200, closes, "hello"))
	chunked := req("POST", "/text", "Transfer-Encoding: chunked\r\n")
	newMem(t, handlers).send(chunked, fmt.Sprintf("%x\r\n", size/2), body[:size/2], "\r\n0\r\n\r\n", behind).want("refused", answer(200, closes, "hello"))
	chunked = req("POST", "/first", "Transfer-Encoding: chunked\r\n")
	two = answer(200, "", "x") + answer(200, "", "hello")
	newMem(t, handlers).send(chunked, fmt.Sprintf("%x\r\n", size/2), body[:size/2], "\r\n0\r\n\r\n", behind).want("idle", two)
	newMem(t, handlers).send(chunked, fmt.Sprintf("%x\r\n", size+readAhead), body+body[:readAhead], "\r\n", behind).want("refused", answer(200, closes, "x"))
}

// TestAnswerWaits has the answer of an http.Handler wait for content that it has left
// unread, so that its client has sent all of it when it is answered. What the answer says
// about content that ends early tells whether the session waited for it.
func TestAnswerWaits(t *testing.T) {
	post := func(path string, n int, lines string) string {
		return req("POST", path, fmt.Sprintf("Content-Length: %d\r\n%s", n, lines)) + "ab"
	}
	for name, c := range map[string]struct{ in, state, want string }{
		"http.Handler":          {post("/stands", 5, ""), "refused", answer(200, closes, "hello")},
		"native handler":        {post("/text", 5, ""), "open", answer(200, "", "hello")},
		"as much as is skipped": {post("/stands", skipMost+2, ""), "refused", answer(200, closes, "hello")},
		"more than is skipped":  {post("/stands", skipMost+3, ""), "refused", answer(200, closes, "hello")},
		"client closes":         {post("/stands", 5, closes), "refused", answer(200, closes, "hello")},
		"handler closes":        {post("/closes", 5, ""), "refused", answer(200, closes, "hello")},
		"client expects 100":    {post("/stands", 5, "Expect: 100-continue\r\n"), "refused", answer(200, closes, "hello")},
		"answer has begun":      {post("/begins", 5, ""), "open", chunkedHead + "5\r\nhello\r\n0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			newMem(t, standing).send(c.in).want(c.state, c.want)
		})
	}
	whole := post("/stands", 5, "")
	two := answer(200, "", "hello") + answer(200, "", "hello")
	newMem(t, standing).send(whole+"cde"+behind).want("idle", two)
	newMem(t, standing).send(whole, "cd", "e", behind).want("idle", two)
}

// TestReadAhead gives back what was read behind chunked content.
func TestReadAhead(t *testing.T) {
	head := req("POST", "/echo", "Transfer-Encoding: chunked\r\n")
	two := answer(200, "", "ab") + answer(200, "", "hello")
	newMem(t, handlers).send(head, "2\r\nab\r\n0\r\n\r\n"+behind).want("idle", two)
	newMem(t, handlers).send(head, "2\r\na", "b\r\n0\r\n\r\n"+behind[:5], behind[5:]).want("idle", two)

	partly := pathHandler{"echo": func(x *exchange.Exchange) {
		if _, err := x.Session.ReadBody(x, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}, "text": handlers["text"]}
	newMem(t, partly).send(head, "2\r\nab\r\n0\r\n\r\n"+behind).want("idle", answer(200, "", "")+answer(200, "", "hello"))
	newMem(t, partly).send(head, "2\r\na", "b\r\n0\r\n\r\n"+behind).want("idle", answer(200, "", "")+answer(200, "", "hello"))
}

// TestBrokenContent answers for content that ends early or does not come, unless
// the handler has done so.
func TestBrokenContent(t *testing.T) {
	head := req("POST", "/echo", "Content-Length: 10\r\n")
	newMem(t, handlers).send(head+"abc").want("refused", refused(400, "connection ended within the content"))
	m := newMem(t, handlers)
	m.ended = transport.ErrDeadline
	m.send(head+"abc").want("refused", refused(408, "content did not come in time"))

	own := pathHandler{"echo": func(x *exchange.Exchange) {
		_, err := readContent(x)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("content ends early: %v", err)
		}
		x.Status = 422
	}}
	newMem(t, own).send(head+"abc").want("refused", answer(422, closes, ""))

	large := pathHandler{"echo": func(x *exchange.Exchange) {
		if _, err := readContent(x); !errors.Is(err, exchange.ErrBodyTooLong) {
			t.Errorf("content beyond the limit: %v", err)
		}
	}}
	limit := func(c *exchange.Config) { c.Limits.MaxBodyBytes = 4 }
	newMem(t, large, limit).send(req("POST", "/echo", "Transfer-Encoding: chunked\r\n")+"5\r\nabcde\r\n0\r\n\r\n"+behind).
		want("refused", refused(413, "content too large"))
	newMem(t, large, limit).send(head).want("refused", refused(413, "content too large"))
}

// TestRefusals answers each refusal of the parser with its status, tells who
// listens, and parses nothing behind it.
func TestRefusals(t *testing.T) {
	seen := map[Code]bool{}
	for _, in := range []string{
		"G@T / HTTP/1.1\r\n", "GET /\x01 HTTP/1.1\r\n", "GET * HTTP/1.1\r\n", "GET /%4 HTTP/1.1\r\n", "GET / HTTP/1,1\r\n",
		strings.Repeat("M", 40) + " / HTTP/1.1\r\n", "GET / HTTP/2.0\r\n", "\r\n\r\n\r\n\r\n\r\n", "GET / HTTP/1.1\r\rA",
		req("GET", "/text", "A: b\r\n c\r\n"), req("GET", "/text", "A : b\r\n"), req("GET", "/text", "A: \x00\r\n"),
		req("GET", "/text", strings.Repeat("A: b\r\n", 200)), req("GET", "/text", "A: "+strings.Repeat("b", 70000)+"\r\n"),
		"GET /" + strings.Repeat("a", 70000) + " HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r\n", req("GET", "/text", host), "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
		req("POST", "/text", "Content-Length: +1\r\n"), req("POST", "/text", "Content-Length: 1\r\nContent-Length: 1\r\n"),
		req("POST", "/text", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), req("POST", "/text", "Transfer-Encoding: chunked, chunked\r\n"),
		req10("POST", "/text", "Transfer-Encoding: chunked\r\n"), req("POST", "/text", "Transfer-Encoding: gzip\r\n"),
		req("GET", "/text", "Connection: a b\r\n"), req("POST", "/text", "Expect: y\r\n"), req("POST", "/text", "Content-Length: 99999999999\r\n"),
	} {
		var p Parser
		p.Init(exchange.Limits{})
		_, code := p.Parse(new(exchange.Request), []byte(in))
		seen[code] = true
		told := 0
		m := newMem(t, handlers, func(c *exchange.Config) {
			c.Refused = func(_ net.Addr, status int, reason string) {
				told++
				if status != code.Status() || reason != code.String() {
					t.Errorf("%.60q: told %d %q, want %d %q", in, status, reason, code.Status(), code)
				}
			}
		})
		m.send(in+behind, behind)
		m.want("refused", refused(code.Status(), code.String()))
		if told != 1 {
			t.Errorf("%.60q: told %d times", in, told)
		}
	}
	for code := ErrMethod; code < ErrChunkSize; code++ {
		if !seen[code] {
			t.Errorf("%q is not tested", code)
		}
	}
}
