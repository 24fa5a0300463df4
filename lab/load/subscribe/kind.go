package subscribe

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// Kind is why a connection was given up.
type Kind uint8

// The kinds of errors.
const (
	Connect   Kind = iota // it could not be made
	Reset                 // the peer reset it
	Closed                // the peer closed it before the head of an answer, or ended the stream in order
	Short                 // the peer closed it within an answer that was to go on
	Status                // another status than 200, 204 and redirects
	Redirect              // a redirect, which is not followed
	Media                 // the answer is not of the type text/event-stream
	Coding                // a content coding, such as gzip, though none was offered
	Malformed             // not an HTTP/1.1 answer
	Header                // a head, or trailers, that did not end within 64 KiB
	Chunk                 // broken framing of chunks
	Framing               // a length of a record that is none
	Timeout               // no connection, or no head of an answer, in time
	Stall                 // no byte of the stream within Subscribe.Stall
	TLS                   // no TLS connection came about, or what came over it was broken
	Goaway                // HTTP/2: the server ended the connection and named an error
	HTTP2                 // and those of package h2 from its first, NotHTTP2, to Refused

	numKinds = HTTP2 + Kind(h2.Refused)
)

var kindNames = [HTTP2]string{
	"connect", "reset", "closed", "short", "status", "redirect", "media type", "coding",
	"malformed", "header", "chunk", "framing", "timeout", "stall", spec.ErrTLS, spec.ErrGoaway,
}

// String is the name under which errors of the kind are counted.
func (k Kind) String() string {
	switch {
	case k < HTTP2:
		return kindNames[k]
	case k < numKinds:
		return (h2.NotHTTP2 + h2.Kind(k-HTTP2)).String()
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ofHTTP2 is the kind of an error of package h2. An answer of another length than it
// announced is malformed (RFC 9113, section 8.1.1).
func ofHTTP2(k h2.Kind) Kind {
	if k > h2.Refused {
		return Malformed
	}
	return HTTP2 + Kind(k-h2.NotHTTP2)
}

// ofHandshake is the kind of a connection that came to nothing, see wire.Conn.Failed.
func ofHandshake(k tally.Kind) Kind {
	switch k {
	case tally.KindTimeout:
		return Timeout
	case tally.KindClosed:
		return Closed
	case tally.KindReset:
		return Reset
	}
	return TLS
}

// causes are the kinds in words, for the error of a run that cannot go on. Those that
// TLS and HTTP/2 have of their own come with theirs.
var causes = [TLS]string{
	"connection failed", "connection reset by the server", "connection closed by the server",
	"connection closed within an answer", "answer of another status than 200",
	"answer is a redirect, which is not followed: subscribe to its target",
	"answer is not of the media type text/event-stream",
	"answer has a content coding, though none was offered",
	"malformed answer", "answer whose head, or trailers, do not end", "answer with broken chunks",
	"record whose length is none", "no answer in time", "stream without a byte for too long",
}
