package h2

import "bytes"

const maxInterim = 100 // responses of status 1xx before the final one

// abort fails a stream because of an error of the server, and resets it.
func (c *Conn) abort(slot int, e Error) {
	e.Stream = c.streams.slots[slot].id
	c.reset(slot, e.Code)
	c.handler.Fail(slot, e)
}

func (c *Conn) malformed(slot int, detail string) {
	c.abort(slot, Error{Kind: Malformed, Code: CodeProtocol, Detail: detail})
}

// stray handles a frame of a stream that ended: frames of a stream that we reset may have
// been in flight. It reports whether that is so.
func (c *Conn) stray(id uint32) bool {
	if !c.late.has(id) {
		c.fail(ClosedStream, CodeStreamClosed, "a frame on a stream that had ended")
	}
	return !c.dead
}

// takeData handles the start of a DATA frame, section 6.1. None of it is stored, so windows
// could be given back immediately; this is done in bulk.
func (c *Conn) takeData(h head, p []byte) {
	left, padding := h.length, 0
	if h.has(flagPadded) {
		left, padding = h.length-1-int(p[0]), int(p[0])
		if left < 0 {
			c.protocol("a frame with more padding than payload")
			return
		}
	}
	if c.receive -= int64(h.length); c.receive < 0 {
		c.fail(Flow, CodeFlowControl, "more data than the connection's window allows")
		return
	}
	c.data = data{left: left, padding: padding, id: h.id, end: h.has(flagEndStream)}
	slot := c.streams.find(h.id)
	if slot < 0 {
		c.stray(h.id)
		return
	}
	s := &c.streams.slots[slot]
	s.ended = c.data.end
	if s.receive -= int64(h.length); s.receive < 0 {
		c.fail(Flow, CodeFlowControl, "more data than the stream's window allows")
		return
	}
	if full := int64(c.client.set.StreamWindow); s.receive <= full/2 && !c.data.end {
		c.out = appendWindow(c.out, h.id, uint32(full-s.receive))
		s.receive = full
	}
	switch {
	case !s.answered:
		c.malformed(slot, "content before the head of an answer")
		return
	case left == 0 && !c.data.end:
		if c.idle++; c.idle > maxIdle {
			c.fail(Flood, CodeEnhanceYourCalm, "too many empty DATA frames")
		}
		return
	}
	c.idle = 0
	s.got += int64(left)
	if left > 0 && s.bodiless || s.length >= 0 && !s.bodiless && s.got > s.length {
		c.abort(slot, Error{Kind: Length, Code: CodeProtocol, Detail: "more content than the answer announced"})
	} else if left == 0 {
		c.finish(slot)
	}
}

// content consumes bytes of a DATA frame.
func (c *Conn) content(in []byte) (rest []byte) {
	d := &c.data
	if n := min(d.left, len(in)); n > 0 {
		d.left -= n
		if slot := c.streams.find(d.id); slot >= 0 {
			c.handler.Data(slot, in[:n])
			// The Handler may have cancelled the stream.
			if d.left == 0 && d.end && c.streams.find(d.id) == slot {
				c.finish(slot)
			}
		}
		return in[n:]
	}
	n := min(d.padding, len(in))
	d.padding -= n
	return in[n:]
}

// finish ends a stream whose response is complete. The rest of the request's content is no
// longer needed, section 8.1.
func (c *Conn) finish(slot int) {
	s := &c.streams.slots[slot]
	if s.length >= 0 && s.got != s.length && !s.bodiless {
		c.abort(slot, Error{Kind: Length, Code: CodeProtocol, Detail: "less content than the answer announced"})
		return
	}
	if s.sent < s.request.size {
		c.reset(slot, CodeCancel)
	} else {
		c.drop(slot)
	}
	c.handler.End(slot)
}

// takeHeaders handles the start of a header block, section 6.2.
func (c *Conn) takeHeaders(h head, p []byte) {
	before := 0 // bytes before the block
	padding := 0
	if h.has(flagPadded) {
		if len(p) == 0 {
			c.fail(FrameSize, CodeFrameSize, "a padded frame without the length of its padding")
			return
		}
		before, padding = 1, int(p[0])
	}
	if h.has(flagPriority) {
		before += 5
	}
	if before+padding > len(p) {
		c.protocol("a frame with more padding than payload")
		return
	}
	p = p[before : len(p)-padding]
	if h.has(flagEndHeaders) {
		c.takeBlock(h, p)
		return
	}
	c.opened, c.joins = h, 1
	c.block = append(c.block[:0], p...)
}

// takeContinuation continues a header block, section 6.10. If one is open, admit has
// checked that the frame belongs to it.
func (c *Conn) takeContinuation(h head, p []byte) {
	if c.opened.id == 0 {
		c.protocol("a CONTINUATION frame without a header block")
		return
	}
	c.joins++
	if c.joins > maxJoins || len(c.block)+len(p) > c.client.set.HeaderBlock {
		c.fail(HeaderSize, CodeEnhanceYourCalm, "a header block beyond the limit")
		return
	}
	c.block = append(c.block, p...)
	if h.has(flagEndHeaders) {
		opened := c.opened
		c.opened = head{}
		c.takeBlock(opened, c.block)
		c.block = shrink(c.block)
	}
}

// takeBlock handles a whole header block. It is decoded even if its stream has ended: the
// dynamic table depends on it (section 4.3).
func (c *Conn) takeBlock(h head, block []byte) {
	if len(block) > c.client.set.HeaderBlock {
		c.fail(HeaderSize, CodeEnhanceYourCalm, "a header block beyond the limit")
		return
	}
	slot := c.streams.find(h.id)
	trailer := slot >= 0 && c.streams.slots[slot].answered
	if slot < 0 || trailer || !c.repeats(block) {
		if !c.decode(block, trailer, slot >= 0 && !trailer) {
			return
		}
	}
	if slot < 0 {
		c.stray(h.id)
		return
	}
	end := h.has(flagEndStream)
	switch d := &c.decoder; {
	case d.wrong != "":
		c.malformed(slot, d.wrong)
	case trailer && !end:
		c.malformed(slot, "trailers that do not end the stream")
	case trailer:
		c.finish(slot)
	case d.head.Status < 200:
		c.interim(slot, end)
	default:
		c.head(slot, h.id, end)
	}
}

// repeats reports whether a block equals that of the last head, and would not change the
// table: the result of decoding it is still available.
func (c *Conn) repeats(block []byte) bool {
	return len(c.last) > 0 && c.lastAt == c.decoder.table.changes && bytes.Equal(c.last, block)
}

// decode decodes a block and, if it is a head that may be repeated, stores it.
func (c *Conn) decode(block []byte, trailer, head bool) bool {
	c.last = c.last[:0]
	d := &c.decoder
	before := d.table.changes
	switch d.decode(block, trailer) {
	case Compression:
		c.fail(Compression, CodeCompression, "a header block that cannot be decoded")
		return false
	case HeaderSize:
		c.fail(HeaderSize, CodeEnhanceYourCalm, "more fields than the limit allows")
		return false
	}
	if head && d.wrong == "" && before == d.table.changes && len(block) <= keepSize {
		c.last, c.lastAt = append(c.last, block...), before
	}
	return true
}

// interim handles a response of status 1xx, which another one follows (section 8.1).
func (c *Conn) interim(slot int, end bool) {
	s := &c.streams.slots[slot]
	s.interim++
	switch {
	case end:
		c.malformed(slot, "an interim answer that ends the stream")
	case c.decoder.head.Status == 101:
		c.malformed(slot, "status 101, which HTTP/2 does not support")
	case s.interim > maxInterim:
		c.abort(slot, Error{Kind: Flood, Code: CodeEnhanceYourCalm, Detail: "too many interim answers"})
	}
}

// head handles the head of a final response.
func (c *Conn) head(slot int, id uint32, end bool) {
	h := &c.decoder.head
	s := &c.streams.slots[slot]
	s.answered, s.ended, s.length = true, end, h.Length
	s.bodiless = s.bodiless || h.Status == 204 || h.Status == 304
	c.handler.Head(slot, h)
	if end && c.streams.find(id) == slot {
		c.finish(slot)
	}
}
