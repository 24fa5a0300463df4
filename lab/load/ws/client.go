package ws

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
)

// guid is the constant of RFC 6455, section 1.3.
const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Accept returns the value of Sec-WebSocket-Accept that answers a Sec-WebSocket-Key.
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + guid))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// AppendFrame appends a client's frame with that opcode and the whole payload, masked with mask
// (section 5.3).
func AppendFrame(b []byte, op byte, payload []byte, mask [4]byte) []byte {
	b = append(b, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, mask[:]...)
	for i, c := range payload {
		b = append(b, c^mask[i&3])
	}
	return b
}

// AppendText appends a client's text message.
func AppendText(b, payload []byte, mask [4]byte) []byte {
	return AppendFrame(b, opText, payload, mask)
}
