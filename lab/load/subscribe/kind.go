package subscribe

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// Kind is the reason why a connection or stream failed.
type Kind uint8

// The kinds of errors.
const (
	Connect   Kind = iota // the connection could not be established
	Reset                 // the peer reset the connection
	Closed                // the peer closed the connection before the head of an answer, or ended the stream regularly
	Short                 // the peer closed the connection before the end of an answer
	Status                // a status other than 200, 204 and redirects
	Redirect              // a redirect, which is not followed
	Media                 // the media type is not text/event-stream
	Coding                // a content coding, such as gzip, although none was offered
	Malformed             // not an HTTP/1.1 answer
	Header                // a head, or trailers, that did not end within 64 KiB
	Chunk                 // invalid chunked coding
	Framing               // a record with an invalid length, or an invalid frame of a WebSocket
	Timeout               // no connection, or no head of an answer, in time
	Stall                 // no byte of the stream within Subscribe.Stall
	TLS                   // the TLS handshake failed, or a record was invalid
	Goaway                // HTTP/2: the server sent GOAWAY with an error
	HTTP2                 // first of the kinds of package h2, from NotHTTP2 to Refused

	numKinds = HTTP2 + Kind(h2.Refused)
)

var kindNames = [HTTP2]string{
	"connect", "reset", "closed", "short", "status", "redirect", "media type", "coding",
	"malformed", "header", "chunk", "framing", "timeout", "stall", spec.ErrTLS, spec.ErrGoaway,
}

// String returns the name under which errors of the kind are counted.
func (k Kind) String() string {
	switch {
	case k < HTTP2:
		return kindNames[k]
	case k < numKinds:
		return (h2.NotHTTP2 + h2.Kind(k-HTTP2)).String()
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ofHTTP2 returns the kind of an error of package h2. An answer whose length differs from
// the announced one is malformed (RFC 9113, section 8.1.1).
func ofHTTP2(k h2.Kind) Kind {
	if k > h2.Refused {
		return Malformed
	}
	return HTTP2 + Kind(k-h2.NotHTTP2)
}

// ofHandshake returns the kind of a failed handshake, see wire.Conn.Failed.
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

// causes describe the kinds, for the error of a run that cannot continue. Errors of TLS and
// HTTP/2 bring their own descriptions.
var causes = [TLS]string{
	"connection failed", "connection reset by the server", "connection closed by the server",
	"connection closed within an answer", "answer with a status other than 200",
	"answer is a redirect, which is not followed: subscribe to its target",
	"answer is not of the media type text/event-stream",
	"answer has a content coding, although none was offered",
	"malformed answer", "answer whose head or trailers exceed 64 KiB", "answer with invalid chunks",
	"record with an invalid length, or an invalid frame of a WebSocket", "no answer in time", "no input from the stream in time",
}
