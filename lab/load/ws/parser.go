package ws

import (
	"errors"
	"fmt"
)

// The opcodes of frames, RFC 6455, section 5.2.
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	Close      = 0x8
	Ping       = 0x9
	Pong       = 0xA
)

// ErrProtocol is wrapped by the errors of Feed: what a server sent is not a frame that it may
// send. The connection can no longer be used.
var ErrProtocol = errors.New("ws: invalid frame")

// Sink receives the output of a Parser. Bytes are valid during the call.
type Sink interface {
	Part(b []byte)                   // the next bytes of a message, text or binary
	Message()                        // the message is complete
	Control(op byte, payload []byte) // Close, Ping or Pong
}

// maxControl is the limit on the payload of a control frame, section 5.5.
const maxControl = 125

// The states of a Parser.
const (
	inFirst uint8 = iota // before the first byte of a frame
	inSecond
	inLength
	inPayload
)

// A Parser finds the messages on one connection. The zero value is at its start.
type Parser struct {
	left    uint64 // bytes of the payload to go; in inLength the length so far
	control []byte // payload so far of a control frame that arrived in pieces
	state   uint8
	bytes   uint8 // of the extended length to go
	wide    uint8 // bytes that the extended length has
	op      uint8
	fin     bool
	message bool // within a message: its last frame has not ended
}

// Reset prepares p for another connection.
func (p *Parser) Reset() { *p = Parser{} }

// Begun reports whether a frame or a message is incomplete.
func (p *Parser) Begun() bool { return p.state != inFirst || p.message }

// Feed consumes bytes, split at any position. The error wraps ErrProtocol.
func (p *Parser) Feed(in []byte, to Sink) error {
	for len(in) > 0 {
		switch p.state {
		case inPayload:
			n := int(min(uint64(len(in)), p.left))
			p.take(in[:n], to)
			in = in[n:]
		default:
			if err := p.head(in[0]); err != nil {
				return err
			}
			in = in[1:]
		}
		if p.state == inPayload && p.left == 0 {
			p.end(to)
		}
	}
	return nil
}

// isControl reports whether the current frame is a control frame.
func (p *Parser) isControl() bool { return p.op >= Close }

// take receives bytes of a frame's payload.
func (p *Parser) take(b []byte, to Sink) {
	p.left -= uint64(len(b))
	switch {
	case !p.isControl():
		to.Part(b)
	case p.left == 0 && len(p.control) == 0:
		p.finish(b, to)
	default:
		p.control = append(p.control, b...)
	}
}

// finish reports a control frame whose whole payload is b.
func (p *Parser) finish(b []byte, to Sink) {
	p.state, p.control = inFirst, nil
	to.Control(p.op, b)
}

// end handles the end of a frame.
func (p *Parser) end(to Sink) {
	if p.isControl() {
		p.finish(p.control, to)
		return
	}
	p.state, p.message = inFirst, !p.fin
	if p.fin {
		to.Message()
	}
}

// head consumes a byte of a frame's head.
func (p *Parser) head(c byte) error {
	switch p.state {
	case inFirst:
		return p.first(c)
	case inSecond:
		return p.second(c)
	}
	p.left = p.left<<8 | uint64(c)
	if p.bytes--; p.bytes > 0 {
		return nil
	}
	p.state = inPayload
	switch {
	case p.left>>63 != 0:
		return fmt.Errorf("%w: a length of more than 63 bits", ErrProtocol)
	case p.left < 126 || p.wide == 8 && p.left <= 0xffff:
		return fmt.Errorf("%w: a length in more bytes than necessary", ErrProtocol)
	}
	return nil
}

// first consumes the byte with the opcode.
func (p *Parser) first(c byte) error {
	p.fin, p.op, p.state = c&0x80 != 0, c&0x0f, inSecond
	switch {
	case c&0x70 != 0:
		return fmt.Errorf("%w: reserved bits, and no extension was negotiated", ErrProtocol)
	case p.op == Close || p.op == Ping || p.op == Pong:
		if !p.fin {
			return fmt.Errorf("%w: a control frame in fragments", ErrProtocol)
		}
	case p.op > opBinary:
		return fmt.Errorf("%w: opcode %d", ErrProtocol, p.op)
	case (p.op == opContinue) != p.message:
		return fmt.Errorf("%w: a fragment without a beginning, or a message within another", ErrProtocol)
	}
	return nil
}

// second consumes the byte with the length.
func (p *Parser) second(c byte) error {
	n := c & 0x7f
	p.left, p.state = uint64(n), inPayload
	switch {
	case c&0x80 != 0:
		return fmt.Errorf("%w: masked by the server", ErrProtocol)
	case p.isControl() && n > maxControl:
		return fmt.Errorf("%w: a control frame of more than %d bytes", ErrProtocol, maxControl)
	case n == 126:
		p.left, p.state, p.bytes, p.wide = 0, inLength, 2, 2
	case n == 127:
		p.left, p.state, p.bytes, p.wide = 0, inLength, 8, 8
	}
	return nil
}
