package http2

import "encoding/binary"

// A frame begins with a header of nine bytes (RFC 9113, 4.1):
//
//	length (24) | type (8) | flags (8) | R, stream (31)
const frameHeader = 9

// Preface is what a client sends first (RFC 9113, 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The types of frames (RFC 9113, 6; RFC 9218, 7.1).
const (
	frameData           = 0x0
	frameHeaders        = 0x1
	framePriority       = 0x2
	frameReset          = 0x3
	frameSettings       = 0x4
	framePushPromise    = 0x5
	framePing           = 0x6
	frameGoAway         = 0x7
	frameWindowUpdate   = 0x8
	frameContinuation   = 0x9
	framePriorityUpdate = 0x10
)

// The flags of frames.
const (
	flagEndStream  = 0x1 // DATA, HEADERS
	flagAck        = 0x1 // SETTINGS, PING
	flagEndHeaders = 0x4 // HEADERS, CONTINUATION
	flagPadded     = 0x8 // DATA, HEADERS
	flagPriority   = 0x20
)

// The settings (RFC 9113, 6.5.2; RFC 8441, 3; RFC 9218, 2.1).
const (
	settingTableSize      = 0x1
	settingEnablePush     = 0x2
	settingMaxStreams     = 0x3
	settingInitialWindow  = 0x4
	settingMaxFrame       = 0x5
	settingMaxHeaderList  = 0x6
	settingEnableConnect  = 0x8
	settingNoOldPriority  = 0x9
	settingLength         = 6
	defaultWindow         = 65535 // RFC 9113, 6.9.2
	maxWindow             = 1<<31 - 1
	defaultMaxFrame       = 16 << 10 // RFC 9113, 4.2: the minimum, and what we announce
	largestMaxFrame       = 1<<24 - 1
	defaultPeerTable      = 4096
	priorityLength        = 5
	resetLength           = 4
	pingLength            = 8
	windowUpdateLength    = 4
	minGoAwayLength       = 8
	minPriorityUpdateSize = 4
)

// A Code is an error code of RESET_STREAM and GOAWAY frames (RFC 9113, 7).
type Code uint32

// The error codes.
const (
	NoError            Code = 0x0
	ProtocolError      Code = 0x1
	InternalError      Code = 0x2
	FlowControlError   Code = 0x3
	SettingsTimeout    Code = 0x4
	StreamClosed       Code = 0x5
	FrameSizeError     Code = 0x6
	RefusedStream      Code = 0x7
	Cancel             Code = 0x8
	CompressionError   Code = 0x9
	ConnectError       Code = 0xa
	EnhanceYourCalm    Code = 0xb
	InadequateSecurity Code = 0xc
	HTTP11Required     Code = 0xd
	numCodes                = 0xe
)

var codeNames = [numCodes]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String returns the name of RFC 9113.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown error code"
}

// A frame is one frame whose payload has arrived.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte // borrowed from the input
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// parseFrame returns the frame at the beginning of in, and its length, 0 if it is not
// complete. tooLong means that its payload is longer than we accept.
func parseFrame(in []byte) (f frame, n int, tooLong bool) {
	if len(in) < frameHeader {
		return f, 0, false
	}
	length := int(in[0])<<16 | int(in[1])<<8 | int(in[2])
	f.kind, f.flags, f.stream = in[3], in[4], binary.BigEndian.Uint32(in[5:])&maxWindow
	if length > defaultMaxFrame {
		return f, 0, true
	}
	if n = frameHeader + length; n > len(in) {
		return f, 0, false
	}
	f.payload = in[frameHeader:n:n]
	return f, n, false
}

// unpad removes the padding of a DATA or HEADERS frame. It reports false if there is more of
// it than payload.
func (f *frame) unpad() bool {
	if !f.has(flagPadded) {
		return true
	}
	if len(f.payload) == 0 || int(f.payload[0]) >= len(f.payload) {
		return false
	}
	f.payload = f.payload[1 : len(f.payload)-int(f.payload[0])]
	return true
}

// appendFrame appends a frame's header.
func appendFrame(b []byte, length int, kind, flags byte, stream uint32) []byte {
	return append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// appendWord appends a frame with a payload of 32 bits: RESET_STREAM or WINDOW_UPDATE.
func appendWord(b []byte, kind byte, stream, word uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, kind, 0, stream), word)
}

// appendGoAway appends a GOAWAY frame.
func appendGoAway(b []byte, last uint32, code Code) []byte {
	b = appendFrame(b, minGoAwayLength, frameGoAway, 0, 0)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, last), uint32(code))
}

// appendSetting appends one setting to the payload of a SETTINGS frame.
func appendSetting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}
