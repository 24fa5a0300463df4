package http1

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// Transfer codings: chunked, its extensions and trailers.

func chunkedPost(body string) string { return post("Transfer-Encoding: chunked\r\n", body) }

func TestChunkedRefused(t *testing.T) {
	cases := []refusal{
		{"7.1, CVE-2025-22871 bare LF behind the size", "5\nhello\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1, CVE-2025-22871 bare LF behind an extension", "5;a\nhello\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1, fasthttp#1899 LF hidden in a value", "5;a=b\nhello\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1, fasthttp#2165 LF in a quoted value", "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1 bare LF behind the last chunk", "0\n\r\n", ErrChunkSize},
		{"7.1 bare CR behind the size", "5\rhello", ErrChunkLineEnd},
		{"7.1 CR CR LF", "5\r\r\nhello", ErrChunkLineEnd},
		{"7.1 bare CR in an extension", "5;a\rb\r\nhello", ErrChunkLineEnd},
		{"7.1 bare LF behind the data", "5\r\nhello\n0\r\n\r\n", ErrChunkData},
		{"7.1 bare CR behind the data", "5\r\nhello\r0\r\n\r\n", ErrChunkData},
		{"7.1 data too long", "5\r\nhelloo\r\n0\r\n\r\n", ErrChunkData},
		{"7.1 data too short", "5\r\nhell\r\n0\r\n\r\n", ErrChunkData},
		{"7.1, golang/go#64517, hyper#3494 empty size", "\r\nhello\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1 empty size with an extension", ";a\r\nhello\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1 LF for a size", "\n5\r\nhello\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1, picohttpparser#78 underscore", "0_2e\r\n", ErrChunkSize},
		{"7.1, picohttpparser#78 prefix", "0x2\r\nab\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1, picohttpparser#78 space behind", "2 \r\nab\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1 tab behind", "2\t\r\nab\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1 space before", " 2\r\nab\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1 signs", "+2\r\nab\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1 minus", "-1\r\n", ErrChunkSize},
		{"7.1 no hex digit", "g\r\n", ErrChunkSize},
		{"7.1 full-width digit", "\uff12\r\nab\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1 dot", "2.0\r\nab\r\n0\r\n\r\n", ErrChunkSize},
		{"7.1, CVE-2021-32714 wraps to 5", "10000000000000005\r\nhello\r\n0\r\n\r\n", ErrChunkOverflow},
		{"7.1, fasthttp#2343 greatest uint64", "ffffffffffffffff\r\n", ErrChunkOverflow},
		{"7.1 least size that is negative as an int64", "8000000000000000\r\n", ErrChunkOverflow},
		{"7.1 seventeen digits", "00000000000000005\r\nhello\r\n0\r\n\r\n", ErrChunkOverflow},
		{"RFC 9110, 15.5.14 greatest int64", "7fffffffffffffff\r\n", ErrBodyLarge},
		{"RFC 9110, 15.5.14 over the default", "2000001\r\n", ErrBodyLarge},
		{"RFC 9110, 15.5.14 over the default in sum", "1\r\nx\r\n2000000\r\n", ErrBodyLarge},
		{"7.1.1 no name", "1;\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 no name before =", "1;=b\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 two semicolons", "1;;a\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 no value", "1;a=\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 quote not closed", "1;a=\"b\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 bytes behind a quote", "1;a=\"b\"c\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 space at the end", "1;a=b \r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 space behind a name", "1;a \r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 name behind whitespace", "1;a b\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 NUL", "1;\x00\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 NUL in a quoted value", "1;a=\"\x00\"\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 NUL quoted", "1;a=\"\\\x00\"\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 obs-text in a name", "1;\x80\r\nx\r\n0\r\n\r\n", ErrChunkExt},
		{"7.1.1 too long", "1;" + strings.Repeat("a", 300) + "\r\nx\r\n0\r\n\r\n", ErrChunkExtLong},
		{"7.1.1 too much whitespace", "1" + strings.Repeat(" ", 300) + ";a\r\nx\r\n0\r\n\r\n", ErrChunkExtLong},
	}
	for i := range cases {
		cases[i].in = chunkedPost(cases[i].in)
	}
	checkRefusals(t, cases)
}

// TestChunkOverhead sends tiny chunks with great extensions (CVE-2023-39326,
// hyper#3495), and ordinary ones in the same number.
func TestChunkOverhead(t *testing.T) {
	ext := ";" + strings.Repeat("a", 200)
	for _, c := range []struct {
		name, chunk string
		count       int
		want        Code
	}{
		{"one byte, great extension", "1" + ext + "\r\nx\r\n", 100, ErrChunkOverhead},
		{"one byte, short extension", "1;a\r\nx\r\n", 20000, Complete},
		{"one byte", "1\r\nx\r\n", 20000, Complete},
		{"great extension, justified", "100" + ext + "\r\n" + strings.Repeat("x", 256) + "\r\n", 1000, Complete},
		{"leading zeros", "0000000000000001;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n", 2000, ErrChunkOverhead},
	} {
		in := chunkedPost(strings.Repeat(c.chunk, c.count) + "0\r\n\r\n")
		if o := read(exchange.Limits{}, in, nil); o.code != c.want {
			t.Errorf("%s: %q, want %q", c.name, o.code, c.want)
		}
	}
}

func TestTrailersRefused(t *testing.T) {
	cases := []refusal{
		{"7.1.2, fasthttp#2188 space before the colon", "A : b\r\n", ErrFieldName},
		{"7.1.2, fasthttp#2188 empty name", ": b\r\n", ErrFieldName},
		{"7.1.2, fasthttp#2188 no colon", "A\r\n", ErrFieldName},
		{"7.1.2, fasthttp#2188 NUL in the name", "A\x00: b\r\n", ErrFieldName},
		{"7.1.2, fasthttp#2188 NUL in the value", "A: \x00\r\n", ErrFieldValue},
		{"7.1.2, fasthttp#2188 bare LF", "A: b\n\r\n", ErrLineEnd},
		{"7.1.2, fasthttp#2188 bare CR", "A: b\rc\r\n", ErrLineEnd},
		{"7.1.2 folded", "A: b\r\n c\r\n", ErrFold},
		{"7.1.2 folded first line", " A: b\r\n", ErrFold},
		{"7.1.2 CR alone", "\rA: b\r\n", ErrLineEnd},
	}
	for _, name := range []string{
		"Transfer-Encoding", "Content-Length", "Host", "Trailer", "Connection", "TE", "Expect", "Upgrade", "Keep-Alive",
		"Proxy-Connection", "Max-Forwards", "HTTP2-Settings", "content-length", "TRANSFER-ENCODING",
	} {
		cases = append(cases, refusal{"RFC 9110, 6.5.1, fasthttp#2301 " + name, name + ": 5\r\n", ErrTrailerField})
	}
	for i := range cases {
		cases[i].in = chunkedPost("0\r\n" + cases[i].in + "\r\n")
	}
	cases = append(cases,
		refusal{"7.1.2 too many", chunkedPost("0\r\n" + strings.Repeat("A: b\r\n", 129) + "\r\n"), ErrFieldCount},
		refusal{"7.1.2 too many, all dropped", chunkedPost("0\r\n" + strings.Repeat("Cookie: b\r\n", 129) + "\r\n"), ErrFieldCount},
	)
	checkRefusals(t, cases)
}

// TestTrailerField announces trailers, of which net/http refuses some (RFC 9110,
// 6.5.1, 6.6.2).
func TestTrailerField(t *testing.T) {
	const coding, body = "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"
	var refusals []refusal
	for _, v := range []string{
		"Content-Length", "Transfer-Encoding", "Trailer", "content-length", "TRAILER", "A, Content-Length", "Transfer-Encoding,A",
		" , ,Trailer\t, b", "A\r\nTrailer: Content-Length", "Content-Length\r\nTrailer: A",
	} {
		line := "Trailer: " + v + "\r\n"
		refusals = append(refusals,
			refusal{"RFC 9110, 6.6.2 behind the coding " + v, post(coding+line, body), ErrTrailerField},
			refusal{"RFC 9110, 6.6.2 before the coding " + v, post(line+coding, body), ErrTrailerField})
	}
	checkRefusals(t, refusals)
	for _, v := range []string{"", "A", "A, B", "Content-Length2", "X-Content-Length", "Content Length", "Trailers", "Host", "\"Content-Length\"", "A;Content-Length"} {
		want := "POST / path=/ host=h 1.1 len=chunked|Host:h|Trailer:" + v + "|Transfer-Encoding:chunked"
		checkAcceptances(t, []acceptance{{"RFC 9110, 6.6.2 " + v, post("Trailer: "+v+"\r\n"+coding, body), want}})
	}
	checkAcceptances(t, []acceptance{
		{"RFC 9110, 6.6.2 no content", get("Trailer: Content-Length\r\n"), "GET / path=/ host=h 1.1 len=0|Host:h|Trailer:Content-Length"},
		{"RFC 9110, 6.6.2 content of known length", post("Trailer: Trailer\r\nContent-Length: 1\r\n", "x"), "POST / path=/ host=h 1.1 len=1|Host:h|Trailer:Trailer|Content-Length:1 => x"},
	})
}

func TestChunkedAccepted(t *testing.T) {
	const head = "POST / path=/ host=h 1.1 len=chunked|Host:h|Transfer-Encoding:chunked"
	cases := []acceptance{
		{"7.1 no content", "0\r\n\r\n", ""},
		{"7.1", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
		{"7.1 hex in both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a"},
		{"7.1 leading zeros", "0000000000000001\r\nx\r\n000\r\n\r\n", "x"},
		{"7.1 line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
		{"7.1.1", "1;a\r\nx\r\n0;b=c\r\n\r\n", "x"},
		{"7.1.1 several", "1;a=b;c;d=\"e\"\r\nx\r\n0\r\n\r\n", "x"},
		{"7.1.1 BWS", "1 ; a = b ;\tc ; d = \"e\" ;f\r\nx\r\n0\r\n\r\n", "x"},
		{"7.1.1 quoted", "1;a=\";=\\\"\\\\ \t\x80\"\r\nx\r\n0\r\n\r\n", "x"},
		{"7.1.1 empty quoted value", "1;a=\"\"\r\nx\r\n0\r\n\r\n", "x"},
		{"7.1.1 as long as it gets", "1;" + strings.Repeat("a", 255) + "\r\nx\r\n0\r\n\r\n", "x"},
		{"7.1.2", "1\r\nx\r\n0\r\nA: b\r\nC:d \r\n\r\n", "x|A:b|C:d"},
		{"RFC 9110, 6.5.1 dropped", "0\r\nA: b\r\nAuthorization: x\r\nCookie: y\r\nContent-Type: z\r\nD: e\r\nX-Forwarded-For: f\r\nRange: g\r\n\r\n", "|A:b|D:e"},
	}
	for i := range cases {
		c := &cases[i]
		c.in, c.want = chunkedPost(c.in), strings.TrimSuffix(head+" => "+c.want, " => ")
	}
	checkAcceptances(t, cases)
}

func TestTrailerLimit(t *testing.T) {
	lim := exchange.Limits{MaxTrailerBytes: 20}
	for _, c := range []struct {
		trailers string
		want     Code
	}{
		{"A: " + strings.Repeat("b", 13) + "\r\n\r\n", Complete},
		{"A: " + strings.Repeat("b", 14) + "\r\n\r\n", ErrTrailerLarge},
		{"A: " + strings.Repeat("b", 15) + "\r\n\r\n", ErrTrailerLarge},
		{strings.Repeat("A", 100), ErrTrailerLarge},
	} {
		if o := readAll(t, lim, chunkedPost("0\r\n"+c.trailers)); o.code != c.want {
			t.Errorf("%q: %q, want %q", c.trailers, o.code, c.want)
		}
	}
}

// TestBodyStaysRefused checks that a refusal is final.
func TestBodyStaysRefused(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var body Body
	r := exchange.Request{ContentLength: exchange.UnknownLength}
	body.Init(&r, p.Limits())
	for range 3 {
		if data, n, code := body.Next([]byte("x5\r\nhello\r\n")); code != ErrChunkSize || n != 0 || data != nil {
			t.Fatalf("%q, %d bytes, %q", code, n, data)
		}
	}
}
