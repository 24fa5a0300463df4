// Package http1 turns bytes into requests and responses into bytes, strictly by RFC 9112.
// It does no I/O: a session feeds it the bytes that arrived.
//
// [Parser] reads a request's head, [Body] its content and trailers, both for any split of
// the input and without allocating. They refuse with a [Code], at the first invalid byte if
// the grammar alone decides (request line, names, values, line ends, chunk lines), and at
// the end of the line if the whole value is needed (Host, Content-Length and similar). The
// result does not depend on how the input was split.
//
// Where RFC 9112 leaves a choice, this package makes the strict one:
//
//   - Lines end with CRLF; a bare CR or LF is refused (2.2 would allow LF). Only the
//     head with which package net/rpc connects, "CONNECT /path HTTP/1.0" and two LF,
//     is accepted as a whole: it has no fields, and nothing after it is a request.
//   - Up to four empty lines before a request are skipped (2.2 asks for one).
//   - Content-Length is one field with digits alone; repeated ones are refused
//     even if they agree (6.3 would allow that).
//   - Transfer-Encoding is exactly "chunked" in one field; with Content-Length, or
//     in HTTP/1.0, it is refused (6.1, 6.3).
//   - Obsolete line folding is refused (5.2).
//   - HTTP/1.2 to HTTP/1.9 are taken as 1.1, the highest minor version known
//     (RFC 9110, 2.5). Well-formed versions of another major number get 505, others
//     400. The preface of HTTP/2, which a session that speaks HTTP/2 recognises
//     before it asks this package, is accepted as a whole, for handlers that take the
//     connection over and speak HTTP/2 themselves.
//   - CONNECT may have a path as its target, as in net/http.
//   - A request target is VCHAR without '#', and in its query bytes from 0x80 too,
//     as clients send UTF-8 there; escapes in its path are well-formed, those in its
//     query are not looked at; absolute forms are http or https and have no userinfo.
//   - Chunk extensions are read and dropped; whitespace may stand only where the
//     grammar has BWS, so never between a size and its line end (7.1.1).
//   - A trailer that would change framing or routing is refused; one that RFC 9110,
//     6.5.1 forbids for other reasons is dropped.
//   - Connection is a list of tokens, of which keep-alive may have parameters, which
//     are ignored: common clients send "keep-alive;timeout=5".
//   - Every request of HTTP/1.1 has one Host (3.2), CONNECT too, which net/http lets
//     do without.
//   - An address in brackets is one of IPv6. A zone ("[fe80::1%25eth0]", "[fe80::1%eth0]")
//     means something to the client's machine alone, which clients therefore take off
//     (RFC 6874, 4), and parsers disagree about its escape. IPvFuture ("[v1.a]") has
//     never been assigned. nginx, h2o and net/http look at no more than the
//     characters in a Host field; for a target, net/http wants the zone's escape.
//   - A Trailer field that announces Content-Length, Transfer-Encoding or Trailer
//     behind chunked content is refused, as by net/http. What it says otherwise does
//     not matter: trailers are judged when they come.
//
// Heads are not cached. A pipelined head equal to the previous one could reuse its offsets
// after a comparison (4 ns for 35 bytes against 45 for parsing), but every head that
// differs would cost a copy (4 to 10 ns), and the record would have to stay as the parser
// left it. The parser cannot guarantee that: handlers and sessions reset and change the
// record.
package http1
