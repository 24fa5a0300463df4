package http1

import (
	"net"
	"strconv"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

const (
	// inlineBody is the longest body that is copied behind its head, so that
	// both are one run of bytes: copying is cheaper than another element of a
	// vectored write up to about here.
	inlineBody = 4 << 10

	// refBody is the shortest part of a streamed body that is sent from the
	// caller's memory instead of being copied.
	refBody = 32 << 10

	// headRoom is for the lines that the session adds itself.
	headRoom = 256
)

// bodiless reports whether a status never has a body (RFC 9110, 6.4.1).
func bodiless(status int) bool {
	return status < 200 || status == 204 || status == 304
}

// finish sends what is left of the answer when the handler is done with it.
func (s *Session) finish(x *exchange.Exchange) error {
	r := &x.Response
	switch {
	case r.HeadSent:
		return s.endBody(x)
	case r.Whole != nil:
		return s.sendWhole(x)
	case len(r.Trailers) > 0:
		r.Length = exchange.UnknownLength
		if err := s.SendBody(x, r.Static); err != nil {
			return err
		}
		return s.endBody(x)
	}
	body := r.Body
	if r.Static != nil {
		body = r.Static
	}
	r.Bodiless = x.Method == exchange.MethodHead || bodiless(r.Status) && r.Status != 0
	length := int64(len(body))
	if r.Length != exchange.UnknownLength && (r.Bodiless || len(body) == 0 && r.Length > 0) {
		length = r.Length
	}
	b := s.appendHead(s.out.Tail(s.headSize(x)+min(len(body), inlineBody)), x, length)
	if r.Bodiless {
		s.out.Commit(b)
		return nil
	}
	if r.Length != exchange.UnknownLength && r.Length != int64(len(body)) {
		s.out.Commit(b)
		return ErrTruncated
	}
	if len(body) <= inlineBody {
		s.out.Commit(append(b, body...))
		return nil
	}
	s.out.Commit(b)
	s.out.Ref(body)
	if r.Static == nil {
		r.Body = nil // the queue has it now
	}
	return nil
}

// sendWhole sends an answer that was built before. The answer to HEAD ends with
// its head.
func (s *Session) sendWhole(x *exchange.Exchange) error {
	whole := x.Whole
	if x.ProtoMinor == 0 {
		x.Response.Close = true // it does not say keep-alive
	}
	if x.Method == exchange.MethodHead {
		whole = whole[:headLen(whole)]
	}
	if len(whole) <= inlineBody {
		s.out.Commit(append(s.out.Tail(len(whole)), whole...))
	} else {
		s.out.Ref(whole)
	}
	return nil
}

// headLen is the length of an answer's head with the empty line.
func headLen(whole []byte) int {
	for i := 3; i < len(whole); i++ {
		if whole[i] == '\n' && whole[i-2] == '\n' && whole[i-1] == '\r' {
			return i + 1
		}
	}
	return len(whole)
}

// headSize is an upper bound of the head's length.
func (s *Session) headSize(x *exchange.Exchange) int {
	n := headRoom + len(s.cfg.Server)
	for i := range x.Response.Trailers {
		n += len(x.Response.Trailers[i].Name) + 2
	}
	for i := range x.Lines {
		n += len(x.Lines[i].Name) + len(x.Lines[i].Value) + 4
	}
	return n
}

// appendHead appends the head of an answer with a body of length bytes, or of a
// length that is not known (exchange.UnknownLength).
func (s *Session) appendHead(b []byte, x *exchange.Exchange, length int64) []byte {
	r := &x.Response
	r.HeadSent = true
	b = appendStatusLine(b, r.Status)
	b = append(b, "Date: "...)
	b = append(b, clock.Date()...)
	b = append(b, '\r', '\n')
	if s.cfg.Server != "" {
		b = appendLine(b, "Server", s.cfg.Server)
	}
	for i := range r.Lines {
		b = appendLine(b, r.Lines[i].Name, r.Lines[i].Value)
	}
	switch {
	case r.Status == 204 || r.Status == 304 && length <= 0:
		// No Content-Length with 204 (RFC 9110, 8.6).
	case length >= 0:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, length, 10)
		b = append(b, '\r', '\n')
	case x.ProtoMinor == 0:
		r.Close = true // the end of the connection ends the body
	case !r.Bodiless || x.Method == exchange.MethodHead:
		r.Chunked = !r.Bodiless
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if len(r.Trailers) > 0 && r.Chunked {
		b = append(b, "Trailer: "...)
		for i := range r.Trailers {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, r.Trailers[i].Name...)
		}
		b = append(b, '\r', '\n')
	}
	if s.cfg.Stopping != nil && s.cfg.Stopping() {
		r.Close = true
	}
	switch {
	case x.Request.Close || r.Close:
		b = append(b, "Connection: close\r\n"...)
	case x.ProtoMinor == 0:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	return append(b, '\r', '\n')
}

func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, '\r', '\n')
}

// answerError answers a request that was refused, and says that the connection
// closes.
func (s *Session) answerError(out *buf.Queue, status int, reason string) {
	b := out.Tail(headRoom + 2*len(reason))
	b = appendStatusLine(b, status)
	b = append(b, "Date: "...)
	b = append(b, clock.Date()...)
	b = append(b, "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(reason)+1), 10)
	b = append(b, "\r\nConnection: close\r\n\r\n"...)
	b = append(b, reason...)
	out.Commit(append(b, '\n'))
}

// SendBody implements exchange.Host.
func (s *Session) SendBody(x *exchange.Exchange, p []byte) error {
	if err := s.begin(x); err != nil {
		return err
	}
	r := &x.Response
	if len(r.Body) > 0 {
		body := r.Body
		r.Body = r.Body[:0]
		if err := s.part(x, body); err != nil {
			return err
		}
	}
	return s.part(x, p)
}

// begin sends the head of an answer whose body follows piece by piece.
func (s *Session) begin(x *exchange.Exchange) error {
	r := &x.Response
	switch {
	case r.Hijacked:
		return exchange.ErrHijacked
	case r.HeadSent:
		return nil
	}
	r.Bodiless = x.Method == exchange.MethodHead || bodiless(r.Status) && r.Status != 0
	s.out.Commit(s.appendHead(s.out.Tail(s.headSize(x)), x, r.Length))
	return nil
}

// part sends one part of the body.
func (s *Session) part(x *exchange.Exchange, p []byte) error {
	r := &x.Response
	if len(p) == 0 {
		return nil
	}
	if r.Bodiless {
		if x.Method == exchange.MethodHead {
			return nil
		}
		return exchange.ErrNoBody
	}
	if r.Length != exchange.UnknownLength && r.Sent+int64(len(p)) > r.Length {
		return exchange.ErrLength
	}
	r.Sent += int64(len(p))
	if r.Chunked {
		s.out.Commit(AppendChunkHead(s.out.Tail(20), len(p)))
	}
	most := s.cfg.HighWater
	if len(p) >= refBody {
		s.out.Ref(p)
		most = 0 // the caller's memory: all of it has to be taken before we return
	} else {
		s.out.Write(p)
	}
	if r.Chunked {
		s.out.Commit(AppendChunkTail(s.out.Tail(2)))
	}
	if s.out.Len() <= most {
		return nil
	}
	return s.flush(most)
}

// flush sends what is queued and waits until at most that many bytes are left.
func (s *Session) flush(most int) error {
	s.deadline(s.cfg.WriteTimeout)
	before := s.conn.Detached()
	err := s.conn.Flush(s.out, most)
	s.waited(before)
	return err
}

// Flush implements exchange.Host.
func (s *Session) Flush(x *exchange.Exchange) error {
	if err := s.SendBody(x, nil); err != nil {
		return err
	}
	return s.flush(s.cfg.HighWater)
}

// endBody ends a body that was sent piece by piece.
func (s *Session) endBody(x *exchange.Exchange) error {
	r := &x.Response
	if len(r.Body) > 0 {
		if err := s.SendBody(x, nil); err != nil {
			return err
		}
	}
	switch {
	case r.Bodiless:
		return nil
	case r.Chunked:
		s.out.Commit(appendEnd(s.out.Tail(headRoom), r.Trailers))
		return nil
	case r.Length != exchange.UnknownLength && r.Sent != r.Length:
		return ErrTruncated
	}
	return nil
}

// appendEnd appends the last chunk and the trailer section.
func appendEnd(b []byte, trailers []exchange.Line) []byte {
	b = AppendLastChunk(b)
	for i := range trailers {
		b = appendLine(b, trailers[i].Name, trailers[i].Value)
	}
	return append(b, '\r', '\n')
}

// SendInfo implements exchange.Host.
func (s *Session) SendInfo(x *exchange.Exchange, status int) error {
	switch {
	case x.HeadSent:
		return exchange.ErrHeadSent
	case x.ProtoMinor == 0:
		return nil // HTTP/1.0 knows none (RFC 9110, 15.2)
	case status == 100:
		s.w.asked = true
	}
	b := appendStatusLine(s.out.Tail(s.headSize(x)), status)
	for i := range x.Lines {
		b = appendLine(b, x.Lines[i].Name, x.Lines[i].Value)
	}
	s.out.Commit(append(b, '\r', '\n'))
	return s.flush(s.cfg.HighWater)
}

// Hijack implements exchange.Host.
func (s *Session) Hijack(x *exchange.Exchange) (net.Conn, error) {
	if x.Hijacked {
		return nil, exchange.ErrHijacked
	}
	unread := s.in[s.off:]
	if len(s.w.rest) > 0 {
		unread = s.w.rest
	}
	c, err := s.conn.Hijack(unread, s.out)
	if err != nil {
		return nil, err
	}
	x.Hijacked = true
	s.release()
	return c, nil
}

// Detach implements exchange.Host.
func (s *Session) Detach() {
	s.yielded = true
	s.conn.Detach()
}

// Late implements exchange.Host.
func (s *Session) Late() bool { return !s.yielded && s.conn.Detached() }

// waited notes that the loop was given up to wait for the client, which is no
// fault of the handler's. before is what conn.Detached said before the wait.
func (s *Session) waited(before bool) {
	if !before && s.conn.Detached() {
		s.yielded = true
	}
}

// Detached implements exchange.Host.
func (s *Session) Detached() bool { return s.conn.Detached() }

// OnGone implements exchange.Host.
func (s *Session) OnGone(f func()) {
	s.mu.Lock()
	lost := s.lost
	if !lost {
		s.gone = f
	}
	s.mu.Unlock()
	if lost && f != nil {
		f()
	}
}

// RemoteAddr implements exchange.Host.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// LocalAddr implements exchange.Host.
func (s *Session) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// Secure implements exchange.Host.
func (s *Session) Secure() bool { return s.cfg.Secure }
