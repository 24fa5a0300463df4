package h2

import "encoding/binary"

const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeader = 9
	maxFrame    = 16 << 10 // payload of a frame, in both directions: the default of SETTINGS_MAX_FRAME_SIZE
	maxWindow   = 1<<31 - 1
	maxID       = 1<<31 - 1
	firstWindow = 1<<16 - 1 // of the connection and of streams, before any setting
)

// Types of frames, RFC 9113, section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoaway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9
)

const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings, RFC 9113, section 6.5.2.
const (
	setHeaderTable = 0x1
	setPush        = 0x2
	setStreams     = 0x3
	setWindow      = 0x4
	setFrame       = 0x5
	setHeaderList  = 0x6
)

// head is the header of a frame.
type head struct {
	length int
	typ    byte
	flags  byte
	id     uint32
}

// parseHead parses the frame header at the start of in.
func parseHead(in []byte) head {
	_ = in[8]
	return head{
		length: int(in[0])<<16 | int(in[1])<<8 | int(in[2]),
		typ:    in[3], flags: in[4],
		id: binary.BigEndian.Uint32(in[5:]) & maxID, // the reserved bit is ignored, section 4.1
	}
}

func (h head) has(flag byte) bool { return h.flags&flag != 0 }

func appendHead(dst []byte, length int, typ, flags byte, id uint32) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), typ, flags, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), value)
}

func appendWindow(dst []byte, id, by uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(dst, 4, frameWindow, 0, id), by)
}

func appendReset(dst []byte, id uint32, code Code) []byte {
	return binary.BigEndian.AppendUint32(appendHead(dst, 4, frameReset, 0, id), uint32(code))
}

func appendGoaway(dst []byte, code Code) []byte {
	dst = binary.BigEndian.AppendUint32(appendHead(dst, 8, frameGoaway, 0, 0), 0) // no stream of the server was ever accepted
	return binary.BigEndian.AppendUint32(dst, uint32(code))
}
