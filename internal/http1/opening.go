package http1

import (
	"strconv"
	"unsafe"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// openingLines is the most fields of a handler's that an opening is kept for.
const openingLines = 3

// An opening is a head up to the value of Content-Length, its last field, and
// what it was made of. Answers of one handler rarely differ before that within a
// second, and copying an opening costs less than looking for what to format.
//
// Strings are immutable, so those with the same bytes in memory are equal; that
// others may be equal too does not matter.
type opening struct {
	text   []byte
	cfg    *Config
	date   *byte // of clock.Date, which is another each second
	status int
	n      int
	lines  [openingLines]exchange.Line
}

// is reports whether the head of r would begin like the last one.
func (o *opening) is(cfg *Config, date *byte, r *exchange.Response) bool {
	if o.date != date || o.cfg != cfg || o.status != r.Status || o.n != len(r.Lines) {
		return false
	}
	for i := range r.Lines {
		if a, b := &o.lines[i], &r.Lines[i]; !same(a.Name, b.Name) || !same(a.Value, b.Value) {
			return false
		}
	}
	return true
}

func same(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// keep remembers what text was made of.
func (o *opening) keep(text []byte, cfg *Config, date *byte, r *exchange.Response) {
	o.text = append(o.text[:0], text...)
	o.cfg, o.date, o.status, o.n = cfg, date, r.Status, len(r.Lines)
	copy(o.lines[:], r.Lines)
}

// appendOpened is appendHead for an answer over HTTP/1.1 with a body of known
// length, after which the connection stays open.
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
	if text := b[begin:end]; string(text[max(0, len(text)-len(lengthName)):]) == lengthName {
		o.keep(text, s.cfg, date, r)
	}
	return b
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
