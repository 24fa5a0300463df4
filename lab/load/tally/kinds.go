package tally

import "github.com/redline-go/redline/lab/load/h2"

// The kinds of errors that a generator counts.
const (
	ErrConnect   = "connect"   // a connection could not be made
	ErrReset     = "reset"     // the peer reset the connection
	ErrClosed    = "closed"    // the peer closed between answers with requests outstanding
	ErrShort     = "short"     // the peer closed within an answer
	ErrStatus    = "status"    // another status than expected
	ErrLength    = "length"    // a body of another length than expected
	ErrBody      = "body"      // a body of other bytes than expected
	ErrMalformed = "malformed" // not an HTTP/1.1 answer
	ErrTimeout   = "timeout"   // no answer within Spec.Timeout
	ErrUnasked   = "unasked"   // bytes that no request asked for
	ErrHeader    = "header"    // a head, or trailers, that did not end within 64 KiB
	ErrChunk     = "chunk"     // broken framing of chunks
	ErrEndless   = "endless"   // a body without an announced length, longer than Spec.MaxBody
	ErrCheck     = "check"     // a check of the scenario failed, see Target.Checks
	ErrTLS       = "tls"       // no TLS connection came about, or what came over it was broken
	ErrGoaway    = "h2-goaway" // HTTP/2: the server ended the connection and named an error
)

// Kind is what an error counts as, an index of Names.
type Kind uint8

// The kinds, in the order of Names.
const (
	KindConnect Kind = iota
	KindReset
	KindClosed
	KindShort
	KindStatus
	KindLength
	KindBody
	KindMalformed
	KindTimeout
	KindUnasked
	KindHeader
	KindChunk
	KindEndless
	KindCheck
	KindTLS
	KindGoaway
	KindH2   // and those of package h2 behind it
	NumKinds = KindH2 + Kind(h2.Refused)
)

// Names are what results call the kinds.
var Names = [NumKinds]string{
	ErrConnect, ErrReset, ErrClosed, ErrShort, ErrStatus,
	ErrLength, ErrBody, ErrMalformed, ErrTimeout, ErrUnasked,
	ErrHeader, ErrChunk, ErrEndless, ErrCheck,
	ErrTLS, ErrGoaway,
	// In the order of h2.Kind, from its first on.
	h2.NotHTTP2.String(), h2.Protocol.String(), h2.FrameSize.String(), h2.Flow.String(), h2.Compression.String(),
	h2.ClosedStream.String(), h2.HeaderSize.String(), h2.Flood.String(), h2.Reset.String(), h2.Refused.String(),
}

// KindOfH2 is the kind of an error of HTTP/2.
func KindOfH2(k h2.Kind) Kind {
	switch k {
	case h2.Malformed:
		return KindMalformed
	case h2.Length:
		return KindLength
	}
	return KindH2 + Kind(k-h2.NotHTTP2)
}
