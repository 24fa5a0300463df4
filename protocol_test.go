package redline_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

const (
	hostLine  = "Host: h\r\n"
	chunkHead = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	getHead   = "GET / HTTP/1.1\r\nHost: h\r\n"
	postHead  = "POST / HTTP/1.1\r\nHost: h\r\n"
	smuggled  = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
)

// malformed are requests that other servers got wrong: each is answered with the
// status, the connection is closed, and nothing behind it is taken for a request.
var malformed = []struct {
	ref    string
	in     string
	status int
}{
	{"CVE-2025-22871: bare LF ends a chunk line", chunkHead + "5\nhello\r\n0\r\n\r\n", 400},
	{"fasthttp#1899: bare LF in a chunk extension", chunkHead + "5;a\nb\r\nhello\r\n0\r\n\r\n", 400},
	{"fasthttp#2165: bare CR in a chunk extension", chunkHead + "5;a\rb\r\nhello\r\n0\r\n\r\n", 400},
	{"fasthttp#2165: LF ends the last chunk", chunkHead + "0\n\n", 400},
	{"CVE-2023-39326: huge extensions on one-byte chunks", chunkHead + strings.Repeat("1;"+strings.Repeat("x", 200)+"\r\na\r\n", 200) + "0\r\n\r\n", 400},
	{"hyper#3495: one huge extension", chunkHead + "1;" + strings.Repeat("x", 20000) + "\r\na\r\n0\r\n\r\n", 400},
	{"golang/go#64517: empty chunk size", chunkHead + "\r\nhello\r\n0\r\n\r\n", 400},
	{"hyper#3494: only an extension", chunkHead + ";a=b\r\nhello\r\n0\r\n\r\n", 400},
	{"picohttpparser#78: 0_2e", chunkHead + "0_2e\r\n", 400},
	{"picohttpparser#78: 0x2", chunkHead + "0x2\r\nab\r\n0\r\n\r\n", 400},
	{"picohttpparser#78: space behind the size", chunkHead + "2 \r\nab\r\n0\r\n\r\n", 400},
	{"picohttpparser#78: space before the size", chunkHead + " 2\r\nab\r\n0\r\n\r\n", 400},
	{"RFC 9112, 7.1: chunk longer than its size", chunkHead + "2\r\nabc\r\n0\r\n\r\n", 400},
	{"CVE-2021-32714: chunk size overflows", chunkHead + "fffffffffffffffff\r\n", 400},
	{"fasthttp#2343: chunk size overflows to a small one", chunkHead + "10000000000000005\r\nhello\r\n0\r\n\r\n", 400},
	{"fasthttp#2343: negative chunk size", chunkHead + "-5\r\nhello\r\n0\r\n\r\n", 400},
	{"CVE-2021-32714: Content-Length overflows", postHead + "Content-Length: 18446744073709551621\r\n\r\nhello", 400},

	{"CVE-2021-32715: +5", postHead + "Content-Length: +5\r\n\r\nhello", 400},
	{"CVE-2021-32715: -0", postHead + "Content-Length: -0\r\n\r\n", 400},
	{"golang/go#61679: empty Content-Length", postHead + "Content-Length:\r\n\r\n", 400},
	{"CVE-2021-32715: 5, 5", postHead + "Content-Length: 5, 5\r\n\r\nhello", 400},
	{"CVE-2021-32715: 5, 6", postHead + "Content-Length: 5, 6\r\n\r\nhello", 400},
	{"h2o#3396: lengths that differ", postHead + "Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello", 400},
	{"h2o#3396: lengths that differ, the other order", postHead + "Content-Length: 50\r\nContent-Length: 5\r\n\r\nhello", 400},
	{"h2o#3396: lengths that agree", postHead + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
	{"hertz#1490, RFC 9112, 6.1: length, then coding", postHead + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"fasthttp#2190, hyper#4124: coding, then length", postHead + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
	{"fasthttp#2303: unknown coding", postHead + "Transfer-Encoding: blegh\r\n\r\n", 501},
	{"RUSTSEC-2020-0008: chunked twice", postHead + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400},
	{"RUSTSEC-2020-0008: two fields", postHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	{"fasthttp#2330: identity", postHead + "Transfer-Encoding: identity\r\n\r\n", 400},
	{"fasthttp#2330: chunked is not last", postHead + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400},
	{"fasthttp#2330: vertical tab before chunked", postHead + "Transfer-Encoding: \x0bchunked\r\n\r\n", 400},
	{"RFC 9112, 6.1: coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},

	{"CVE-2019-16276: space before the colon", getHead + "A : b\r\n\r\n", 400},
	{"CVE-2019-16276: tab before the colon", postHead + "Content-Length\t: 5\r\n\r\nhello", 400},
	{"fasthttp#2187: empty name", getHead + ": b\r\n\r\n", 400},
	{"golang/go#65244: no colon", getHead + "A\r\n\r\n", 400},
	{"golang/go#65244: NUL in a name", getHead + "A\x00: b\r\n\r\n", 400},
	{"golang/go#65244: NUL in a value", getHead + "A: b\x00c\r\n\r\n", 400},
	{"golang/go#65244: CR in a value", getHead + "A: b\rc\r\n\r\n", 400},
	{"golang/go#65244: LF in a value", getHead + "A: b\nC: d\r\n\r\n", 400},
	{"golang/go#65244: LF ends the head", getHead + "A: b\n\n", 400},
	{"RFC 9112, 5.2: folded line", getHead + "A: b\r\n c\r\n\r\n", 400},
	{"RFC 9112, 2.2: whitespace before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},

	{"fasthttp#2164: two Hosts", getHead + "Host: i\r\n\r\n", 400},
	{"fasthttp#2164: the same Host twice", getHead + hostLine + "\r\n", 400},
	{"fasthttp#2167: no Host", "GET / HTTP/1.1\r\n\r\n", 400},
	{"RFC 9112, 3.2: Host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", 400},
	{"RFC 9112, 3.2: Host with userinfo", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400},
	{"fasthttp#2168: CRs in the version", "GET / HTTP/\r\r1.1\r\n" + hostLine + "\r\n", 400},
	{"fasthttp#2168: HTTP/1.10", "GET / HTTP/1.10\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 2.3: lower case", "GET / http/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 2.3: HTTP/01.1", "GET / HTTP/01.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 2.3: HTTP/3", "GET / HTTP/3\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 2.3: HTTP/3.0", "GET / HTTP/3.0\r\n" + hostLine + "\r\n", 505},
	{"RFC 9113, 3.4: the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
	{"RFC 9112, 3: two spaces", "GET  / HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3: no version", "GET /\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2: fragment", "GET /#a HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2: broken escape", "GET /%zz HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2: relative", "GET a/b HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2.2: absolute form with userinfo", "GET http://u:p@h/ HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2.2: absolute form of another scheme", "GET ftp://h/ HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2.3: authority form without CONNECT", "GET h:80 HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2.3: CONNECT without a port", "CONNECT h HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9112, 3.2.4: asterisk without OPTIONS", "GET * HTTP/1.1\r\n" + hostLine + "\r\n", 400},
	{"RFC 9110, 10.1.1: unknown expectation", postHead + "Expect: more\r\nContent-Length: 5\r\n\r\nhello", 417},

	{"fasthttp#2188: empty trailer name", chunkHead + "0\r\n: b\r\n\r\n", 400},
	{"fasthttp#2188: space before a trailer's colon", chunkHead + "0\r\nA : b\r\n\r\n", 400},
	{"fasthttp#2301: NUL in a trailer", chunkHead + "0\r\nA: \x00\r\n\r\n", 400},
	{"fasthttp#2301: folded trailer", chunkHead + "0\r\nA: b\r\n c\r\n\r\n", 400},
	{"RFC 9110, 6.5.1: Content-Length in trailers", chunkHead + "0\r\nContent-Length: 5\r\n\r\n", 400},
	{"RFC 9110, 6.5.1: Transfer-Encoding in trailers", chunkHead + "0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	{"RFC 9110, 6.5.1: Host in trailers", chunkHead + "0\r\nHost: evil\r\n\r\n", 400},
}

// counted is a server whose handler reads all content, and counts what must not
// be seen.
func counted(t *testing.T, transport redline.Transport, limits redline.Limits) (r *running, smuggled *atomic.Int64) {
	smuggled = new(atomic.Int64)
	return serve(t, &redline.Server{Transport: transport, Limits: limits, Native: func(c *redline.Ctx) {
		if c.Path() == "/smuggled" {
			smuggled.Add(1)
		}
		n, err := io.Copy(io.Discard, c.Body())
		c.Text(200, fmt.Sprint(n, err))
	}}), smuggled
}

// wantRefusal wants one answer with the status, saying that the connection closes,
// and the end.
func wantRefusal(t *testing.T, ref string, c *client, status int) {
	t.Helper()
	all, err := io.ReadAll(c.r)
	if errors.Is(err, syscall.ECONNRESET) && time.Since(c.began) > lingers {
		t.Logf("%s: this client took %v, too long to be waited for: %v", ref, time.Since(c.began), err)
		err = nil
		if len(all) == 0 {
			return
		}
	}
	if err != nil {
		t.Errorf("%s: client reads %.100q, %v", ref, all, err)
		return
	}
	in := bufio.NewReader(strings.NewReader(string(all)))
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Errorf("%s: %.100q: %v", ref, all, err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	rest, _ := io.ReadAll(in)
	if resp.StatusCode != status || !resp.Close || len(rest) > 0 {
		t.Errorf("%s: status %d (%.60q), closes %v, behind it %.60q; want %d alone", ref, resp.StatusCode, body, resp.Close, rest, status)
	}
}

func TestMalformed(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, seen := counted(t, transport, redline.Limits{})
		for i, m := range malformed {
			for j, in := range [][]string{{m.in + smuggled}, {m.in, smuggled}, {m.in[:len(m.in)/2], m.in[len(m.in)/2:] + smuggled}} {
				if slower > 1 && !turn(transport, i+j) {
					continue // the race detector finds nothing in bytes
				}
				c := r.dial()
				for _, part := range in {
					if _, err := io.WriteString(c.Conn, part); err != nil {
						break // it has been answered
					}
				}
				wantRefusal(t, m.ref, c, m.status)
				c.Close()
			}
		}
		if n := seen.Load(); n > 0 {
			t.Errorf("%d smuggled requests were seen", n)
		}
		r.dial().want("/", "0 <nil>")
	})
}

// TestWellFormed takes what looks odd and is right.
func TestWellFormed(t *testing.T) {
	cases := []struct{ ref, in, path string }{
		{"RFC 9112, 2.2: an empty line first", "\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n", "/a"},
		{"RFC 9112, 3.2.2: absolute form", "GET http://other/a?b HTTP/1.1\r\nHost: h\r\n\r\n", "/a"},
		{"RFC 9112, 3.2.4: asterisk form", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "*"},
		{"RFC 9112, 3.2: empty Host", "GET /a HTTP/1.1\r\nHost:\r\n\r\n", "/a"},
		{"RFC 9110, 5.5: obs-text in a value", "GET /a HTTP/1.1\r\nHost: h\r\nA: \xff\r\n\r\n", "/a"},
		{"RFC 9110, 9.1: any method", "BREW /a HTTP/1.1\r\nHost: h\r\n\r\n", "/a"},
		{"RFC 9112, 7.1.1: quoted extension", "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n1;a=\"\\\"\"\r\nx\r\n0\r\n\r\n", "/a"},
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			noError(t, second(io.Copy(io.Discard, c.Body())))
			c.Text(200, c.Path())
		}})
		for _, m := range cases {
			c := r.dial()
			c.send("%s", m.in+smuggled)
			if status, body := c.answer(); status != 200 || body != m.path {
				t.Errorf("%s: %d %q", m.ref, status, body)
			}
			if status, body := c.answer(); status != 200 || body != "/smuggled" {
				t.Errorf("%s: what follows: %d %q", m.ref, status, body)
			}
		}
	})
}
