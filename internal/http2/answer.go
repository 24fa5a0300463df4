package http2

import (
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// bodiless reports whether a status never has a body (RFC 9110, 6.4.1; 15.3.6).
func bodiless(status int) bool {
	return status < 200 && status != 0 || status == 204 || status == 205 || status == 304
}

// complete sends what is left of a response when its handler has returned.
func (st *stream) complete() {
	x := &st.x
	r := &x.Response
	if status, reason := st.blame(); status != 0 {
		st.answerError(status, reason)
		return
	}
	switch {
	case r.HeadSent:
		st.endBody()
		return
	case r.Prebuilt != nil:
		p := r.Prebuilt
		r.Status, r.Lines, r.Body, r.Static = p.Status, append(r.Lines[:0], p.Lines...), r.Body[:0], p.Body
		r.Length, r.Undated, r.Trailers = exchange.UnknownLength, true, r.Trailers[:0]
	}
	length := int64(len(r.Static) + len(r.Body))
	switch {
	case r.Length != exchange.UnknownLength:
		if r.Length < length && !bodiless(r.Status) && x.Method != exchange.MethodHead {
			st.broken()
			return
		}
		length = r.Length
	case length == 0 && x.Method == exchange.MethodHead || len(r.Trailers) > 0:
		length = exchange.UnknownLength
	}
	whole := len(r.Static)+len(r.Body) == 0 && len(r.Trailers) == 0 && length <= 0
	st.sendHead(length, whole)
	st.endBody()
}

// endBody sends the rest of the body, and its end.
func (st *stream) endBody() {
	x := &st.x
	r := &x.Response
	if st.sentEnd || st.failed != nil {
		return
	}
	for _, p := range [...][]byte{r.Static, r.Body} {
		if len(p) == 0 {
			continue
		}
		if send, err := st.fits(int64(len(p))); err == exchange.ErrLength {
			st.broken()
			return
		} else if !send {
			continue
		}
		r.Sent += int64(len(p))
		if st.queue.Len() == 0 && st.s.waiting == 0 {
			last := (len(r.Body) == 0 || len(r.Static) == 0) && len(r.Trailers) == 0 &&
				(r.Length == exchange.UnknownLength || r.Sent == r.Length)
			p = st.emit(p, last)
		}
		st.queue.Keep(p) // it stays with the exchange until it is sent
	}
	if r.Length != exchange.UnknownLength && r.Sent != r.Length && !r.Bodiless {
		st.broken()
		return
	}
	st.ending = true
	st.opened()
	st.endStream()
}

// broken resets a stream whose handler has announced another length than it wrote.
func (st *stream) broken() { _ = st.s.resetStream(st, InternalError) }

// blame returns the status and the reason for answering faulty content, 0 if the handler's
// answer stands.
func (st *stream) blame() (status int, reason string) {
	x := &st.x
	if !st.tooLong || x.Stands || x.HeadSent || x.Status >= 400 {
		return 0, ""
	}
	return 413, reasons[413]
}

// reasons are those of answers without a handler.
var reasons = map[int]string{
	400: "malformed request",
	413: "request body exceeds the limit",
	414: "request target exceeds the limit",
	417: "unknown expectation",
	431: "header section exceeds the limit",
}

// refuse answers a request without its handler.
func (s *Session) refuse(st *stream, status int) error {
	st.x.ResetResponse()
	st.answerError(status, reasons[status])
	s.refused(status, reasons[status])
	st.over()
	return s.spend(costReset)
}

// refuseMalformed answers a malformed request, and resets its stream. The answer is allowed (RFC 9113,
// 8.1.1), and it matters: without one, Go's client repeats the request again and again.
func (s *Session) refuseMalformed(st *stream) error {
	st.sendBlock(400, []exchange.Line{{Name: "Date", Value: string(clock.Date())}}, false)
	s.refused(400, reasons[400])
	return s.discard(st, ProtocolError)
}

// answerError answers with a reason as text.
func (st *stream) answerError(status int, reason string) {
	x := &st.x
	x.ResetResponse()
	x.Status = status
	x.Lines = append(x.Lines, exchange.Line{Name: "Content-Type", Value: "text/plain; charset=utf-8"})
	x.Body = append(append(x.Body, reason...), '\n')
	st.sendHead(int64(len(x.Body)), false)
	st.endBody()
}

// sendHead sends the head of the response; end means that nothing follows it.
func (st *stream) sendHead(length int64, end bool) {
	s, x := st.s, &st.x
	r := &x.Response
	r.HeadSent = true
	status := r.Status
	switch {
	case status == 0:
		status = 200
	case status < 200:
		status = 500 // 101 does not exist here (RFC 9113, 8.6), and others end no response
	}
	r.Bodiless = x.Method == exchange.MethodHead || bodiless(status)
	r.TakesTrailers = !r.Bodiless
	end = end || r.Bodiless
	if status == 204 || status == 304 && length <= 0 || x.Method == exchange.MethodConnect && status < 300 {
		length = exchange.UnknownLength // RFC 9110, 8.6
	}
	if status == 205 {
		length = 0
	}
	h := st.beginBlock(end)
	h.b = s.encoder.Status(h.b, status)
	dated, named := r.Undated, s.cfg.Server == ""
	for i := range r.Lines {
		l := &r.Lines[i]
		switch len(l.Name) {
		case len("Date"):
			dated = dated || exchange.FoldedEqual(l.Name, "Date")
		case len("Server"):
			named = named || exchange.FoldedEqual(l.Name, "Server")
		}
		h.line(l)
	}
	if !dated {
		h.b = s.encoder.Bytes(h.b, "date", clock.Date())
	}
	if !named {
		h.b = s.encoder.Field(h.b, "server", s.cfg.Server)
	}
	if length >= 0 {
		var digits [20]byte
		h.b = s.encoder.Bytes(h.b, "content-length", strconv.AppendInt(digits[:0], length, 10))
	}
	h.end()
	if end {
		st.sentEnd = true
	}
	if r.Close { // "Connection: close": the client learns at once that its next request needs another one
		s.goAway(s.lastID, NoError)
	}
}

// sendBlock sends an informational head, or one that a reset follows.
func (st *stream) sendBlock(status int, lines []exchange.Line, end bool) {
	h := st.beginBlock(end)
	h.b = st.s.encoder.Status(h.b, status)
	for i := range lines {
		h.line(&lines[i])
	}
	h.end()
}

// sendTrailers ends the stream with the trailer section.
func (st *stream) sendTrailers() {
	h := st.beginBlock(true)
	for i := range st.x.Response.Trailers {
		h.line(&st.x.Response.Trailers[i])
	}
	h.end()
}

// A headBlock is a header block that is being written: a HEADERS frame, and CONTINUATION
// frames if it is long.
type headBlock struct {
	st    *stream
	b     []byte
	begin int
	flags byte
}

// headRoom is for a usual head.
const headRoom = 512

func (st *stream) beginBlock(end bool) headBlock {
	h := headBlock{st: st, b: st.s.tail(headRoom), flags: flagEndHeaders}
	if end {
		h.flags |= flagEndStream
	}
	h.begin = len(h.b)
	h.b = appendFrame(h.b, 0, frameHeaders, h.flags, st.id)
	h.b = st.s.encoder.Begin(h.b)
	return h
}

// line adds a field, unless it is about the connection (RFC 9113, 8.2.2).
func (h *headBlock) line(l *exchange.Line) {
	switch len(l.Name) {
	case len("Connection"):
		if exchange.FoldedEqual(l.Name, "Connection") {
			if strings.Contains(strings.ToLower(l.Value), "close") {
				h.st.x.Response.Close = true
			}
			return
		}
		if exchange.FoldedEqual(l.Name, "Keep-Alive") {
			return
		}
	case len("Upgrade"):
		if exchange.FoldedEqual(l.Name, "Upgrade") {
			return
		}
	case len("Proxy-Connection"):
		if exchange.FoldedEqual(l.Name, "Proxy-Connection") {
			return
		}
	}
	h.b = h.st.s.encoder.Field(h.b, l.Name, l.Value)
}

// end completes the block.
func (h *headBlock) end() {
	s, most := h.st.s, h.st.s.peer.maxFrame
	n := len(h.b) - h.begin - frameHeader
	if n <= most {
		setLength(h.b[h.begin:], n)
		s.write(h.b)
		return
	}
	// Rare: it is cut into frames.
	block := append([]byte(nil), h.b[h.begin+frameHeader:]...)
	b := h.b[:h.begin]
	kind, flags := byte(frameHeaders), h.flags&^flagEndHeaders
	for len(block) > 0 {
		k := min(len(block), most)
		if k == len(block) {
			flags |= flagEndHeaders
		}
		b = append(appendFrame(b, k, kind, flags, h.st.id), block[:k]...)
		block = block[k:]
		kind, flags = frameContinuation, 0
	}
	s.write(b)
}

func setLength(b []byte, n int) { b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n) }

// SendInfo implements exchange.Session.
func (st *stream) SendInfo(x *exchange.Exchange, status int) error {
	st.s.mu.Lock()
	defer st.s.unlock()
	switch {
	case st.failed != nil:
		return st.failed
	case x.HeadSent:
		return exchange.ErrHeadSent
	case status == 100:
		st.asked = true
	}
	st.sendBlock(status, x.Lines, false)
	st.leaveFeed() // which sends
	for st.failed == nil && st.s.budget() <= 0 {
		st.s.crowds++
		st.s.wake() // what was left to send may have been accepted already: a turn tells
		err := st.wait(&st.writeLimit)
		if st.s.crowds--; err != nil {
			return st.fail(err)
		}
	}
	return st.failed
}

// Hijack implements exchange.Session: other exchanges use the connection.
func (st *stream) Hijack(*exchange.Exchange) (net.Conn, error) { return nil, exchange.ErrNoHijack }

// Slot implements exchange.Session.
func (st *stream) Slot() *atomic.Value { return st.s.Slot() }

// CloseConn implements exchange.Session.
func (st *stream) CloseConn() { st.s.CloseConn() }

// RemoteAddr implements exchange.Session.
func (st *stream) RemoteAddr() net.Addr { return st.s.RemoteAddr() }

// LocalAddr implements exchange.Session.
func (st *stream) LocalAddr() net.Addr { return st.s.LocalAddr() }

// TLS implements exchange.Session.
func (st *stream) TLS() *exchange.TLSState { return st.s.TLS() }
