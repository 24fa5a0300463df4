package h2

import "fmt"

// Kind is what went wrong, in the word that results count it under.
type Kind uint8

// Kinds up to HeaderSize and Flood are of the connection: Feed returns them and
// the connection is of no use any more. The others are of one stream.
const (
	NotHTTP2     Kind = iota + 1 // the server answers in another protocol
	Protocol                     // a frame that must not be there, or must not look like this
	FrameSize                    // a frame of a size that its type does not have (section 4.2)
	Flow                         // more data than a window allows, or a window beyond 2^31-1 (section 6.9)
	Compression                  // a header block that cannot be decoded (RFC 7541)
	ClosedStream                 // a frame on a stream that had ended (section 5.1)
	HeaderSize                   // a header block, or what it decodes to, beyond the limit
	Flood                        // frames that ask for work without end

	Reset     // the server reset the stream
	Refused   // the server did not process the request: it may be sent again (section 8.7)
	Malformed // an answer whose fields break section 8.1.1
	Length    // content of another length than announced
)

var kindNames = [...]string{
	NotHTTP2: "h2-not-http2", Protocol: "h2-protocol", FrameSize: "h2-frame-size", Flow: "h2-flow-control",
	Compression: "h2-compression", ClosedStream: "h2-closed-stream", HeaderSize: "h2-header-size", Flood: "h2-flood",
	Reset: "h2-reset", Refused: "h2-refused", Malformed: "malformed", Length: "length",
}

// String is the name of k, as results carry it.
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

// String is the name that the RFC gives c.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code 0x%x", uint32(c))
}

// Error is what ended a connection or a stream.
type Error struct {
	Kind   Kind
	Code   Code   // what the server said, or what it is told
	Stream uint32 // 0: the connection
	Detail string // in words; constant
}

// Error describes e in one line.
func (e Error) Error() string {
	where := "connection"
	if e.Stream != 0 {
		where = fmt.Sprintf("stream %d", e.Stream)
	}
	return fmt.Sprintf("http2: %s: %s (%s)", where, e.Detail, e.Code)
}

// Retry reports whether the server said that it did not process the request, so
// that sending it again does it no second time (RFC 9113, section 8.7).
func (e Error) Retry() bool { return e.Kind == Refused }
