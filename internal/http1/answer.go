package http1

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

const (
	// inlineBody is the maximum length of a body that is copied after its head, so that
	// both are one run of bytes: up to about this length copying is cheaper than another
	// element of a vectored write.
	inlineBody = 4 << 10

	// headRoom is for the lines that the session adds itself.
	headRoom = 256
)

// errTruncated is the error for an answer that does not have its announced length, which
// cannot be repaired.
var errTruncated = errors.New("redline: answer does not have its announced length")

// bodiless reports whether a status never has a body (RFC 9110, 6.4.1; 15.3.6).
func bodiless(status int) bool {
	return status < 200 && status != 0 || status == 204 || status == 205 || status == 304
}

// tunnels reports whether the answer turns the connection into a tunnel: it has
// no body, whatever its fields say (RFC 9110, 9.3.6).
func tunnels(x *exchange.Exchange) bool {
	return x.Method == exchange.MethodConnect && x.Status < 300
}

// settle decides what the head says about the body and the connection.
func (s *Session) settle(x *exchange.Exchange) {
	r := &x.Response
	r.Bodiless = x.Method == exchange.MethodHead || bodiless(r.Status)
	r.Close = r.Close || x.Request.Close || s.stopping()
	if x.ExpectContinue && !s.w.asked && !s.w.body.Done() {
		// The client may or may not send the content now (RFC 9110, 10.1.1).
		r.Close = true
	}
	if x.Method == exchange.MethodConnect {
		// There is no tunnel without a Hijack. But the client may have sent data for the
		// tunnel, which must not be taken for a request.
		r.Bodiless, r.Close = r.Bodiless || tunnels(x), true
	}
}

// finish sends the rest of the answer when the handler has returned.
func (s *Session) finish(x *exchange.Exchange) error {
	r := &x.Response
	switch {
	case r.HeadSent:
		return s.endBody(x)
	case r.Prebuilt != nil:
		s.sendPrebuilt(x)
		return nil
	case len(r.Trailers) > 0 && x.Version > exchange.HTTP10, r.Static != nil && len(r.Body) > 0:
		return s.finishParts(x)
	}
	s.settle(x)
	body := r.Body
	if r.Static != nil {
		body = r.Static
	}
	length := int64(len(body))
	if r.Length != exchange.UnknownLength {
		if !r.Bodiless && length > r.Length {
			return errTruncated // nothing of it was sent yet, and nothing of it is right
		}
		length = r.Length
	} else if length == 0 && x.Method == exchange.MethodHead {
		length = exchange.UnknownLength // it is unknown whether GET would have a body
	}
	b := s.out.Tail(s.headSize(x) + min(len(body), inlineBody))
	if r.Bodiless || r.Close || x.Version == exchange.HTTP10 || len(r.Lines) > openingLines {
		b = s.appendHead(b, x, length)
	} else {
		b = s.appendOpened(b, x, length)
	}
	switch {
	case r.Bodiless:
		s.out.Commit(b)
		return nil
	case len(body) <= inlineBody:
		s.out.Commit(append(b, body...))
	default:
		s.out.Commit(b)
		s.out.Ref(body)
		if r.Static == nil {
			r.Body = nil // the queue owns it now
		}
	}
	if int64(len(body)) < length {
		return errTruncated
	}
	return nil
}

// finishParts sends an answer that is not one run of bytes: with trailers, or with output
// written after a static body.
func (s *Session) finishParts(x *exchange.Exchange) error {
	r := &x.Response
	switch {
	case len(r.Trailers) > 0 && x.Version > exchange.HTTP10:
		r.Length = exchange.UnknownLength
	case r.Length == exchange.UnknownLength:
		r.Length = int64(len(r.Static) + len(r.Body))
	}
	if err := s.SendBody(x, nil); err != nil && err != exchange.ErrNoBody {
		return err
	}
	return s.endBody(x)
}

// sendPrebuilt sends a prebuilt answer. The answer to HEAD ends with its head. What happens
// to the connection is announced if it differs from the default.
func (s *Session) sendPrebuilt(x *exchange.Exchange) {
	whole := x.Prebuilt.Encoded(exchange.FormHTTP1, encode)
	x.Status = x.Prebuilt.Status
	s.settle(x)
	old := x.Version == exchange.HTTP10
	line := "\r\n"
	switch {
	case x.Response.Close && !old:
		line = "Connection: close\r\n\r\n"
	case !x.Response.Close && old:
		line = "Connection: keep-alive\r\n\r\n"
	}
	if len(line) > 2 || old || x.Method == exchange.MethodHead {
		n := headLen(whole)
		tail := s.out.Tail(n + len(line))
		b := append(tail, whole[:n-2]...)
		speak(b[len(tail):], x.Version)
		s.out.Commit(append(b, line...))
		if x.Method == exchange.MethodHead {
			return
		}
		whole = whole[n:]
	}
	if len(whole) <= inlineBody {
		s.out.Commit(append(s.out.Tail(len(whole)), whole...))
	} else {
		s.out.Ref(whole)
	}
}

// encode serialises an answer, without Date.
func encode(p *exchange.Prebuilt) []byte {
	b := appendStatusLine(nil, p.Status)
	for i := range p.Lines {
		b = appendLine(b, p.Lines[i].Name, p.Lines[i].Value)
	}
	if !bodiless(p.Status) {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(p.Body)), 10)
		b = append(b, '\r', '\n')
	}
	b = append(b, '\r', '\n')
	return append(b, p.Body...)
}

// headLen is the length of an answer's head with the empty line.
func headLen(whole []byte) int {
	return bytes.Index(whole, []byte("\r\n\r\n")) + 4
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

// appendHead appends the head of an answer whose body has length bytes, or an unknown
// length (exchange.UnknownLength).
func (s *Session) appendHead(b []byte, x *exchange.Exchange, length int64) []byte {
	r := &x.Response
	r.HeadSent = true
	begin := len(b)
	b = appendStatusLine(b, r.Status)
	speak(b[begin:], x.Version)
	b, has := appendLines(b, r)
	if !has.date && !r.Undated {
		b = append(b, "Date: "...)
		b = append(b, clock.Date()...)
		b = append(b, '\r', '\n')
	}
	if s.cfg.Server != "" && !has.server {
		b = appendLine(b, "Server", s.cfg.Server)
	}
	b = appendFraming(b, x, length)
	switch {
	case r.Status == 101 && has.upgrade && has.protocol:
		// The handler's Connection is sufficient: there are no more requests.
	case r.Close && (x.Version > exchange.HTTP10 || has.close):
		b = append(b, "Connection: close\r\n"...)
	case r.Close:
		// In HTTP/1.0 this is the default.
	case x.Version == exchange.HTTP10 || has.keepAlive:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	return append(b, '\r', '\n')
}

// fields records which fields the handler has set that the session would otherwise add, and
// what its Connection contains: the last two request a switch of protocols.
type fields struct{ date, server, close, keepAlive, upgrade, protocol bool }

// appendLines appends the handler's fields, and reports which are present. What Connection
// says about the connection is recorded, and written by appendHead.
func appendLines(b []byte, r *exchange.Response) (_ []byte, has fields) {
	for i := range r.Lines {
		l := &r.Lines[i]
		switch len(l.Name) {
		case len("Date"):
			has.date = has.date || exchange.FoldedEqual(l.Name, "Date")
		case len("Server"):
			has.server = has.server || exchange.FoldedEqual(l.Name, "Server")
		case len("Upgrade"):
			has.protocol = has.protocol || exchange.FoldedEqual(l.Name, "Upgrade") && l.Value != ""
		case len("Connection"):
			if exchange.FoldedEqual(l.Name, "Connection") {
				b = appendConnection(b, l.Value, &has)
				r.Close = r.Close || has.close
				continue
			}
		}
		b = appendLine(b, l.Name, l.Value)
	}
	return b, has
}

// appendConnection appends a Connection field of the handler, without the options that say
// what happens to the connection: appendHead writes those, when it is known.
func appendConnection(b []byte, value string, has *fields) []byte {
	var others []string
	for option := range strings.SplitSeq(value, ",") {
		switch option = strings.Trim(option, " \t"); {
		case exchange.FoldedEqual(option, "close"):
			has.close = true
		case exchange.FoldedEqual(option, "keep-alive"):
			has.keepAlive = true
		case option != "":
			has.upgrade = has.upgrade || exchange.FoldedEqual(option, "upgrade")
			others = append(others, option)
		}
	}
	if len(others) == 0 {
		return b
	}
	return appendLine(b, "Connection", strings.Join(others, ", "))
}

// appendFraming appends the fields that define where the body ends (RFC 9112, 6).
func appendFraming(b []byte, x *exchange.Exchange, length int64) []byte {
	r := &x.Response
	if r.Status == 205 {
		length = 0 // RFC 9110, 15.3.6
	}
	switch {
	case r.Status == 204 || r.Status == 101 || r.Status == 304 && length <= 0 || tunnels(x):
		// No Content-Length with 1xx and 204 (RFC 9110, 8.6).
	case length >= 0:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, length, 10)
		b = append(b, '\r', '\n')
	case x.Method == exchange.MethodHead:
	case x.Version == exchange.HTTP10:
		r.Close = true // the end of the connection ends the body
	default:
		r.TakesTrailers = !r.Bodiless
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if len(r.Trailers) > 0 && r.TakesTrailers {
		b = append(b, "Trailer: "...)
		for i := range r.Trailers {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, r.Trailers[i].Name...)
		}
		b = append(b, '\r', '\n')
	}
	return b
}

func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, '\r', '\n')
}

// ErrRefused ends a connection whose client may still be sending: further input is read and
// dropped for a while, so that a reset does not overtake the last answer.
var ErrRefused = errors.New("redline: connection closed before all of the input was read")

// refuse answers a faulty request, and closes the connection.
func (s *Session) refuse(out *buf.Queue, status int, reason string) error {
	s.answerError(out, status, reason)
	if s.cfg.Refused != nil {
		s.cfg.Refused(s.conn.RemoteAddr(), status, reason)
	}
	s.phase, s.in = inClose, nil
	return ErrRefused
}

// answerError answers a request that was refused, and announces that the connection closes.
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

// appendEnd appends the last chunk and the trailer section.
func appendEnd(b []byte, trailers []exchange.Line) []byte {
	b = AppendLastChunk(b)
	for i := range trailers {
		b = appendLine(b, trailers[i].Name, trailers[i].Value)
	}
	return append(b, '\r', '\n')
}
