package spec

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
