package http1

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// The request line: method, target and its four forms, Host.

func TestRequestLineRefused(t *testing.T) {
	line := func(s string) string { return s + " HTTP/1.1\r\n" + host + "\r\n" }
	checkRefusals(t, []refusal{
		{"3 two spaces", line("GET  /"), ErrTarget},
		{"3 two spaces behind the target", line("GET / "), ErrVersion},
		{"3 tab behind the method", line("GET\t/"), ErrMethod},
		{"3 whitespace in the target", line("GET /a b"), ErrVersion},
		{"3 tab in the target", line("GET /a\tb"), ErrTarget},
		{"3.1 no token", line("G@T /"), ErrMethod},
		{"3.1 NUL", line("GET\x00 /"), ErrMethod},
		{"3.1 obs-text", line("G\x80T /"), ErrMethod},
		{"3.1 empty", line(" /"), ErrMethod},
		{"3.1 too long", line(strings.Repeat("M", 33) + " /"), ErrMethodLong},
		{"3.2 NUL", line("GET /\x00"), ErrTarget},
		{"3.2 DEL", line("GET /\x7f"), ErrTarget},
		{"3.2 DEL in the query", line("GET /?\x7f"), ErrTarget},
		{"3.2 UTF-8 (fasthttp#2168)", line("GET /\u00e9"), ErrTarget},
		{"3.2 UTF-8 behind an escape", line("GET /%41\u00e9?q"), ErrTarget},
		{"3.2.2 UTF-8 in the path of an absolute form", line("GET http://h/\u00e9?q"), ErrTarget},
		{"3.2.2 UTF-8 in an authority", line("GET http://\u00e9/?q"), ErrTarget},
		{"3.2.3 CONNECT with UTF-8 in a query", line("CONNECT h:80?\u00e9"), ErrTargetForm},
		{"3.2.4 asterisk with UTF-8 in a query", line("OPTIONS *?\u00e9"), ErrTargetForm},
		{"3.2 control character in a query behind UTF-8", line("GET /?\u00e9\x1f"), ErrTarget},
		{"3.2 tab in a query behind UTF-8", line("GET /?\u00e9\t"), ErrTarget},
		{"3.2 space in a query", line("GET /?\u00e9 \u00e9"), ErrVersion},
		{"3.2 fragment behind UTF-8", line("GET /?\u00e9#f"), ErrTarget},
		{"3.2 fragment", line("GET /#f"), ErrTarget},
		{"3.2 fragment behind a query", line("GET /?q#f"), ErrTarget},
		{"3.2 no digits behind %", line("GET /%zz"), ErrTargetEscape},
		{"3.2 one digit behind %", line("GET /%4/"), ErrTargetEscape},
		{"3.2 % at the end", line("GET /%"), ErrTargetEscape},
		{"3.2 %4 at the end", line("GET /%4"), ErrTargetEscape},
		{"3.2.1 no slash (fasthttp#2168)", line("GET a"), ErrTargetForm},
		{"3.2.1 query alone", line("GET ?q"), ErrTargetForm},
		{"3.2.2 no authority", line("GET http:///a"), ErrTargetForm},
		{"3.2.2 no slashes", line("GET http:/a"), ErrTargetForm},
		{"3.2.2 another scheme", line("GET ftp://h/"), ErrTargetForm},
		{"3.2.2 userinfo (RFC 9110, 4.2.4)", line("GET http://u:p@h/"), ErrTargetForm},
		{"3.2.2 bad port", line("GET http://h:99999/"), ErrTargetForm},
		{"3.2.2 port alone", line("GET http://:80/"), ErrTargetForm},
		{"3.2.2 brackets", line("GET http://[::1/"), ErrTargetForm},
		{"3.2.2 query in place of authority", line("GET http://?q"), ErrTargetForm},
		{"3.2.3 authority form without CONNECT", line("GET h:80"), ErrTargetForm},
		{"3.2.3 CONNECT with a query alone", line("CONNECT ?q"), ErrTargetForm},
		{"3.2.3 CONNECT with a scheme", line("CONNECT http://h:80"), ErrTargetForm},
		{"3.2.3 CONNECT without a port", line("CONNECT h"), ErrTargetForm},
		{"3.2.3 CONNECT with an empty port", line("CONNECT h:"), ErrTargetForm},
		{"3.2.3 CONNECT without a host", line("CONNECT :80"), ErrTargetForm},
		{"3.2.3 CONNECT with a query", line("CONNECT h:80?q"), ErrTargetForm},
		{"3.2.4 asterisk without OPTIONS", line("GET *"), ErrTargetForm},
		{"3.2.4 more than an asterisk", line("OPTIONS *a"), ErrTargetForm},
		{"3.2.4 asterisk with a query", line("OPTIONS *?q"), ErrTargetForm},
	})
}

func TestHostRefused(t *testing.T) {
	request := func(lines string) string { return "GET / HTTP/1.1\r\n" + lines + "\r\n" }
	refusals := []refusal{
		{"3.2, fasthttp#2164 none", request("A: b\r\n"), ErrHostMissing},
		{"3.2 none and no fields", request(""), ErrHostMissing},
		{"3.2, fasthttp#2164 two that differ", request("Host: a\r\nHost: b\r\n"), ErrHostRepeated},
		{"3.2 two that agree", request("Host: a\r\nA: b\r\nhost: a\r\n"), ErrHostRepeated},
		{"3.2 CONNECT without Host, which net/http takes", "CONNECT h:80 HTTP/1.1\r\n\r\n", ErrHostMissing},
		{"3.2.2 absolute form, zone", "GET http://[fe80::1%25eth0]/ HTTP/1.1\r\nHost: h\r\n\r\n", ErrTargetForm},
		{"3.2.2 absolute form, IPvFuture", "GET http://[v1.a]/ HTTP/1.1\r\nHost: h\r\n\r\n", ErrTargetForm},
		{"3.2.3 CONNECT, zone", "CONNECT [fe80::1%25eth0]:80 HTTP/1.1\r\nHost: h\r\n\r\n", ErrTargetForm},
		{"3.2.2 absolute form without Host", "GET http://h/ HTTP/1.1\r\nA: b\r\n\r\n", ErrHostMissing},
		{"3.2.2 absolute form, bad Host", "GET http://h/ HTTP/1.1\r\nHost: a b\r\n\r\n", ErrHost},
		{"3.2.2 absolute form, two Hosts", "GET http://h/ HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", ErrHostRepeated},
		{"3.2 two in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", ErrHostRepeated},
	}
	for _, value := range []string{
		"a b", "a,b:c", "a/b", "a?b", "a#b", "a@b", "u:p@h", "a\\b", "\u00e9", "a:b", "a:80:80", "a:-1", "a:65536",
		":80", ":", "[::1", "::1", "[]", "[::1]x", "[:::1]", "[1::2::3]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]",
		"[12345::]", "[::1.2.3]", "[::1.2.3.256]", "[::1.2.3.04]", "[::1.2.3.4:5]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[fe80::1%251]:80", "[fe80::1%]", "[v1.a]", "[v1.fe80::a+en1]", "[V1.a]:80", "[v.a]", "[g::]", "[1:]", "[:1]",
		"%", "%4", "%zz", "a\"b", "<h>", "h\tx", "[::1.2.3.4", "[1:2:3:4:5:6:7::8]", "[1.2.3.4]",
	} {
		refusals = append(refusals, refusal{"3.2 Host " + value, request("Host: " + value + "\r\n"), ErrHost})
	}
	checkRefusals(t, refusals)
}

func TestRequestLineAccepted(t *testing.T) {
	line := func(s string) string { return s + " HTTP/1.1\r\n" + host + "\r\n" }
	const rest = " 1.1 len=0|Host:h"
	checkAcceptances(t, []acceptance{
		{"3.1 HEAD", line("HEAD /"), "HEAD / path=/ host=h" + rest},
		{"3.1 POST", line("POST /"), "POST / path=/ host=h" + rest},
		{"3.1 PUT", line("PUT /"), "PUT / path=/ host=h" + rest},
		{"3.1 DELETE", line("DELETE /"), "DELETE / path=/ host=h" + rest},
		{"3.1 PATCH", line("PATCH /"), "PATCH / path=/ host=h" + rest},
		{"3.1 OPTIONS", line("OPTIONS /"), "OPTIONS / path=/ host=h" + rest},
		{"3.1 TRACE", line("TRACE /"), "TRACE / path=/ host=h" + rest},
		{"3.1 case matters", line("get /"), "other get / path=/ host=h" + rest},
		{"3.1 prefix of a known one", line("GETS /"), "other GETS / path=/ host=h" + rest},
		{"3.1 POSTS", line("POSTS /"), "other POSTS / path=/ host=h" + rest},
		{"3.1 one byte", line("Z /"), "other Z / path=/ host=h" + rest},
		{"3.1 any token", line("!#$%&'*+-.^_`|~9 /"), "other !#$%&'*+-.^_`|~9 / path=/ host=h" + rest},
		{"3.1 as long as it gets", line(strings.Repeat("M", 32) + " /"), "other " + strings.Repeat("M", 32) + " / path=/ host=h" + rest},
		{"3.2.1", line("GET /a/b?c=d&e"), "GET /a/b?c=d&e path=/a/b query=c=d&e host=h" + rest},
		{"3.2.1 empty query", line("GET /?"), "GET /? path=/ query= host=h" + rest},
		{"3.2.1 two question marks", line("GET /a?b?c"), "GET /a?b?c path=/a query=b?c host=h" + rest},
		{"3.2.1 two slashes", line("GET //a"), "GET //a path=//a host=h" + rest},
		{"3.2.1 dots are the handler's", line("GET /../a"), "GET /../a path=/../a host=h" + rest},
		{"3.2.1 escapes", line("GET /%41%e9/%2F"), "GET /%41%e9/%2F path=/%41%e9/%2F host=h 1.1 len=0 escaped|Host:h"},
		{"3.2.1 escapes in the query stay", line("GET /?%zz%"), "GET /?%zz% path=/ query=%zz% host=h" + rest},
		{"3.2.1 all of VCHAR", line("GET /!\"$&'()*+,-.:;<=>@[\\]^_`{|}~"), "GET /!\"$&'()*+,-.:;<=>@[\\]^_`{|}~ path=/!\"$&'()*+,-.:;<=>@[\\]^_`{|}~ host=h" + rest},
		{"3.2.1 long", line("GET /" + strings.Repeat("a", 300) + "?" + strings.Repeat("b", 300)), "GET /" + strings.Repeat("a", 300) + "?" + strings.Repeat("b", 300) + " path=/" + strings.Repeat("a", 300) + " query=" + strings.Repeat("b", 300) + " host=h" + rest},
		{"3.2.1 UTF-8 in the query", line("GET /?q=\u00e9\u6771"), "GET /?q=\u00e9\u6771 path=/ query=q=\u00e9\u6771 host=h" + rest},
		{"3.2.1 bytes that are no UTF-8 in the query", line("GET /?\x80\xff\xfe\xc3"), "GET /?\x80\xff\xfe\xc3 path=/ query=\x80\xff\xfe\xc3 host=h" + rest},
		{"3.2.1 UTF-8 late in a long query", line("GET /?" + strings.Repeat("b", 70) + "\u00e9"), "GET /?" + strings.Repeat("b", 70) + "\u00e9 path=/ query=" + strings.Repeat("b", 70) + "\u00e9 host=h" + rest},
		{"3.2.2 UTF-8 in the query", line("GET http://x?\u00e9"), "GET http://x?\u00e9 path= query=\u00e9 host=x" + rest},
		{"3.2.2", line("GET http://x.org:8080/a?b"), "GET http://x.org:8080/a?b path=/a query=b host=x.org:8080" + rest},
		{"3.2.2 scheme in any case", line("GET HTTPS://x/"), "GET HTTPS://x/ path=/ host=x" + rest},
		{"3.2.2 no path", line("GET http://x"), "GET http://x path= host=x" + rest},
		{"3.2.2 no path but a query", line("GET http://x?a/b"), "GET http://x?a/b path= query=a/b host=x" + rest},
		{"3.2.2 escape in the host alone", line("GET http://%41/"), "GET http://%41/ path=/ host=%41" + rest},
		{"3.2.2 escapes in host and path", line("GET http://%41/%41"), "GET http://%41/%41 path=/%41 host=%41 1.1 len=0 escaped|Host:h"},
		{"3.2.2 literal", line("GET http://[::1]:80/"), "GET http://[::1]:80/ path=/ host=[::1]:80" + rest},
		{"3.2.3", line("CONNECT x.org:443"), "CONNECT x.org:443 path= host=x.org:443" + rest},
		{"3.2.3 CONNECT with a path, as net/http takes", line("CONNECT /a%20b?q"), "CONNECT /a%20b?q path=/a%20b query=q host=h 1.1 len=0 escaped|Host:h"},
		{"3.2.3 literal", line("CONNECT [::1]:443"), "CONNECT [::1]:443 path= host=[::1]:443" + rest},
		{"3.2.4", line("OPTIONS *"), "OPTIONS * path=* host=h" + rest},
	})
}

// TestBareHeads accepts the two heads that are not HTTP/1, and nothing that is like them.
func TestBareHeads(t *testing.T) {
	checkAcceptances(t, []acceptance{
		{"net/rpc", "CONNECT /_goRPC_ HTTP/1.0\n\n", "CONNECT /_goRPC_ path=/_goRPC_ host= 1.0 len=0 close"},
		{"net/rpc with a query", "CONNECT /a?b HTTP/1.0\n\n", "CONNECT /a?b path=/a query=b host= 1.0 len=0 close"},
		{"preface", "PRI * HTTP/2.0\r\n\r\n", "other PRI * path=* host= 2.0 len=0 close"},
	})
	checkRefusals(t, []refusal{
		{"net/rpc of HTTP/1.1", "CONNECT /a HTTP/1.1\n\n", ErrVersion},
		{"net/rpc with a field", "CONNECT /a HTTP/1.0\nA: b\n\n", ErrVersion},
		{"net/rpc, then CRLF", "CONNECT /a HTTP/1.0\n\r\n", ErrVersion},
		{"net/rpc with CRLF, then LF", "CONNECT /a HTTP/1.0\r\n\n", ErrFieldName},
		{"bare line feeds after an authority", "CONNECT h:80 HTTP/1.0\n\n", ErrVersion},
		{"bare line feeds after GET", "GET /a HTTP/1.0\n\n", ErrVersion},
		{"preface of HTTP/1.1", "PRI * HTTP/1.1\r\n\r\n", ErrVersion},
		{"preface of HTTP/2.1", "PRI * HTTP/2.1\r\n\r\n", ErrVersion},
		{"preface with a field", "PRI * HTTP/2.0\r\nHost: h\r\n\r\n", ErrVersion},
		{"preface with bare line feeds", "PRI * HTTP/2.0\n\n", ErrVersion},
		{"preface for a path", "PRI / HTTP/2.0\r\n\r\n", ErrVersionUnsupported},
		{"preface with a query", "PRI *?q HTTP/2.0\r\n\r\n", ErrTargetForm},
		{"preface in lower case", "pri * HTTP/2.0\r\n\r\n", ErrTargetForm},
	})
}

// TestTargetBytes puts every byte into a path and into a query.
func TestTargetBytes(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		for _, pad := range []int{0, 3, 40} { // the last byte of a word, and of a vector, and alone
			tail := string([]byte{c}) + strings.Repeat("z", pad) + " HTTP/1.1\r\n" + host + "\r\n"
			path := readAll(t, exchange.Limits{}, "GET /a"+tail)
			if right := c > 0x20 && c < 0x7f && c != '#' && c != '%'; (path.code == Complete) != right {
				t.Errorf("byte %#02x in a path: %q", c, path.code)
			}
			query := readAll(t, exchange.Limits{}, "GET /a?b"+tail)
			if right := c > 0x20 && c != 0x7f && c != '#'; (query.code == Complete) != right {
				t.Errorf("byte %#02x in a query: %q", c, query.code)
			}
		}
	}
}

func TestHostAccepted(t *testing.T) {
	for _, value := range []string{
		"", "h", "x.org", "x.org:80", "x.org:", "127.0.0.1:8080", "[::1]", "[::]:1", "[1:2:3:4:5:6:7:8]", "[1::8]",
		"[::ffff:1.2.3.4]:80", "[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "a_b", "a%2Cb", "!$&'()*+,;=~", "h:65535",
	} {
		in := "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n"
		want := "GET / path=/ host=" + value + " 1.1 len=0|Host:" + value
		checkAcceptances(t, []acceptance{{"3.2", in, want}})
	}
}

// TestHostAgain has one parser see hosts that are like the one before, or nearly.
func TestHostAgain(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	long := strings.Repeat("a", 64)
	for _, h := range []struct {
		host string
		code Code
	}{
		{"example.com", Complete},
		{"example.com", Complete},
		{"", Complete},
		{"example.com:80", Complete},
		{"example.com:8x", ErrHost},
		{"example.com", Complete},
		{"example.co/", ErrHost},
		{long, Complete},
		{long + "b", Complete},
		{long + "/", ErrHost},
		{long[1:] + "/", ErrHost},
	} {
		var r exchange.Request
		head := []byte("GET / HTTP/1.1\r\nHost: " + h.host + "\r\n\r\n")
		if _, code := p.Parse(&r, head); code != h.code {
			t.Errorf("host %.80q: %v, want %v", h.host, code, h.code)
		} else if code == Complete && string(r.Authority.In(head)) != h.host {
			t.Errorf("host %.80q is %q", h.host, r.Authority.In(head))
		}
		if h.code != Complete {
			p.restart() // as Init, which keeps what is known
		}
	}
}
