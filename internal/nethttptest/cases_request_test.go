package nethttptest

import (
	"fmt"
	"net/http"
	"strings"
)

// requestTrials are about what a handler learns of a request's line and fields.
var requestTrials = []trial{
	{name: "request: get", handle: look, send: get("/a/b?c=d&c=e", "X-A: b", "Accept: */*", "User-Agent: x/1 (y)")},
	{name: "request: 1.0 without host", handle: look, send: message("GET /a HTTP/1.0")},
	{name: "request: 1.0 with host", handle: look, send: message("GET /a HTTP/1.0", "Host: example.org")},
	{name: "request: method of its own", handle: look, send: message("BREW /pot HTTP/1.1", "Host: h")},
	{name: "request: method in lower case", handle: look, send: message("get / HTTP/1.1", "Host: h")},
	{name: "request: methods", handle: look, play: []step{
		toHEAD(5),
		say(message("PUT /a HTTP/1.1", "Host: h", "Content-Length: 1") + "a"), hear(1),
		say(message("PATCH /a HTTP/1.1", "Host: h", "Content-Length: 0")), hear(2),
		say(message("DELETE /a HTTP/1.1", "Host: h")), hear(3),
		say(message("TRACE /a HTTP/1.1", "Host: h")), hear(4),
		say(message("PROPFIND /a HTTP/1.1", "Host: h")), hear(5),
		say(message("HEAD /a HTTP/1.1", "Host: h")), hear(6),
	}},
	{name: "request: method is no token", send: message("G(T / HTTP/1.1", "Host: h")},

	// Targets.
	{name: "target: absolute form", handle: look, send: message("GET http://other.example:8080/a?b=c HTTP/1.1", "Host: h")},
	{name: "target: absolute form of https", handle: look, send: message("GET https://other.example/a HTTP/1.1", "Host: h")},
	{name: "target: absolute form without path", handle: look, send: message("GET http://other.example HTTP/1.1", "Host: h")},
	{name: "target: absolute form with query alone", handle: look, send: message("GET http://other.example?q HTTP/1.1", "Host: h")},
	{name: "target: absolute form with user", differs: &strict, refuses: "400 request target does not fit the method", handle: look, send: message("GET http://u:p@other.example/a HTTP/1.1", "Host: h")},
	{name: "target: absolute form of another scheme", differs: &strict, refuses: "400 request target does not fit the method", handle: look, send: message("GET ftp://other.example/a HTTP/1.1", "Host: h")},
	{name: "target: absolute form over 1.0", handle: look, send: message("GET http://other.example/a HTTP/1.0")},
	{name: "target: OPTIONS *", noPath: true, handle: look, send: message("OPTIONS * HTTP/1.1", "Host: h")},
	{name: "target: OPTIONS * with content", noPath: true, handle: look, send: message("OPTIONS * HTTP/1.1", "Host: h", "Content-Length: 5") + "hello"},
	{
		name: "target: OPTIONS * for the handler", noPath: true, handle: look, send: message("OPTIONS * HTTP/1.1", "Host: h"),
		fields: func(_ *observer, s *http.Server) { s.DisableGeneralOptionsHandler = true },
	},
	{name: "target: OPTIONS of a path", handle: look, send: message("OPTIONS /a HTTP/1.1", "Host: h")},
	{name: "target: GET *", differs: &strict, refuses: "400 request target does not fit the method", handle: look, send: message("GET * HTTP/1.1", "Host: h")},
	{name: "target: CONNECT", noPath: true, differs: &noBody, handle: look, send: message("CONNECT example.org:443 HTTP/1.1", "Host: example.org:443")},
	{name: "target: CONNECT to a path", differs: &noBody, handle: look, send: message("CONNECT /_goRPC_ HTTP/1.1", "Host: h")},
	{name: "target: CONNECT without port", differs: &strict, refuses: "400 request target does not fit the method", handle: look, send: message("CONNECT example.org HTTP/1.1", "Host: example.org")},
	{name: "target: escaped slash", handle: look, send: get("/a%2Fb/%41%20c")},
	{name: "target: escapes in lower case", handle: look, send: get("/a%2fb%c3%a9")},
	{name: "target: escaped percent", handle: look, send: get("/a%252Fb")},
	{name: "target: needless escapes", handle: look, send: get("/%61%7E%2d")},
	{name: "target: reserved characters", handle: look, send: get("/a;b=c,d:e@f!$&'()*+=")},
	{name: "target: characters that want escapes", handle: look, send: get("/a|b^c`{d}\"<e>\\")},
	{name: "target: brackets", handle: look, send: get("/a[0]")},
	{name: "target: bad escape", handle: look, send: get("/a%zz")},
	{name: "target: truncated escape", handle: look, send: get("/a%2")},
	{name: "target: escaped NUL", handle: look, send: get("/a%00b")},
	{name: "target: bytes beyond ASCII", differs: &strict, refuses: "400 invalid character in request target", handle: look, send: get("/\xc3\xa9\xff")},
	{name: "target: control character", handle: look, send: get("/a\x01b")},
	{name: "target: DEL", handle: look, send: get("/a\x7fb")},
	{name: "target: space", handle: look, send: get("/a b")},
	{name: "target: two spaces around", handle: look, send: message("GET  /a  HTTP/1.1", "Host: h")},
	{name: "target: no slash", handle: look, send: get("a")},
	{name: "target: empty", handle: look, send: message("GET  HTTP/1.1", "Host: h")},
	{name: "target: two slashes", handle: look, send: get("//a//b")},
	{name: "target: dots", handle: look, send: get("/a/../b/./c/..")},
	{name: "target: fragment", differs: &strict, refuses: "400 invalid character in request target", handle: look, send: get("/a#b")},
	{name: "target: colon in the first segment", handle: look, send: get("/a:b/c")},
	{name: "query: empty", handle: look, send: get("/?")},
	{name: "query: odd bytes", handle: look, send: get("/?a=%zz&b=;c='\"<>|\\^`{}[]&&=&d")},
	{name: "query: bytes beyond ASCII", handle: look, send: get("/?a=\xc3\xa9\xff")},
	{name: "query: question marks and fragment", differs: &strict, refuses: "400 invalid character in request target", handle: look, send: get("/?a?b=c?#d")},
	{name: "query: slashes and dots", handle: look, send: get("/?/../a//b")},
	{name: "query: parsed", send: get("/?a=1&a=2&b=%41+c&d;e=f&%zz=1&g"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.note("query %q", r.URL.Query())
		o.err("ParseForm", r.ParseForm())
		o.note("form %q, post form %q", r.Form, r.PostForm)
		o.note("a %q, b %q", r.FormValue("a"), r.FormValue("b"))
	}},

	// Versions and what surrounds a request.
	{name: "version: 1.2", differs: &minor, handle: look, send: message("GET / HTTP/1.2", "Host: h")},
	{name: "version: 1.10", handle: look, send: message("GET / HTTP/1.10", "Host: h")},
	{name: "version: 2.0", handle: look, send: message("GET / HTTP/2.0", "Host: h")},
	{name: "version: 0.9", handle: look, send: "GET /\r\n\r\n"},
	{name: "version: in lower case", handle: look, send: message("GET / http/1.1", "Host: h")},
	{name: "version: HTTP/2 with prior knowledge", noPath: true, handle: look, send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{name: "version: TLS to a plain port", handle: look, send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	{name: "empty line first", differs: &emptyLines, handle: look, send: "\r\n" + get("/a")},
	{name: "empty line between requests", differs: &emptyLines, handle: look, play: []step{say(get("/a")), hear(1), say("\r\n" + get("/b")), hear(2)}},

	// Host.
	{name: "host: missing", handle: look, send: message("GET / HTTP/1.1")},
	{name: "host: empty", handle: look, send: message("GET / HTTP/1.1", "Host:")},
	{name: "host: twice", handle: look, send: message("GET / HTTP/1.1", "Host: a", "Host: b")},
	{name: "host: twice over 1.0", handle: look, send: message("GET / HTTP/1.0", "Host: a", "Host: b")},
	{name: "host: with port", handle: look, send: message("GET / HTTP/1.1", "Host: EXAMPLE.org:8080")},
	{name: "host: IPv6", handle: look, send: message("GET / HTTP/1.1", "Host: [::1]:80")},
	{name: "host: with space", handle: look, send: message("GET / HTTP/1.1", "Host: a b")},
	{name: "host: with user", handle: look, send: message("GET / HTTP/1.1", "Host: user@h")},
	{name: "host: with slash", handle: look, send: message("GET / HTTP/1.1", "Host: h/x")},
	{name: "host: beyond ASCII", handle: look, send: message("GET / HTTP/1.1", "Host: \xc3\xa9")},
	{name: "host: bad port", differs: &strict, refuses: "400 invalid Host", handle: look, send: message("GET / HTTP/1.1", "Host: h:port")},
	{name: "host: absolute form wins over a bad field", handle: look, send: message("GET http://a/ HTTP/1.1", "Host: b c")},

	// Fields.
	{name: "fields: canonical names", handle: look, send: get("/", "x-lower-case: 1", "X-UPPER: 2", "x_under: 3", "etag: 4", "www-authenticate: 5", "X--Y: 6", "a: 7")},
	{name: "fields: names of odd tokens", handle: look, send: get("/", "!#$%&'*+-.^_`|~: x", "123: y")},
	{name: "fields: several of a name", handle: look, send: get("/", "X-A: 1", "X-B: 2", "x-a: 3", "X-A: 1, 2")},
	{name: "fields: several of a known name", handle: look, send: get("/", "Accept: a", "Accept: b", "Cookie: a=b", "Cookie: c=d")},
	{name: "fields: white space around values", handle: look, send: get("/", "A:b", "C:   d  ", "E:\tf\t", "G:", "H: ", "I: j  k\tl")},
	{name: "fields: bytes beyond ASCII", handle: look, send: get("/", "X-A: \xc3\xa9\xff\x80")},
	{name: "fields: control character in value", handle: look, send: get("/", "X-A: a\x01b")},
	{name: "fields: NUL in value", handle: look, send: get("/", "X-A: a\x00b")},
	{name: "fields: CR in value", handle: look, send: get("/", "X-A: a\rb")},
	{name: "fields: space before colon", handle: look, send: get("/", "X-A : a")},
	{name: "fields: space in name", handle: look, send: get("/", "X A: a")},
	{name: "fields: name beyond ASCII", handle: look, send: get("/", "X-\xc3\xa9: a")},
	{name: "fields: no colon", handle: look, send: get("/", "X-A")},
	{name: "fields: empty name", handle: look, send: get("/", ": a")},
	{name: "fields: folded", differs: &strict, refuses: "400 folded field line", handle: look, send: get("/", "X-A: a", " b")},
	{name: "fields: first line folded", handle: look, send: message("GET / HTTP/1.1", " X-A: a", "Host: h")},
	{name: "fields: bare line feeds", differs: &strict, refuses: "400 invalid HTTP version", handle: look, send: "GET / HTTP/1.1\nHost: h\nX-A: b\n\n"},
	{name: "fields: one bare line feed", differs: &strict, refuses: "400 line not ended by CRLF", handle: look, send: "GET / HTTP/1.1\r\nHost: h\nX-A: b\r\n\r\n"},
	{name: "fields: Pragma stands for Cache-Control", handle: look, send: get("/", "Pragma: no-cache")},
	{name: "fields: Pragma beside Cache-Control", handle: look, send: get("/", "Pragma: no-cache", "Cache-Control: max-age=1")},
	{name: "fields: Pragma of another kind", handle: look, send: get("/", "Pragma: other, no-cache")},
	{name: "fields: that are asked of the connection", handle: look, send: get("/", "Connection: Keep-Alive, X-A", "Keep-Alive: timeout=5", "X-A: b", "TE: trailers", "Upgrade: h2c", "Proxy-Connection: x")},
	{name: "fields: as many as are allowed", handle: lookBriefly, send: get("/", many(127)...)},
	{name: "fields: more than Redline allows", differs: &bounds, refuses: "431 too many fields", handle: lookBriefly, send: get("/", many(200)...)},
	{name: "fields: value of 8 KiB", handle: look, send: get("/", "X-A: "+strings.Repeat("a", 8<<10))},
	{
		name: "fields: more bytes than MaxHeaderBytes", handle: look, send: get("/", "X-A: "+strings.Repeat("a", 64<<10)),
		fields: func(_ *observer, s *http.Server) { s.MaxHeaderBytes = 8 << 10 },
	},
	{
		name: "fields: target longer than MaxHeaderBytes", differs: &bounds, refuses: "414 request target too long", handle: look, send: get("/" + strings.Repeat("a", 64<<10)),
		fields: func(_ *observer, s *http.Server) { s.MaxHeaderBytes = 8 << 10 },
	},
	{
		name: "fields: within a larger MaxHeaderBytes", handle: look, send: get("/", "X-A: "+strings.Repeat("a", 100<<10)),
		fields: func(_ *observer, s *http.Server) { s.MaxHeaderBytes = 200 << 10 },
	},
	{name: "fields: target of 40,000 bytes", handle: lookBriefly, send: get("/?" + strings.Repeat("a=1&", 10_000))},
	{name: "fields: 100 KiB where nothing is said", differs: &bounds, refuses: "431 header section too large", handle: look, send: get("/", "X-A: "+strings.Repeat("a", 100<<10))},

	{name: "accessors", send: get("/?q=1", "Cookie: a=1; b=\"2 3\"; c", "Cookie: a=4", "Referer: http://x/y", "User-Agent: z", "Authorization: Basic dTpw"), handle: accessors},
	{name: "cookies: odd ones", send: get("/", "Cookie: =x; a b=c; ok=1; ok=2; d=\"; e=,; f=\\; ;; g"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		for _, c := range r.Cookies() {
			o.note("cookie %q %q quoted %v", c.Name, c.Value, c.Quoted)
		}
		o.note("ok: %v", r.CookiesNamed("ok"))
	}},
	{name: "clone and edit", send: post("/a?b=c", "content", "X-A: b"), handle: cloneAndEdit},
}

func many(n int) (fields []string) {
	for i := range n {
		fields = append(fields, fmt.Sprintf("X-%d: %d", i, i))
	}
	return fields
}

func accessors(o *observer, _ http.ResponseWriter, r *http.Request) {
	for _, c := range r.Cookies() {
		o.note("cookie %q %q", c.Name, c.Value)
	}
	a, err := r.Cookie("a")
	o.note("cookie a: %v, %s", a, describe(err))
	_, err = r.Cookie("none")
	o.err("cookie none", err)
	o.note("referer %q, agent %q, at least 1.1 %v", r.Referer(), r.UserAgent(), r.ProtoAtLeast(1, 1))
	user, password, ok := r.BasicAuth()
	o.note("user %q, password %q, %v", user, password, ok)
	o.note("url %s, escaped path %s", r.URL, r.URL.EscapedPath())
}

// cloneAndEdit does what middleware does with requests.
func cloneAndEdit(o *observer, w http.ResponseWriter, r *http.Request) {
	c := r.Clone(r.Context())
	c.Header.Set("X-A", "changed")
	c.URL.Path = "/changed"
	r.Header.Add("X-B", "added")
	o.request(r)
	o.request(c)
	o.read(c.Body)
	o.read(r.Body)
	put(o, w, c.URL.String())
}
