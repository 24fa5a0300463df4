package http1

import "testing"

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
		{"2.3 space behind", "GET / HTTP/1.1 \r\n" + host + "\r\n", ErrVersion},
		{"2.3 tab before", "GET /\tHTTP/1.1\r\n" + host + "\r\n", ErrTarget},
		{"2.3, 2.5 HTTP/1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", ErrVersionUnsupported},
		{"2.3 HTTP/0.9 by name", "GET / HTTP/0.9\r\n" + host + "\r\n", ErrVersionUnsupported},
		{"2.3 HTTP/3", "GET / HTTP/3.0\r\n" + host + "\r\n", ErrVersionUnsupported},
		{"RFC 9113, 3.4 the preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ErrTargetForm},
		{"TLS on a plain port", "\x16\x03\x01\x02\x00", ErrMethod},
	})
}

func TestMessageAccepted(t *testing.T) {
	checkAcceptances(t, []acceptance{
		{"2.1", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.2 an empty line before", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.2 four of them", "\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.1 len=0|Host:h"},
		{"2.3 HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "GET / path=/ host=h 1.0 len=0 close|Host:h"},
		{"2.3 HTTP/1.0 without fields", "GET / HTTP/1.0\r\n\r\n", "GET / path=/ host= 1.0 len=0 close"},
	})
}
