package nethttptest

import "strings"

// framingTrials are about where content begins and ends.
var framingTrials = []trial{
	{name: "framing: GET with content", handle: look, send: message("GET / HTTP/1.1", "Host: h", "Content-Length: 5") + "hello"},
	{name: "framing: HEAD with content", handle: look, play: []step{toHEAD(0), say(message("HEAD / HTTP/1.1", "Host: h", "Content-Length: 5") + "hello"), hear(1)}},
	{name: "framing: POST without length", handle: look, send: message("POST / HTTP/1.1", "Host: h")},
	{name: "framing: length of zero", handle: look, send: post("/", "")},
	{name: "framing: length with plus", handle: look, send: withLength("+5")},
	{name: "framing: length with minus", handle: look, send: withLength("-5")},
	{name: "framing: length with zeros in front", handle: look, send: withLength("0005")},
	{name: "framing: empty length", handle: look, send: withLength("")},
	{name: "framing: length is no number", handle: look, send: withLength("five")},
	{name: "framing: hexadecimal length", handle: look, send: withLength("0x5")},
	{name: "framing: length with space inside", handle: look, send: withLength("5 5")},
	{name: "framing: list of equal lengths", handle: look, send: withLength("5, 5")},
	{name: "framing: equal lengths twice", differs: &strict, refuses: "400 more than one Content-Length", handle: look, send: withLength("5", "Content-Length: 5")},
	{name: "framing: different lengths", handle: look, send: withLength("5", "Content-Length: 6")},
	{name: "framing: length beyond 63 bits", handle: look, send: withLength("9223372036854775808")},
	{name: "framing: length over 1.0", handle: look, send: message("POST / HTTP/1.0", "Content-Length: 5") + "hello"},
	{name: "framing: length over 1.0, kept alive", handle: look, send: message("POST / HTTP/1.0", "Connection: keep-alive", "Content-Length: 5") + "hello"},

	{name: "framing: chunked", handle: look, send: postChunked("/", "hello ", "world")},
	{name: "framing: chunked without content", handle: look, send: postChunked("/")},
	{name: "framing: coding in capitals", handle: look, send: coded("Chunked")},
	{name: "framing: coding with space around", handle: look, send: coded("\t chunked ")},
	{name: "framing: identity", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("identity")},
	{name: "framing: gzip", handle: look, send: coded("gzip")},
	{name: "framing: gzip, chunked", handle: look, send: coded("gzip, chunked")},
	{name: "framing: chunked, identity", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("chunked, identity")},
	{name: "framing: chunked with comma", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("chunked,")},
	{name: "framing: chunked, chunked", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("chunked, chunked")},
	{name: "framing: chunked twice", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("chunked", "Transfer-Encoding: chunked")},
	{name: "framing: empty coding", differs: &strict, refuses: "400 invalid Transfer-Encoding", handle: look, send: coded("")},
	{name: "framing: coding and length", differs: &strict, refuses: "400 both Content-Length and Transfer-Encoding", handle: look, send: coded("chunked", "Content-Length: 5")},
	{name: "framing: length and bad coding", handle: look, send: coded("xchunked", "Content-Length: 15")},
	{name: "framing: coding over 1.0", differs: &strict, refuses: "400 Transfer-Encoding in HTTP/1.0", handle: look, send: message("POST / HTTP/1.0", "Transfer-Encoding: chunked") + encode("hello") + "0\r\n\r\n"},
	{name: "framing: coding with GET", handle: look, send: message("GET / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked") + encode("hello") + "0\r\n\r\n"},

	{name: "chunks: extensions", handle: look, send: postCoded("/", "5;a=b\r\nhello\r\n0;c\r\n\r\n")},
	{name: "chunks: quoted extension", handle: look, send: postCoded("/", "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: space before extension", differs: &strict, handle: look, send: postCoded("/", "5 ; a = b\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: control character in extension", differs: &strict, handle: look, send: postCoded("/", "5;a=\x01\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: long extension", handle: look, send: postCoded("/", "5;a="+strings.Repeat("b", 8<<10)+"\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: more extension than content", handle: look, send: postCoded("/", strings.Repeat("1;"+strings.Repeat("a", 200)+"\r\nx\r\n", 200)+"0\r\n\r\n")},
	{name: "chunks: sizes in capitals, with zeros", handle: look, send: postCoded("/", "00A\r\n0123456789\r\n000\r\n\r\n")},
	{name: "chunks: no size", handle: look, send: postCoded("/", "\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: size is no number", handle: look, send: postCoded("/", "x\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: size with 0x", handle: look, send: postCoded("/", "0x5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: size with minus", handle: look, send: postCoded("/", "-5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: size beyond 64 bits", handle: look, send: postCoded("/", "10000000000000000\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: size smaller than the chunk", handle: look, send: postCoded("/", "4\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: space in front of size", handle: look, send: postCoded("/", " 5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: space after size", differs: &strict, handle: look, send: postCoded("/", "5 \r\nhello\r\n0\r\n\r\n")},
	{name: "chunks: bare line feed behind size", handle: look, send: postCoded("/", "5\nhello\r\n0\r\n\r\n")},
	{name: "chunks: bare line feed behind chunk", handle: look, send: postCoded("/", "5\r\nhello\n0\r\n\r\n")},
	{name: "chunks: bare carriage return", handle: look, send: postCoded("/", "5\rhello\r\n0\r\n\r\n")},
	{name: "chunks: bare line feeds at the end", handle: look, send: postCoded("/", "5\r\nhello\r\n0\n\n")},
	{name: "chunks: malformed, not read", handle: text("not read"), send: postCoded("/", "zz\r\nhello\r\n0\r\n\r\n")},

	{name: "trailers: announced", handle: look, send: postCoded("/", encode("hello")+"0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n", "Trailer: X-Sum, X-More")},
	{name: "trailers: announced twice", handle: look, send: postCoded("/", encode("hello")+"0\r\nX-Sum: 5\r\nX-Sum: 6\r\n\r\n", "Trailer: x-sum", "Trailer: X-More")},
	{name: "trailers: not announced", handle: look, send: postCoded("/", encode("hello")+"0\r\nX-Sum: 5\r\n\r\n")},
	{name: "trailers: announced and not sent", handle: look, send: postCoded("/", encode("hello")+"0\r\n\r\n", "Trailer: X-Sum")},
	{name: "trailers: forbidden ones announced", handle: look, send: postCoded("/", encode("hello")+"0\r\n\r\n", "Trailer: Content-Length")},
	{name: "trailers: forbidden ones announced, coding", handle: look, send: postCoded("/", encode("hello")+"0\r\n\r\n", "Trailer: X-A, transfer-encoding")},
	{name: "trailers: forbidden ones announced, trailer", handle: look, send: postCoded("/", encode("hello")+"0\r\n\r\n", "Trailer: X-A", "Trailer:\tTRAILER ")},
	{name: "trailers: forbidden ones sent", differs: &strict, handle: look, send: postCoded("/", encode("hello")+"0\r\nContent-Length: 5\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n")},
	{name: "trailers: malformed", differs: &strict, handle: look, send: postCoded("/", encode("hello")+"0\r\nX Sum: 5\r\n\r\n")},
	{name: "trailers: with length", handle: look, send: post("/", "hello", "Trailer: X-Sum")},
	{name: "trailers: not read", handle: text("ok"), send: postCoded("/", encode("hello")+"0\r\nX-Sum: 5\r\n\r\n", "Trailer: X-Sum")},
}

// withLength is a request with content of five bytes whose length is announced
// like this.
func withLength(length string, fields ...string) string {
	return message(append([]string{"POST / HTTP/1.1", "Host: h", "Content-Length: " + length}, fields...)...) + "hello"
}

// coded is a request with chunked content whose coding is announced like this.
func coded(coding string, fields ...string) string {
	return message(append([]string{"POST / HTTP/1.1", "Host: h", "Transfer-Encoding: " + coding}, fields...)...) + "5\r\nhello\r\n0\r\n\r\n"
}
