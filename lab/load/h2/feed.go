package h2

import (
	"bytes"
	"encoding/binary"
)

const (
	maxAcks  = 16 << 10 // bytes of acknowledgements that are still pending
	maxIdle  = 1000     // empty DATA frames in succession
	maxJoins = 128      // frames of one header block
)

// Feed consumes all bytes of in, which come from the server and may be split at any
// position. An error is an *Error and ends the connection: the pending output then reports
// the error to the server, and Feed returns the same error from then on.
func (c *Conn) Feed(in []byte) error {
	for len(in) > 0 && !c.dead {
		switch {
		case c.data.left+c.data.padding > 0:
			in = c.content(in)
		case len(c.part) > 0:
			in = c.join(in)
		default:
			in = c.frame(in)
		}
	}
	return c.Err()
}

// fail ends the connection.
func (c *Conn) fail(k Kind, code Code, detail string) {
	if c.dead {
		return
	}
	c.dead = true
	c.err = Error{Kind: k, Code: code, Detail: detail}
	c.out = appendGoaway(c.out, code)
	c.part, c.block, c.last = nil, nil, nil
}

func (c *Conn) protocol(detail string) { c.fail(Protocol, CodeProtocol, detail) }

// frame handles a frame, or stores the available part. For a DATA frame only the beginning
// is needed.
func (c *Conn) frame(in []byte) (rest []byte) {
	if len(in) < frameHeader {
		c.part = append(c.part, in...)
		if !c.settled && !c.plausible() {
			c.fail(NotHTTP2, CodeProtocol, "the server does not answer in HTTP/2")
		}
		return nil
	}
	h := parseHead(in)
	if !c.admit(h, in) {
		return nil
	}
	need := frameHeader + payload(h)
	if len(in) < need {
		c.part = append(c.part, in...)
		return nil
	}
	c.take(h, in[frameHeader:need])
	return in[need:]
}

// join completes a frame that began in earlier bytes.
func (c *Conn) join(in []byte) (rest []byte) {
	need := frameHeader
	if len(c.part) >= frameHeader {
		need += payload(parseHead(c.part))
	}
	n := min(need-len(c.part), len(in))
	c.part = append(c.part, in[:n]...)
	if len(c.part) < need {
		return nil
	}
	h := parseHead(c.part)
	if need == frameHeader {
		if !c.admit(h, c.part) {
			return nil
		}
		if payload(h) > 0 {
			return in[n:]
		}
	}
	c.take(h, c.part[frameHeader:])
	c.part = shrink(c.part)
	return in[n:]
}

// payload returns how much of a frame's payload must be available before it can be handled.
func payload(h head) int {
	switch {
	case h.typ != frameData:
		return h.length
	case h.has(flagPadded):
		return 1
	}
	return 0
}

// plausible reports whether c.part can be the beginning of a SETTINGS frame.
func (c *Conn) plausible() bool {
	return len(c.part) < 4 || c.part[3] == frameSettings && c.part[0] == 0
}

// sizes are the payload sizes of frame types, RFC 9113, section 6; -1: any.
var sizes = [...]int{
	frameData: -1, frameHeaders: -1, framePriority: 5, frameReset: 4, frameSettings: -1, framePush: -1,
	framePing: 8, frameGoaway: -1, frameWindow: 4, frameContinuation: -1,
}

// admit checks a frame's header, before any of the frame is stored.
func (c *Conn) admit(h head, in []byte) bool {
	switch {
	case !c.settled && (bytes.HasPrefix(in, []byte("HTTP/")) || h.length > maxFrame):
		c.fail(NotHTTP2, CodeProtocol, "the server does not answer in HTTP/2")
	case h.length > maxFrame:
		c.fail(FrameSize, CodeFrameSize, "a frame that exceeds the allowed size")
	case !c.settled && (h.typ != frameSettings || h.has(flagAck)):
		c.protocol("the first frame is not a SETTINGS frame")
	case c.opened.id != 0 && (h.typ != frameContinuation || h.id != c.opened.id):
		c.protocol("another frame within a header block")
	case int(h.typ) >= len(sizes):
		return true // ignored, section 5.5
	case sizes[h.typ] >= 0 && h.length != sizes[h.typ]:
		c.fail(FrameSize, CodeFrameSize, "a frame size that its type does not allow")
	case h.typ == frameData && h.has(flagPadded) && h.length == 0:
		c.fail(FrameSize, CodeFrameSize, "a padded frame without the length of its padding")
	case !c.admitStream(h):
		c.protocol("a frame with a stream identifier that is not allowed")
	}
	return !c.dead
}

// admitStream checks the stream identifier of a frame, section 5.1.1.
func (c *Conn) admitStream(h head) bool {
	switch h.typ {
	case frameSettings, framePing, frameGoaway:
		return h.id == 0
	case framePush: // push was disabled, section 8.4
		return false
	case framePriority:
		return h.id != 0 // it may name any stream, and has no meaning any more
	case frameWindow:
		if h.id == 0 {
			return true
		}
	}
	return h.id&1 == 1 && h.id < c.nextID
}

// take handles a frame whose header was admitted.
func (c *Conn) take(h head, p []byte) {
	switch h.typ {
	case frameData:
		c.takeData(h, p)
	case frameHeaders:
		c.takeHeaders(h, p)
	case frameContinuation:
		c.takeContinuation(h, p)
	case frameReset:
		c.takeReset(h, Code(binary.BigEndian.Uint32(p)))
	case frameSettings:
		c.takeSettings(h, p)
	case framePing:
		if !h.has(flagAck) { // an unsolicited acknowledgement is ignored
			c.acknowledge(appendHead(c.out, 8, framePing, flagAck, 0), p)
		}
	case frameGoaway:
		c.takeGoaway(p)
	case frameWindow:
		c.takeWindow(h, int64(binary.BigEndian.Uint32(p)&maxWindow))
	}
}

// acknowledge makes out pending, followed by p.
func (c *Conn) acknowledge(out, p []byte) {
	c.acks += frameHeader + len(p)
	c.out = append(out, p...)
	if c.acks > maxAcks {
		c.fail(Flood, CodeEnhanceYourCalm, "more PING or SETTINGS frames than can be acknowledged")
	}
}

// takeSettings applies the server's settings, section 6.5.
func (c *Conn) takeSettings(h head, p []byte) {
	switch {
	case h.has(flagAck) && len(p) > 0, len(p)%6 != 0:
		c.fail(FrameSize, CodeFrameSize, "a SETTINGS frame of an invalid size")
		return
	case h.has(flagAck):
		if c.acked {
			c.protocol("an acknowledgement of settings that were not sent")
		}
		c.acked = true
		return
	}
	window := c.window
	for ; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case setHeaderTable:
			c.encoder.setLimit(value)
		case setPush:
			if value != 0 {
				c.protocol("the server enables push")
				return
			}
		case setStreams:
			c.most = int(min(value, maxID))
		case setWindow:
			if value > maxWindow {
				c.fail(Flow, CodeFlowControl, "an initial window beyond 2^31-1")
				return
			}
			window = int64(value)
		case setFrame: // our frames are within the size that every peer accepts
			if value < maxFrame || value > 1<<24-1 {
				c.protocol("an invalid maximum frame size")
				return
			}
		}
	}
	if by := window - c.window; by != 0 && !c.rewindow(by) {
		return
	}
	c.window = window
	c.settled = true
	c.acknowledge(appendHead(c.out, 0, frameSettings, flagAck, 0), nil)
}

// rewindow changes the windows of all streams, section 6.9.2.
func (c *Conn) rewindow(by int64) bool {
	for i := range c.streams.slots {
		s := &c.streams.slots[i]
		if s.id == 0 {
			continue
		}
		if s.send += by; s.send > maxWindow {
			c.fail(Flow, CodeFlowControl, "a stream's window beyond 2^31-1")
			return false
		}
		c.enqueue(i)
	}
	return true
}

// takeWindow handles a WINDOW_UPDATE frame, section 6.9.
func (c *Conn) takeWindow(h head, by int64) {
	if h.id == 0 {
		switch c.send += by; {
		case by == 0:
			c.protocol("a window update of 0")
		case c.send > maxWindow:
			c.fail(Flow, CodeFlowControl, "the connection's window beyond 2^31-1")
		}
		return
	}
	slot := c.streams.find(h.id)
	if slot < 0 {
		return // it may have been sent before the server knew that the stream had ended
	}
	s := &c.streams.slots[slot]
	switch s.send += by; {
	case by == 0:
		c.abort(slot, Error{Kind: Protocol, Code: CodeProtocol, Detail: "a window update of 0"})
	case s.send > maxWindow:
		c.abort(slot, Error{Kind: Flow, Code: CodeFlowControl, Detail: "a stream's window beyond 2^31-1"})
	default:
		c.enqueue(slot)
	}
}

// takeReset handles an RST_STREAM frame, section 6.4.
func (c *Conn) takeReset(h head, code Code) {
	slot := c.streams.find(h.id)
	if slot < 0 {
		return
	}
	c.drop(slot)
	e := Error{Kind: Reset, Code: code, Stream: h.id, Detail: "the server reset the stream"}
	if code == CodeRefusedStream {
		e.Kind = Refused
	}
	c.handler.Fail(slot, e)
}

// takeGoaway handles a GOAWAY frame, section 6.8.
func (c *Conn) takeGoaway(p []byte) {
	if len(p) < 8 {
		c.fail(FrameSize, CodeFrameSize, "a GOAWAY frame of an invalid size")
		return
	}
	last := binary.BigEndian.Uint32(p) & maxID
	if last > c.lastID {
		c.protocol("a GOAWAY frame that revokes an earlier one")
		return
	}
	c.lastID, c.leaving, c.leftWith = last, true, Code(binary.BigEndian.Uint32(p[4:]))
	for slot := range c.streams.slots {
		if id := c.streams.slots[slot].id; id > last {
			c.drop(slot)
			c.handler.Fail(slot, Error{Kind: Refused, Code: c.leftWith, Stream: id, Detail: "the server sent GOAWAY before it accepted the request"})
		}
	}
}
