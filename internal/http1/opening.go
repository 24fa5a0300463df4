package http1

import (
	"strconv"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// openingLines is the maximum number of a handler's fields for which an opening is stored.
const openingLines = 3

// An opening is a head up to the value of Content-Length, its last field, together with its
// sources. Answers of one handler rarely differ before that within a second, and copying an
// opening costs less than formatting.
//
// The sources are compared by their text, byte for byte: a handler's strings may be backed
// by memory that has changed since.
type opening struct {
	text    []byte
	cfg     *exchange.Config
	date    *byte // of clock.Date, which changes every second
	status  int
	n       int
	undated bool
	lines   [openingLines]struct{ name, value exchange.Span } // in text
}

// is reports whether the head of r would start like the last one.
func (o *opening) is(cfg *exchange.Config, date *byte, r *exchange.Response) bool {
	if o.date != date || o.cfg != cfg || o.status != r.Status || o.n != len(r.Lines) || o.undated != r.Undated {
		return false
	}
	for i := range r.Lines {
		at, l := &o.lines[i], &r.Lines[i]
		if string(at.value.In(o.text)) != l.Value || string(at.name.In(o.text)) != l.Name {
			return false
		}
	}
	return true
}

// keep stores the sources of text.
func (o *opening) keep(text []byte, cfg *exchange.Config, date *byte, r *exchange.Response) {
	o.text = append(o.text[:0], text...)
	o.cfg, o.date, o.status, o.n, o.undated = cfg, date, r.Status, len(r.Lines), r.Undated
	at := uint32(len(statusLine(r.Status)))
	for i := range r.Lines {
		l := &r.Lines[i]
		name, value := uint32(len(l.Name)), uint32(len(l.Value))
		o.lines[i].name = exchange.Span{Off: at, Len: name}
		o.lines[i].value = exchange.Span{Off: at + name + 2, Len: value}
		at += name + 2 + value + 2
	}
}

// appendOpened is appendHead for an HTTP/1.1 answer with a body of known length, after
// which the connection stays open.
func (s *Session) appendOpened(b []byte, x *exchange.Exchange, length int64) []byte {
	r, o := &x.Response, &s.w.opening
	date := &clock.Date()[0]
	if o.is(s.cfg, date, r) {
		r.HeadSent = true
		b = append(b, o.text...)
		b = strconv.AppendInt(b, length, 10)
		return append(b, "\r\n\r\n"...)
	}
	begin := len(b)
	b = s.appendHead(b, x, length)
	end := len(b) - len("\r\n\r\n") - digits(length)
	if !plainLines(r.Lines) || r.Close || statusLine(r.Status) == nil {
		o.date = nil // the text does not contain the lines as they are, or contains more
		return b
	}
	if text := b[begin:end]; string(text[max(0, len(text)-len(lengthName)):]) == lengthName {
		o.keep(text, s.cfg, date, r)
	}
	return b
}

// plainLines reports whether all of the lines are written unchanged.
func plainLines(lines []exchange.Line) bool {
	for i := range lines {
		if name := lines[i].Name; len(name) == len("Connection") && exchange.FoldedEqual(name, "Connection") {
			return false
		}
	}
	return true
}

const lengthName = "\r\nContent-Length: "

// digits is the number of digits of n.
func digits(n int64) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}
