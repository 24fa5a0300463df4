package h2

import "fmt"

// Kind is the kind of an error.
type Kind uint8

// Kinds up to HeaderSize and Flood concern the connection: Feed returns them and the
// connection can no longer be used. The others concern one stream.
const (
	NotHTTP2     Kind = iota + 1 // the server uses another protocol
	Protocol                     // a frame that is not allowed, or is invalid
	FrameSize                    // a frame size that its type does not allow (section 4.2)
	Flow                         // more data than a window allows, or a window larger than 2^31-1 (section 6.9)
	Compression                  // a header block that cannot be decoded (RFC 7541)
	ClosedStream                 // a frame on a stream that had ended (section 5.1)
	HeaderSize                   // a header block, encoded or decoded, that exceeds the limit
	Flood                        // an endless sequence of frames that require work

	Reset     // the server reset the stream
	Refused   // the server did not process the request: it may be retried (section 8.7)
	Malformed // a response whose fields violate section 8.1.1
	Length    // the content does not have the announced length
)

var kindNames = [...]string{
	NotHTTP2: "h2-not-http2", Protocol: "h2-protocol", FrameSize: "h2-frame-size", Flow: "h2-flow-control",
	Compression: "h2-compression", ClosedStream: "h2-closed-stream", HeaderSize: "h2-header-size", Flood: "h2-flood",
	Reset: "h2-reset", Refused: "h2-refused", Malformed: "malformed", Length: "length",
}

// String returns the name of k in results.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "h2-unknown"
}

// Code is an error code of RFC 9113, section 7.
type Code uint32

// The codes that RFC 9113, section 7, defines.
const (
	CodeNone               Code = 0x0
	CodeProtocol           Code = 0x1
	CodeInternal           Code = 0x2
	CodeFlowControl        Code = 0x3
	CodeSettingsTimeout    Code = 0x4
	CodeStreamClosed       Code = 0x5
	CodeFrameSize          Code = 0x6
	CodeRefusedStream      Code = 0x7
	CodeCancel             Code = 0x8
	CodeCompression        Code = 0x9
	CodeConnect            Code = 0xa
	CodeEnhanceYourCalm    Code = 0xb
	CodeInadequateSecurity Code = 0xc
	CodeHTTP11Required     Code = 0xd
)

var codeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String returns the name of c in the RFC.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code 0x%x", uint32(c))
}

// Error is an error that ended a connection or a stream.
type Error struct {
	Kind   Kind
	Code   Code   // received from the server, or sent to it
	Stream uint32 // 0: the connection
	Detail string // a constant message
}

// Error returns e as one line.
func (e Error) Error() string {
	where := "connection"
	if e.Stream != 0 {
		where = fmt.Sprintf("stream %d", e.Stream)
	}
	return fmt.Sprintf("http2: %s: %s (%s)", where, e.Detail, e.Code)
}

// Retry reports whether the server stated that it did not process the request, so that a
// retry does not repeat it (RFC 9113, section 8.7).
func (e Error) Retry() bool { return e.Kind == Refused }
