package exchange

import (
	"errors"
	"strings"
)

// Line is one field line of a response. The strings are immutable and may be kept; the
// setters have checked them.
type Line struct{ Name, Value string }

// UnknownLength is the [Response.Length] of a body whose length is not known when its head
// is sent.
const UnknownLength = -1

// Response is the answer to a request as set by the handler so far. The session writes it.
//
// There are three kinds of bodies: Body holds all of it when the handler returns; Static
// does, by reference; or it was sent piece by piece through the [Session], and HeadSent is
// set.
type Response struct {
	// Status is the status code; 0 means 200.
	Status int
	// Lines are ContentType and the other field lines, in their order.
	Lines []Line
	// Length is the Content-Length that the handler announced, in bytes, or UnknownLength:
	// then the session determines it.
	Length int64
	// Body is what the handler wrote and has not been sent yet. The array belongs to the
	// exchange and is reused.
	Body []byte
	// Static is a body that is sent without being copied. It belongs to the handler's
	// program and must never change.
	Static []byte
	// Prebuilt, if not nil, is the answer: everything else that was set is ignored.
	Prebuilt *Prebuilt
	// Trailers follow a chunked body.
	Trailers []Line
	// Close ends the connection after this answer.
	Close bool
	// Stands means that the answer of the handler is sent even if it could not read the
	// request's content: otherwise the session answers instead.
	Stands bool
	// Undated omits the Date field.
	Undated bool
	// HeadSent means that the head has been sent: Status and Lines no longer matter.
	HeadSent bool
	// Bodiless means that no body may follow: HEAD, 204, 304. Set with the head.
	Bodiless bool
	// TakesTrailers means that trailers may still be set. Set with the head.
	TakesTrailers bool
	// Sent counts the bytes of the body that were sent through the host.
	Sent int64
	// Aborted means that the connection is to be cut: there is no other way to tell a
	// client that the answer it is reading will not be completed.
	Aborted bool
	// Subscribed means that the response continues after its handler: see Session.Subscribe.
	Subscribed bool
	// Hijacked means that the connection no longer belongs to the session.
	Hijacked bool
}

// keptLines is how many lines of one response may outlive it in a pool.
const keptLines = 4

// keptBody is the largest body buffer that an exchange keeps for the next one.
const keptBody = 16 << 10

// ResetResponse makes the response ready for the next request.
func (r *Response) ResetResponse() {
	r.Status, r.Length = 0, UnknownLength
	if len(r.Lines) > keptLines {
		clear(r.Lines) // a few may be kept alive: clearing costs more than they do
	}
	r.Lines = r.Lines[:0]
	if cap(r.Body) > keptBody {
		r.Body = nil
	}
	r.Body = r.Body[:0]
	r.Static, r.Prebuilt = nil, nil
	if len(r.Trailers) > 0 {
		clear(r.Trailers)
		r.Trailers = r.Trailers[:0]
	}
	r.Close, r.Stands, r.Undated, r.HeadSent = false, false, false, false
	r.Bodiless, r.TakesTrailers, r.Hijacked, r.Aborted = false, false, false, false
	r.Subscribed = false
	r.Sent = 0
}

// Errors of the setters.
var (
	ErrFieldName  = errors.New("header name is not a token (RFC 9110, 5.6.2)")
	ErrFieldValue = errors.New("header value contains CR, LF, NUL or another control character (RFC 9110, 5.5)")
	ErrFraming    = errors.New("the server sets this header itself, or it is not allowed here")
	ErrHeadSent   = errors.New("the head of the response has been sent")
)

// Set replaces every line of that name, ignoring case, with one line.
func (r *Response) Set(name, value string) error {
	if err := r.check(name, value); err != nil {
		return err
	}
	r.remove(name)
	r.Lines = append(r.Lines, Line{name, value})
	return nil
}

// Add appends a line.
func (r *Response) Add(name, value string) error {
	if err := r.check(name, value); err != nil {
		return err
	}
	r.Lines = append(r.Lines, Line{name, value})
	return nil
}

// Replace sets a line of the engine's own, which needs no check.
func (r *Response) Replace(l Line) {
	if r.HeadSent {
		return
	}
	if len(r.Lines) > 0 {
		r.remove(l.Name)
	}
	r.Lines = append(r.Lines, l)
}

// SetTrailer adds a line to the trailer section, which exists only for a body of unknown
// length. Fields that frame a message, route it, or say how to read its content are refused
// (RFC 9110, 6.5.1).
func (r *Response) SetTrailer(name, value string) error {
	if err := CheckLine(name, value); err != nil {
		return err
	}
	if headOnly[strings.ToLower(name)] {
		return ErrFraming
	}
	if r.HeadSent && !r.TakesTrailers {
		return ErrHeadSent
	}
	r.Trailers = append(r.Trailers, Line{name, value})
	return nil
}

// headOnly are the fields that are not allowed in a trailer section.
var headOnly = map[string]bool{
	"cache-control": true, "connection": true, "content-encoding": true, "content-range": true, "content-type": true,
	"date": true, "expires": true, "host": true, "keep-alive": true, "location": true, "retry-after": true,
	"set-cookie": true, "te": true, "trailer": true, "upgrade": true, "vary": true, "www-authenticate": true,
}

// Abort cuts the connection without sending another byte.
func (r *Response) Abort() { r.Aborted = true }

// Del removes every line of that name, ignoring case.
func (r *Response) Del(name string) { r.remove(name) }

// GetLine returns the value of the first line of that name, ignoring case.
func (r *Response) GetLine(name string) (string, bool) {
	for i := range r.Lines {
		if FoldedEqual(r.Lines[i].Name, name) {
			return r.Lines[i].Value, true
		}
	}
	return "", false
}

func (r *Response) remove(name string) {
	kept := r.Lines[:0]
	for _, l := range r.Lines {
		if !FoldedEqual(l.Name, name) {
			kept = append(kept, l)
		}
	}
	r.Lines = kept
}

func (r *Response) check(name, value string) error {
	if r.HeadSent {
		return ErrHeadSent
	}
	return CheckLine(name, value)
}

// CheckLine checks whether a line may be sent in a head or a trailer section: nothing in it
// may end the line early (response splitting), and it must not contradict the framing that
// the session chooses.
func CheckLine(name, value string) error {
	if !ValidName(name) {
		return ErrFieldName
	}
	if !ValidValue(value) {
		return ErrFieldValue
	}
	switch len(name) {
	case len("Transfer-Encoding"):
		if FoldedEqual(name, "Transfer-Encoding") {
			return ErrFraming
		}
	case len("Content-Length"):
		if FoldedEqual(name, "Content-Length") {
			return ErrFraming
		}
	}
	return nil
}

// ValidName reports whether s is a token.
func ValidName(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// ValidValue reports whether s can be a field value: it must not contain a control
// character other than tab.
func ValidValue[T string | []byte](s T) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		if odd(w) {
			break // it may be only a tab
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// odd reports whether one of the eight bytes of w is below 0x20, or 0x7f.
func odd(w uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	below := (w - 0x20*each) &^ w
	del := w ^ 0x7f*each
	return (below|(del-each)&^del)&high != 0
}

var tokenBytes = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

// FoldedEqual reports whether two names are equal, ignoring the case of ASCII letters.
func FoldedEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		c, d := a[i], b[i]
		if c == d {
			continue
		}
		if c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z' {
			return false
		}
	}
	return true
}
