package h2

// Handler receives the events of a connection. Feed calls its methods; they may call
// AppendRequest, AppendPending, Cancel and Leave of the same Conn, but not Feed. A slot is
// a stream's index, from 0 to Settings.Streams-1, for the caller's data about a request. It
// is free again when End or Fail is called, so an AppendRequest within those may return it.
type Handler interface {
	// Head receives the status and fields of a final response.
	Head(slot int, h *Head)
	// Data receives a piece of the response's content, never empty, valid until it returns.
	Data(slot int, b []byte)
	// End reports that the response is complete and has the announced length.
	End(slot int)
	// Fail reports that the stream ended with an error. The connection continues.
	Fail(slot int, err Error)
}

// Conn is one connection.
type Conn struct {
	client  *Client
	handler Handler
	encoder encoder
	decoder decoder
	streams streams
	late    lately
	nextID  uint32

	// State that the server announced.
	settled  bool // its first SETTINGS frame was received
	acked    bool // it acknowledged ours
	most     int  // limit on streams
	window   int64
	leaving  bool // no more requests: GOAWAY was sent or received
	lastID   uint32
	leftWith Code

	send    int64 // send window of the connection
	receive int64
	queue   [2]int32 // streams with content to send: first and last, -1: none

	out  []byte // pending
	acks int    // bytes of it that acknowledge frames of the server
	idle int    // empty DATA frames in succession

	part   []byte // an incomplete frame
	data   data
	block  []byte // an incomplete header block
	joins  int    // frames of it so far
	opened head   // frame that began it; id 0: there is none
	last   []byte // block of the last head, if a repetition need not be decoded
	lastAt uint32 // decoder.table.changes at that time

	err  Error
	dead bool

	contentErr error // of a Content
}

// data is the rest of the DATA frame being read.
type data struct {
	left, padding int
	id            uint32
	end           bool
}

// New begins a connection. The first bytes to send are pending.
func (c *Client) New(h Handler) *Conn {
	return &Conn{
		client: c, handler: h, nextID: 1,
		encoder: encoder{limit: tableSize, changes: 1},
		decoder: decoder{client: c, table: table{limit: tableSize}, head: Head{values: make([][]byte, len(c.set.Want))}},
		most:    maxID, window: firstWindow, lastID: maxID,
		send: firstWindow, receive: int64(c.set.ConnWindow),
		queue: [2]int32{-1, -1},
		out:   append([]byte(nil), c.preface...),
	}
}

// Settled reports whether the server's settings were received, which completes the setup of
// a connection (section 3.4).
func (c *Conn) Settled() bool { return c.settled }

// Room returns how many requests may be appended now: none before the server's settings
// were received, after GOAWAY, and when the stream identifiers are used up.
func (c *Conn) Room() int {
	if !c.settled || c.leaving || c.dead || c.nextID > maxID {
		return 0
	}
	room := min(c.client.set.Streams, c.most) - c.streams.active
	return max(0, min(room, int((maxID-c.nextID)/2+1)))
}

// Active returns how many requests are waiting for the end of their responses.
func (c *Conn) Active() int { return c.streams.active }

// Leaving reports whether the connection accepts no more requests, and the code of the
// server's GOAWAY. Close it once Active is 0 as well.
func (c *Conn) Leaving() (bool, Code) {
	return c.leaving || c.nextID > maxID, c.leftWith
}

// Err returns the error that ended the connection, or nil.
func (c *Conn) Err() error {
	if !c.dead {
		return nil
	}
	return &c.err
}

// ContentErr returns why the content of a request could not be read, or nil. It ended the
// connection.
func (c *Conn) ContentErr() error { return c.contentErr }

// AppendRequest appends a request to dst: its header block, and as much of its content as
// windows and one frame allow; the rest is pending. It returns the slot of the stream, or
// -1 if there is no Room.
func (c *Conn) AppendRequest(dst []byte, r *Request) (slot int, out []byte) {
	if c.Room() == 0 {
		return -1, dst
	}
	id := c.nextID
	c.nextID += 2
	slot = c.streams.open(id)
	s := &c.streams.slots[slot]
	s.request, s.bodiless = r, r.head
	s.send, s.receive = c.window, int64(c.client.set.StreamWindow)
	flags := byte(flagEndHeaders)
	if r.size == 0 {
		flags |= flagEndStream
	}
	from := len(dst)
	dst = appendHead(dst, 0, frameHeaders, flags, id)
	dst = c.encoder.append(dst, r)
	n := len(dst) - from - frameHeader
	if n > maxFrame {
		dst = c.split(dst, from, id)
	} else {
		dst[from], dst[from+1], dst[from+2] = byte(n>>16), byte(n>>8), byte(n)
	}
	if r.size > 0 {
		dst, _ = c.appendData(dst, slot, maxFrame)
		c.enqueue(slot)
	}
	return slot, dst
}

// split distributes the block after a frame header at from over CONTINUATION frames,
// section 6.10.
func (c *Conn) split(dst []byte, from int, id uint32) []byte {
	block := append(c.client.block[:0], dst[from+frameHeader:]...)
	flags := dst[from+4] &^ flagEndHeaders
	dst = appendHead(dst[:from], maxFrame, frameHeaders, flags, id)
	dst = append(dst, block[:maxFrame]...)
	for rest := block[maxFrame:]; len(rest) > 0; {
		n := min(len(rest), maxFrame)
		flags = 0
		if n == len(rest) {
			flags = flagEndHeaders
		}
		dst = append(appendHead(dst, n, frameContinuation, flags, id), rest[:n]...)
		rest = rest[n:]
	}
	c.client.block = block[:0]
	return dst
}

// Cancel resets a stream that the caller gave up, for example after a timeout. The slot is
// free, and the Handler is not called. A stream that has ended on both sides is not reset:
// nothing may be sent on it any more (section 5.1).
func (c *Conn) Cancel(slot int) {
	switch s := &c.streams.slots[slot]; {
	case s.id == 0 || c.dead:
	case s.ended && s.sent == s.request.size:
		c.drop(slot)
	default:
		c.reset(slot, CodeCancel)
	}
}

// reset closes a stream and sends RST_STREAM.
func (c *Conn) reset(slot int, code Code) {
	id := c.streams.slots[slot].id
	c.drop(slot)
	c.late.add(id)
	c.out = appendReset(c.out, id, code)
}

// drop closes a stream silently.
func (c *Conn) drop(slot int) {
	if c.streams.slots[slot].queued {
		c.dequeue(slot)
	}
	c.streams.close(slot)
}

// Leave sends GOAWAY: there is no more Room, and requests in flight continue to their end.
func (c *Conn) Leave() {
	if !c.leaving && !c.dead {
		c.leaving = true
		c.out = appendGoaway(c.out, CodeNone)
	}
}

// Pending reports whether AppendPending has something to append.
func (c *Conn) Pending() bool {
	return len(c.out) > 0 || !c.dead && (c.owes() || c.queue[0] >= 0 && c.send > 0)
}

// owes reports whether at least half of the connection's window is to be given back.
func (c *Conn) owes() bool { return c.receive <= int64(c.client.set.ConnWindow)/2 }

// AppendPending appends the pending frames, and up to most bytes of the content of requests
// that waited for their windows.
func (c *Conn) AppendPending(dst []byte, most int) []byte {
	dst = append(dst, c.out...)
	c.out, c.acks = shrink(c.out), 0
	if c.dead {
		return dst
	}
	if c.owes() {
		full := int64(c.client.set.ConnWindow)
		dst = appendWindow(dst, 0, uint32(full-c.receive))
		c.receive = full
	}
	for c.queue[0] >= 0 && c.send > 0 && most > 0 {
		slot := int(c.queue[0])
		c.dequeue(slot)
		var n int
		if dst, n = c.appendData(dst, slot, most); c.dead {
			break
		}
		most -= n
		c.enqueue(slot)
	}
	return dst
}

// keepSize is the capacity up to which a connection keeps an unused buffer.
const keepSize = 2 << 10

func shrink(b []byte) []byte {
	if cap(b) > keepSize {
		return nil
	}
	return b[:0]
}

// appendData appends one frame of at most most bytes of a stream's content, and returns how
// many it has.
func (c *Conn) appendData(dst []byte, slot, most int) (out []byte, n int) {
	s := &c.streams.slots[slot]
	r := s.request
	n = int(max(0, min(c.send, s.send, int64(most), maxFrame, r.size-s.sent)))
	if n == 0 {
		return dst, 0
	}
	flags := byte(0)
	if s.sent+int64(n) == r.size {
		flags = flagEndStream
	}
	dst = appendHead(dst, n, frameData, flags, s.id)
	if r.source != nil {
		from := len(dst)
		if dst, c.contentErr = r.source.AppendContentAt(dst, s.sent, n); c.contentErr != nil {
			c.fail(Protocol, CodeInternal, "the content of a request cannot be read")
			return dst[:from-frameHeader], 0
		}
		s.sent += int64(n)
	}
	for left := n; left > 0 && r.source == nil; {
		at := int(s.sent % int64(len(r.body)))
		k := min(left, len(r.body)-at)
		dst = append(dst, r.body[at:at+k]...)
		s.sent += int64(k)
		left -= k
	}
	c.send -= int64(n)
	s.send -= int64(n)
	return dst, n
}

// enqueue queues a stream for sending if it has content to send and a window for it.
func (c *Conn) enqueue(slot int) {
	s := &c.streams.slots[slot]
	if s.queued || s.send <= 0 || s.request == nil || s.sent == s.request.size {
		return
	}
	s.queued, s.next = true, -1
	if c.queue[1] >= 0 {
		c.streams.slots[c.queue[1]].next = int32(slot)
	} else {
		c.queue[0] = int32(slot)
	}
	c.queue[1] = int32(slot)
}

// dequeue removes a stream from the queue. It is nearly always the first.
func (c *Conn) dequeue(slot int) {
	s := &c.streams.slots[slot]
	before := int32(-1)
	for i := c.queue[0]; i != int32(slot); i = c.streams.slots[i].next {
		before = i
	}
	if before < 0 {
		c.queue[0] = s.next
	} else {
		c.streams.slots[before].next = s.next
	}
	if c.queue[1] == int32(slot) {
		c.queue[1] = before
	}
	s.queued, s.next = false, -1
}
