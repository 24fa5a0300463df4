package http1

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// Message body: Content-Length and Transfer-Encoding.

func TestFramingRefused(t *testing.T) {
	const length, chunked = "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"
	const body = "0\r\n\r\n"
	cases := []refusal{
		{"6.1, hertz#1490 length, then coding", post(length+chunked, body), ErrLengthAndCoding},
		{"6.1, fasthttp#2190, hyper#4124 coding, then length", post(chunked+length, body), ErrLengthAndCoding},
		{"6.1 apart from each other", post(length+"A: b\r\n"+chunked, body), ErrLengthAndCoding},
		{"6.1 length, then an unknown coding", post(length+"Transfer-Encoding: x\r\n", body), ErrLengthAndCoding},
		{"6.1 HTTP/1.0, RUSTSEC-2020-0008", "POST / HTTP/1.0\r\nHost: h\r\n" + chunked + "\r\n" + body, ErrCodingHTTP10},
		{"6.1, fasthttp#2330 HTTP/1.0, length and coding", "POST / HTTP/1.0\r\n" + length + chunked + "\r\n" + body, ErrCodingHTTP10},
		{"6.3, h2o#3396 two lengths, ascending", post("Content-Length: 5\r\nContent-Length: 6\r\n", "12345"), ErrLengthRepeated},
		{"6.3, h2o#3396 two lengths, descending", post("Content-Length: 6\r\nContent-Length: 5\r\n", "12345"), ErrLengthRepeated},
		{"6.3 two lengths that agree", post(length+length, "12345"), ErrLengthRepeated},
		{"6.3 two lengths, another case", post(length+"content-length: 5\r\n", "12345"), ErrLengthRepeated},
		{"7 two codings in two fields", post(chunked+chunked, body), ErrCoding},
	}
	for _, v := range []string{
		"+5", "-0", "-5", "", "5, 5", "5, 6", "5,5", "0x5", "5 5", "5;", "5.0", "5e0", "five", "\u0665", "5\t5", "'5'", "1_0",
		"9223372036854775808", "18446744073709551616", "18446744073709551621", strings.Repeat("9", 40),
	} {
		cases = append(cases, refusal{"6.2, CVE-2021-32715, CVE-2021-32714, golang/go#61679", post("Content-Length: "+v+"\r\n", "12345"), ErrLength})
	}
	for _, v := range []string{
		"identity", "chunked, chunked", "chunked,chunked", "chunked, identity", "identity, chunked", "chunked, gzip", "", ",", "chunked,",
		", chunked", "chunked;a=b", "chunked ;", "chunk ed", "chunked\x80", "\"chunked\"", "gzip;", "gzip;q", "gzip;q=", "gzip;=1", "gzip;q=\"1", "gz\tip",
	} {
		cases = append(cases, refusal{"6.1, 6.3, fasthttp#2303 " + v, post("Transfer-Encoding: "+v+"\r\n", body), ErrCoding})
	}
	for _, v := range []string{"blegh", "gzip", "gzip, chunked", "gzip, deflate", "gzip;q=1, chunked", "gzip; q=\"a;\\\"b\"", "xchunked", "chunkedx"} {
		cases = append(cases, refusal{"6.1, fasthttp#2303 " + v, post("Transfer-Encoding: "+v+"\r\n", body), ErrCodingUnknown})
	}
	checkRefusals(t, cases)
	for _, v := range []string{"33554433", "9223372036854775807"} {
		checkRefusals(t, []refusal{{"RFC 9110, 15.5.14", post("Content-Length: "+v+"\r\n", ""), ErrBodyLarge}})
	}
}

func TestFramingAccepted(t *testing.T) {
	checkAcceptances(t, []acceptance{
		{"6.2", post("Content-Length: 5\r\n", "12345"), "POST / path=/ host=h 1.1 len=5|Host:h|Content-Length:5 => 12345"},
		{"6.2 zero", post("Content-Length: 0\r\n", ""), "POST / path=/ host=h 1.1 len=0|Host:h|Content-Length:0"},
		{"6.2 leading zeros", post("Content-Length: 0005\r\n", "12345"), "POST / path=/ host=h 1.1 len=5|Host:h|Content-Length:0005 => 12345"},
		{"6.2 any case", post("cONTENT-lENGTH: 5\r\n", "12345"), "POST / path=/ host=h 1.1 len=5|Host:h|cONTENT-lENGTH:5 => 12345"},
		{"6.2 whitespace", post("Content-Length:  5 \r\n", "12345"), "POST / path=/ host=h 1.1 len=5|Host:h|Content-Length:5 => 12345"},
		{"6.3 neither", post("", ""), "POST / path=/ host=h 1.1 len=0|Host:h"},
		{"6.3 a GET may have content", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", "GET / path=/ host=h 1.1 len=1|Host:h|Content-Length:1 => x"},
		{"6.2 HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", "POST / path=/ host= 1.0 len=1 close|Content-Length:1 => x"},
		{"6.2 names that are nearly Content-Length", post("ccn0ent-length: 5\r\n1ont-nt-length: 5\r\n", ""), "POST / path=/ host=h 1.1 len=0|Host:h|ccn0ent-length:5|1ont-nt-length:5"},
		{"6.1", post("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n"), "POST / path=/ host=h 1.1 len=chunked|Host:h|Transfer-Encoding:chunked => x"},
		{"7 codings are in any case", post("transfer-encoding: CHUNKED\r\n", "1\r\nx\r\n0\r\n\r\n"), "POST / path=/ host=h 1.1 len=chunked|Host:h|transfer-encoding:CHUNKED => x"},
	})
}

// TestGreatestLength reads a length without a limit on bodies.
func TestGreatestLength(t *testing.T) {
	in := post("Content-Length: 9223372036854775807\r\n", "")
	o := readAll(t, exchange.Limits{MaxBodyBytes: -1}, in)
	if o.code != Complete || !strings.Contains(o.head, "len=9223372036854775807") {
		t.Errorf("%q: %s", o.code, o.head)
	}
}
