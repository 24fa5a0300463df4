package http2

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// literal encodes fields as they are, in whatever case.
func literal(fields ...string) (b []byte) {
	length := func(n int) {
		if n < 127 {
			b = append(b, byte(n))
			return
		}
		b = append(b, 127)
		for n -= 127; n >= 128; n >>= 7 {
			b = append(b, byte(n)|128)
		}
		b = append(b, byte(n))
	}
	for i, s := range fields {
		if i%2 == 0 {
			b = append(b, 0)
		}
		length(len(s))
		b = append(b, s...)
	}
	return b
}

// TestMalformed answers requests that violate RFC 9113, 8, and resets their streams: what HTTP/1.1 would
// read differently, a proxy could be made to pass on. The connection lives.
func TestMalformed(t *testing.T) {
	ok, id := request("GET", "/"), uint32(1)
	without := func(name string) (f []string) {
		for i := 0; i < len(ok); i += 2 {
			if ok[i] != name {
				f = append(f, ok[i], ok[i+1])
			}
		}
		return f
	}
	with := func(more ...string) []string { return append(ok[:len(ok):len(ok)], more...) }
	p := newPeer(t, 1, routes{})
	for name, fields := range map[string][]string{
		"upper case":               with("X-A", "b"),
		"name with a space":        with("a b", "c"),
		"name with a colon":        with("a:b", "c"),
		"name with CR LF":          with("a\r\nb", "c"),
		"no name":                  with("", "c"),
		"value with CR":            with("a", "b\rc"),
		"value with LF":            with("a", "b\nc: d"),
		"value with NUL":           with("a", "b\x00"),
		"value begins blank":       with("a", " b"),
		"value ends blank":         with("a", "b\t"),
		"connection":               with("connection", "close"),
		"keep-alive":               with("keep-alive", "1"),
		"proxy-connection":         with("proxy-connection", "x"),
		"transfer-encoding":        with("transfer-encoding", "chunked"),
		"upgrade":                  with("upgrade", "h2c"),
		"te":                       with("te", "trailers, gzip"),
		"two hosts":                with("host", "h", "host", "h"),
		"host against :authority":  with("host", "i"),
		"no method":                without(":method"),
		"no scheme":                without(":scheme"),
		"no path":                  without(":path"),
		"two methods":              with(":method", "GET"),
		"two paths":                with(":path", "/"),
		"two authorities":          with(":authority", "h"),
		"unknown pseudo field":     append([]string{":x", "y"}, ok...),
		"status":                   append([]string{":status", "200"}, ok...),
		"pseudo field at the end":  append(without(":path"), "a", "b", ":path", "/"),
		"empty path":               append(without(":path"), ":path", ""),
		"path without slash":       append(without(":path"), ":path", "x"),
		"absolute path":            append(without(":path"), ":path", "http://h/"),
		"star for GET":             append(without(":path"), ":path", "*"),
		"scheme with a slash":      append(without(":scheme"), ":scheme", "http://evil/"),
		"empty scheme":             append(without(":scheme"), ":scheme", ""),
		"method with a space":      append(without(":method"), ":method", "GET / HTTP/1.1"),
		"method with CR LF":        append(without(":method"), ":method", "GET\r\nX: y"),
		"empty method":             append(without(":method"), ":method", ""),
		"path with CR LF":          append(without(":path"), ":path", "/\r\nX: y"),
		"content-length +":         with("content-length", "+5"),
		"content-length list":      with("content-length", "0, 0"),
		"content-length empty":     with("content-length", ""),
		"content-length overflows": with("content-length", "18446744073709551616"),
		"content-lengths differ":   with("content-length", "0", "content-length", "1"),
		"content without any":      with("content-length", "1"),
		"CONNECT with a path":      {":method", "CONNECT", ":authority", "h:1", ":path", "/", ":scheme", "http"},
		"CONNECT without host":     {":method", "CONNECT"},
		":protocol with GET":       append([]string{":protocol", "websocket"}, ok...),
		":protocol without path":   {":method", "CONNECT", ":authority", "h:1", ":protocol", "x"},
	} {
		p.frame(frameHeaders, flagEndHeaders|flagEndStream, id, literal(fields...))
		if r := p.whole(id); !r.reset || r.code != ProtocolError || r.status != "400" || r.ended {
			t.Errorf("%s: %q, reset %v %v", name, r.status, r.reset, r.code)
		}
		id += 2
	}
	p.alive(id)
	p.close()
}

// TestRefused answers requests that are understood and not served, and the connection lives.
func TestRefused(t *testing.T) {
	large := strings.Repeat("x", 15<<10)
	for _, c := range []struct {
		name, status string
		fields       []string
	}{
		{"no authority", "400", []string{":method", "GET", ":scheme", "http", ":path", "/"}},
		{"empty authority", "400", []string{":method", "GET", ":scheme", "http", ":authority", "", ":path", "/"}},
		{"empty host", "400", []string{":method", "GET", ":scheme", "http", ":path", "/", "host", ""}},
		{"user", "400", []string{":method", "GET", ":scheme", "http", ":authority", "u@h", ":path", "/"}},
		{"authority with a path", "400", []string{":method", "GET", ":scheme", "http", ":authority", "h/x", ":path", "/"}},
		{"space", "400", request("GET", "/a b")},
		{"fragment", "400", request("GET", "/a#b")},
		{"escape", "400", request("GET", "/%zz")},
		{"CONNECT without port", "400", []string{":method", "CONNECT", ":authority", "h"}},
		{"long target", "414", request("GET", "/"+strings.Repeat("a", 9000))},
		{"expectation", "417", request("GET", "/", "expect", "200-ok")},
		{"list too long", "431", request("GET", "/", "a", large)},
		{"too many fields", "431", request("GET", "/", strings.Split(strings.Repeat("a,b,", 200)+"a,b", ",")...)},
	} {
		p := newPeer(t, 2, routes{}, func(cfg *exchange.Config) { cfg.Limits.MaxHeadBytes, cfg.Limits.MaxTargetBytes = 12<<10, 8<<10 })
		p.frame(frameHeaders, flagEndHeaders|flagEndStream, 1, literal(c.fields...))
		if r := p.whole(1); r.status != c.status {
			t.Errorf("%s: %q, reset %v %v", c.name, r.status, r.reset, r.code)
		}
		p.alive(3)
		p.close()
	}
}

// TestWholeHead judges a head when all of it is known: an expectation that is not met does not hide a
// fault behind it, and Host is compared with :authority by what both mean.
func TestWholeHead(t *testing.T) {
	authority := func(scheme, authority, host string) []string {
		return []string{":method", "GET", ":scheme", scheme, ":authority", authority, ":path", "/", "host", host}
	}
	for i, c := range []struct {
		status string
		fields []string
	}{
		{"400", request("GET", "/", "expect", "x", "connection", "close")},
		{"400", []string{":scheme", "http", ":authority", "h", ":path", "/", "expect", "x"}},
		{"400", request("GET", "/a b", "expect", "x")},
		{"417", request("GET", "/", "expect", "100-continue", "expect", "x")},
		{"200", request("GET", "/", "expect", "100-Continue")},
		{"200", authority("http", "localhost", "LOCALHOST:80")},
		{"200", authority("HTTPS", "Localhost:443", "localhost")},
		{"400", authority("https", "localhost", "localhost:80")},
		{"400", authority("http", "localhost", "localhost:8080")},
	} {
		p := newPeer(t, uint64(i), routes{})
		p.frame(frameHeaders, flagEndHeaders|flagEndStream, 1, literal(c.fields...))
		if r := p.whole(1); r.status != c.status {
			t.Errorf("%q: %q, reset %v %v, want %s", c.fields, r.status, r.reset, r.code, c.status)
		}
		p.alive(3)
		p.close()
	}
}

// TestRequest is what a handler sees of a head.
func TestRequest(t *testing.T) {
	got := make(chan []string, 1)
	p := newPeer(t, 3, exchangeFunc(func(x *exchange.Exchange) {
		var l []string
		for _, f := range x.Fields {
			l = append(l, string(f.Name.In(x.Head))+": "+string(f.Value.In(x.Head)))
		}
		got <- append(l, string(x.MethodBytes()), string(x.PathBytes()), string(x.QueryBytes()), string(x.AuthorityBytes()), x.Version.String())
	}), func(cfg *exchange.Config) { cfg.ExtendedConnect = true })
	for i, c := range []struct{ fields, want []string }{
		{
			request("GET", "/a?b=c", "cookie", "a=1", "x", "y", "cookie", "b=2", "te", "trailers"),
			[]string{"cookie: a=1; b=2", "x: y", "te: trailers", "host: h", "GET", "/a", "b=c", "h", "HTTP/2.0"},
		},
		{
			[]string{":method", "CONNECT", ":authority", "h:1"},
			[]string{"host: h:1", "CONNECT", "", "", "h:1", "HTTP/2.0"},
		},
		{
			[]string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":path", "/chat", ":authority", "h"},
			[]string{":protocol: websocket", "host: h", "CONNECT", "/chat", "", "h", "HTTP/2.0"},
		},
		{
			[]string{":method", "OPTIONS", ":scheme", "https", ":path", "*", "host", "h"},
			[]string{"host: h", "OPTIONS", "*", "", "h", "HTTP/2.0"},
		},
	} {
		id := uint32(2*i + 1)
		p.frame(frameHeaders, flagEndHeaders|flagEndStream, id, literal(c.fields...))
		p.whole(id)
		if l := <-got; strings.Join(l, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q, want %q", l, c.want)
		}
	}
	p.close()
}

// exchangeFunc is a handler.
type exchangeFunc func(*exchange.Exchange)

func (f exchangeFunc) ServeExchange(x *exchange.Exchange) { f(x) }

// TestContentLength compares the announced length with the content (RFC 9113, 8.1.1).
func TestContentLength(t *testing.T) {
	p := newPeer(t, 4, routes{"/read": func(x *exchange.Exchange) {
		text, err := content(x)
		if err != nil {
			x.Abort()
		}
		x.Body = append(x.Body, text...)
	}})
	post := func(id uint32, length string) {
		p.headers(id, false, request("POST", "/read", "content-length", length)...)
	}
	post(1, "5")
	p.data(1, true, "hello").want(1, "200", "hello")
	post(3, "5")
	p.data(3, true, "hell").wantReset(3, ProtocolError)
	post(5, "5")
	p.data(5, false, "hello!").wantReset(5, ProtocolError)
	post(7, "0")
	p.data(7, true, "").want(7, "200", "")
	post(9, "0")
	p.data(9, true, "x").wantReset(9, ProtocolError)
	post(11, "5")
	p.data(11, false, "hell").headers(11, true, "a", "b").wantReset(11, ProtocolError)
	p.alive(13)
	p.close()
}

// TestTrailers takes the fields after the content, and refuses those that must not be there.
func TestTrailers(t *testing.T) {
	p := newPeer(t, 5, routes{"/read": func(x *exchange.Exchange) {
		if _, early := x.FindTrailer("x-sum"); early {
			x.Abort()
		}
		_, _ = content(x)
		v, _ := x.FindTrailer("x-sum")
		x.Body = append(append(x.Body[:0], "sum "...), v...)
	}})
	id := uint32(1)
	for _, c := range []struct {
		fields []string
		end    bool
		code   Code
	}{
		{[]string{"x-sum", "1"}, true, NoError},
		{[]string{"x-sum", "1", "authorization", "x"}, true, NoError}, // dropped
		{[]string{"x-sum", "1"}, false, ProtocolError},
		{[]string{":path", "/"}, true, ProtocolError},
		{[]string{"X-Sum", "1"}, true, ProtocolError},
		{[]string{"content-length", "0"}, true, ProtocolError},
		{[]string{"transfer-encoding", "chunked"}, true, ProtocolError},
		{[]string{"host", "h"}, true, ProtocolError},
		{[]string{"a", "b\r\n"}, true, ProtocolError},
		{[]string{"a", strings.Repeat("b", 9000)}, true, ProtocolError},
	} {
		p.headers(id, false, request("POST", "/read")...).data(id, false, "x")
		flags := byte(flagEndHeaders)
		if c.end {
			flags |= flagEndStream
		}
		p.frame(frameHeaders, flags, id, literal(c.fields...))
		if c.code == NoError {
			p.want(id, "200", "sum 1")
		} else {
			p.wantReset(id, c.code)
		}
		id += 2
	}
	p.alive(id)
	p.close()
}
