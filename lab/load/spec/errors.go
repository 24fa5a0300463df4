package spec

// The kinds of errors that a generator counts.
const (
	ErrConnect   = "connect"   // a connection could not be made
	ErrReset     = "reset"     // the peer reset the connection
	ErrClosed    = "closed"    // the peer closed the connection between responses with requests outstanding
	ErrShort     = "short"     // the peer closed the connection within a response
	ErrStatus    = "status"    // the status is not the expected one
	ErrLength    = "length"    // the length of the body is not the expected one
	ErrBody      = "body"      // the bytes of the body are not the expected ones
	ErrMalformed = "malformed" // not an HTTP/1.1 response
	ErrTimeout   = "timeout"   // no response within Spec.Timeout
	ErrUnasked   = "unasked"   // bytes that belong to no request
	ErrHeader    = "header"    // a head, or trailers, that did not end within 64 KiB
	ErrChunk     = "chunk"     // invalid chunked framing
	ErrEndless   = "endless"   // a body of unannounced length exceeds Spec.MaxBody
	ErrCheck     = "check"     // a check of the scenario failed, see Target.Checks
	ErrTLS       = "tls"       // the TLS handshake failed, or a record was invalid
	ErrGoaway    = "h2-goaway" // HTTP/2: the server closed the connection with an error code
)
