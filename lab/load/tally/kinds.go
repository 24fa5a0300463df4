package tally

import (
	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/spec"
)

// Kind is the kind of an error, an index of Names.
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
	KindH2   // followed by those of package h2
	NumKinds = KindH2 + Kind(h2.Refused)
)

// Names are the names of the kinds in results.
var Names = [NumKinds]string{
	spec.ErrConnect, spec.ErrReset, spec.ErrClosed, spec.ErrShort, spec.ErrStatus,
	spec.ErrLength, spec.ErrBody, spec.ErrMalformed, spec.ErrTimeout, spec.ErrUnasked,
	spec.ErrHeader, spec.ErrChunk, spec.ErrEndless, spec.ErrCheck,
	spec.ErrTLS, spec.ErrGoaway,
	// In the order of h2.Kind.
	h2.NotHTTP2.String(), h2.Protocol.String(), h2.FrameSize.String(), h2.Flow.String(), h2.Compression.String(),
	h2.ClosedStream.String(), h2.HeaderSize.String(), h2.Flood.String(), h2.Reset.String(), h2.Refused.String(),
}

// KindOfH2 returns the kind of an HTTP/2 error.
func KindOfH2(k h2.Kind) Kind {
	switch k {
	case h2.Malformed:
		return KindMalformed
	case h2.Length:
		return KindLength
	}
	return KindH2 + Kind(k-h2.NotHTTP2)
}
