package http1

import (
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// Message format: line ends, empty lines, the protocol version.

func TestMessageRefused(t *testing.T) {
	checkRefusals(t, []refusal{
		{"2.2 bare LF", "GET / HTTP/1.1\nHost: h\n\n", ErrVersion},
		{"2.2 bare LF behind a field", "GET / HTTP/1.1\r\nHost: h\n\r\n", ErrLineEnd},
		{"2.2 bare LF at the end", "GET / HTTP/1.1\r\nHost: h\r\n\n", ErrFieldName},
		{"2.2 bare CR in the request line", "GET /\r HTTP/1.1\r\n" + host + "\r\n", ErrTarget},
		{"2.2 bare CR behind the version", "GET / HTTP/1.1\rHost: h\r\n\r\n", ErrLineEnd},
		{"2.2 bare CR before a name", "GET / HTTP/1.1\r\n\rHost: h\r\n\r\n", ErrLineEnd},
		{"2.2 space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", ErrFold},
		{"2.2 bare CR before the request", "\rGET / HTTP/1.1\r\n" + host + "\r\n", ErrLineEnd},
		{"2.2 bare LF before the request", "\nGET / HTTP/1.1\r\n" + host + "\r\n", ErrMethod},
		{"2.2 five empty lines", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n" + host + "\r\n", ErrEmptyLines},
		{"2.2 leading space", " GET / HTTP/1.1\r\n" + host + "\r\n", ErrMethod},
		{"2.3 lower case", "GET / http/1.1\r\n" + host + "\r\n", ErrVersion},
		{"2.3 fasthttp#2167 CRs within", "GET / HTTP/\r\r1.1\r\n" + host + "\r\n", ErrVersion},
		{"2.3 fasthttp#2167 two digits", "GET / HTTP/1.10\r\n" + host + "\r\n", ErrVersion},
		{"2.3 two digits before the dot", "GET / HTTP/11.1\r\n" + host + "\r\n", ErrVersion},
		{"2.3 no dot", "GET / HTTP/1 1\r\n" + host + "\r\n", ErrVersion},
		{"2.3 letter", "GET / HTTP/1.x\r\n" + host + "\r\n", ErrVersion},
		{"2.3 letter before the dot", "GET / HTTP/x.1\r\n" + host + "\r\n", ErrVersion},
		{"2.3 another protocol", "GET / ICAP/1.0\r\n" + host + "\r\n", ErrVersion},
		{"2.3 missing, HTTP/0.9", "GET /\r\n", ErrTarget},
		{"RFC 9110, 2.5, 7.2 a later minor version needs Host too", "GET / HTTP/1.2\r\n\r\n", ErrHostMissing},
		{"2.3 space behind", "GET / HTTP/1.1 \r\n" + host + "\r\n", ErrVersion},
		{"2.3 tab before", "GET /\tHTTP/1.1\r\n" + host + "\r\n", ErrTarget},
		{"TLS on a plain port", "\x16\x03\x01\x02\x00", ErrMethod},
	})
}

// TestVersion reads versions, one a request line (RFC 9112, 2.3; RFC 9110, 2.5).
func TestVersion(t *testing.T) {
	for _, c := range []struct {
		version string
		want    Code
		as      exchange.Version
	}{
		{"HTTP/1.0", Complete, exchange.HTTP10},
		{"HTTP/1.1", Complete, exchange.HTTP11},
		{"HTTP/1.2", Complete, exchange.HTTP11},
		{"HTTP/1.3", Complete, exchange.HTTP11},
		{"HTTP/1.8", Complete, exchange.HTTP11},
		{"HTTP/1.9", Complete, exchange.HTTP11},
		{"HTTP/0.9", ErrVersionUnsupported, 0},
		{"HTTP/0.0", ErrVersionUnsupported, 0},
		{"HTTP/2.0", ErrVersionUnsupported, 0},
		{"HTTP/2.1", ErrVersionUnsupported, 0},
		{"HTTP/3.0", ErrVersionUnsupported, 0},
		{"HTTP/9.9", ErrVersionUnsupported, 0},
		{"HTTP/1", ErrVersion, 0},
		{"HTTP/1.", ErrVersion, 0},
		{"HTTP/2", ErrVersion, 0},
		{"HTTP/3", ErrVersion, 0},
		{"HTTP/.1", ErrVersion, 0},
		{"HTTP/01.1", ErrVersion, 0},
		{"HTTP/10.1", ErrVersion, 0},
		{"HTTP/11.1", ErrVersion, 0},
		{"HTTP/1.01", ErrVersion, 0},
		{"HTTP/1.10", ErrVersion, 0},
		{"HTTP/2.00", ErrVersion, 0},
		{"HTTP/0.$", ErrVersion, 0},
		{"HTTP/1.$", ErrVersion, 0},
		{"HTTP/1./", ErrVersion, 0},
		{"HTTP/1.:", ErrVersion, 0},
		{"HTTP/:.1", ErrVersion, 0},
		{"HTTP/3,0", ErrVersion, 0},
		{"HTTP/+1.1", ErrVersion, 0},
		{"HTTP/1.+1", ErrVersion, 0},
		{"HTTP/\uff11.1", ErrVersion, 0},
		{"HTTP/2.0\r", ErrLineEnd, 0},
	} {
		in := "GET / " + c.version + "\r\n" + host + "\r\n"
		if o := readAll(t, exchange.Limits{}, in); o.code != c.want {
			t.Errorf("%q: %q, want %q", c.version, o.code, c.want)
		}
		var p Parser
		p.Init(exchange.Limits{})
		var r exchange.Request
		if p.Parse(&r, []byte(in)); c.as != 0 && r.Version != c.as {
			t.Errorf("%q is taken as %v", c.version, r.Version)
		}
	}
}

func TestMessageAccepted(t *testing.T) {
	checkAcceptances(t, []acceptance{
		{"2.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.2 an empty line before", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.2 four of them", "\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.3 HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.0 len=0 close|Host:h"},
		{"RFC 9110, 2.5 framing by a later minor version", "POST / HTTP/1.2\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST / path=/ host=h 1.1 len=chunked|Host:h|Transfer-Encoding:chunked"},
		{"2.3 HTTP/1.0 without fields", "GET / HTTP/1.0\r\n\r\n", "GET / path=/ host= 1.0 len=0 close"},
	})
}
