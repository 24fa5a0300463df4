package sse

import (
	"bytes"
	"errors"
	"math"
)

// Format is how a stream separates its records.
type Format uint8

// The formats.
const (
	Events  Format = iota // server-sent events (HTML, section 9.2)
	Lines                 // JSON, one record a line; lines of blanks are none
	Length4               // four bytes of length, big endian, before each record
	Varint                // a base-128 varint of length before each, as protobuf's delimited messages have it
)

// Field is a field of a server-sent event that a Scanner tells apart. A record
// of the other formats has nothing but Data.
type Field uint8

// The fields.
const (
	Data    Field = iota
	Type          // event
	ID            //
	Retry         //
	Extra         // the field that the stream's time or id is in, by a name of its own
	unknown       // to be ignored
)

// Sink takes what a Scanner finds.
type Sink interface {
	// Part takes the next bytes of a field's value; they are valid during the call.
	Part(f Field, b []byte)
	// Ended says that the value of a field is complete; it may be empty. Of a
	// record over the limit neither Part nor Ended is called any more.
	Ended(f Field)
	// Record says that a record is complete.
	Record()
	// Oversized says that a record over the limit has ended, instead of Record.
	Oversized()
	// Comment says that a line was a comment, as servers send to keep a
	// connection alive.
	Comment()
}

// ErrFraming says that a length was not one: a varint of more than 63 bits.
// There is no way back into step, so that the connection is of no more use.
var ErrFraming = errors.New("sse: length of a record is not a varint of 63 bits")

const bom = "\xef\xbb\xbf"

// The states of a Scanner.
const (
	atStart  = iota // of the stream: a byte order mark is skipped
	atLine          // at the beginning of a line
	inName          // of a field
	atValue         // after the colon: one space is skipped
	inValue         //
	inRest          // of a line that is ignored
	inLength        // of a length-delimited record
	inRecord        //
	broken          //
)

// A Scanner finds the records of one stream. Its zero value is at the beginning
// of a stream of server-sent events without a limit; see [NewScanner].
type Scanner struct {
	left   uint64 // bytes of a length-delimited record to come; its length before
	limit  uint32 // bytes of a record, field names and line ends not counted; 0: none
	size   uint32 // of the present record
	format Format
	state  uint8
	field  Field // of the present line
	pos    uint8 // bytes seen of a byte order mark, name or length
	names  uint8 // that the present name may still become, a bit each
	cr     bool  // the last byte was CR: an LF belongs to it
	some   bool  // the record has something in it
}

// NewScanner returns a Scanner at the beginning of a stream. A limit of 0 is
// none.
func NewScanner(format Format, limit uint32) Scanner {
	s := Scanner{format: format, limit: limit}
	s.Reset()
	return s
}

// Reset puts the Scanner at the beginning of a new stream of the same format,
// and reports whether the old one was cut within a record.
func (s *Scanner) Reset() (cut bool) {
	switch s.format {
	case Events:
		cut = s.some || s.state == inName || s.state > inName && s.field != unknown
	case Lines:
		cut = s.some
	case Length4, Varint:
		cut = s.state == inRecord || s.pos > 0
	}
	*s = Scanner{format: s.format, limit: s.limit}
	switch s.format {
	case Lines:
		s.state = atLine
	case Length4, Varint:
		s.state = inLength
	}
	return cut
}

// Feed takes the next bytes of the stream. extra is the name of the field that
// is handed over as Extra, or empty. The error is ErrFraming or nil.
func (s *Scanner) Feed(b []byte, extra string, to Sink) error {
	switch s.format {
	case Lines:
		s.lines(b, to)
		return nil
	case Length4, Varint:
		return s.frames(b, to)
	}
	for len(b) > 0 {
		b = s.step(b, extra, to)
	}
	return nil
}

// over adds n bytes to the present record and reports whether it is too large.
func (s *Scanner) over(n int) bool {
	s.size = uint32(min(uint64(s.size)+uint64(n), math.MaxUint32))
	return s.limit > 0 && s.size > s.limit
}

// step takes at least one byte of server-sent events and returns the rest.
func (s *Scanner) step(b []byte, extra string, to Sink) []byte {
	if s.cr {
		s.cr = false
		if b[0] == '\n' {
			return b[1:]
		}
	}
	switch s.state {
	case atStart:
		return s.start(b)
	case atLine:
		switch b[0] {
		case '\r', '\n':
			s.cr = b[0] == '\r'
			s.dispatch(to)
			return b[1:]
		case ':':
			to.Comment()
			s.state, s.field = inRest, unknown
			return b[1:]
		}
		s.state, s.pos, s.names = inName, 0, allNames
		return b
	case inName:
		return s.name(b, extra, to)
	case atValue:
		s.state = inValue
		if b[0] == ' ' {
			return b[1:]
		}
		return b
	}
	return s.value(b, to)
}

// start skips a byte order mark. What only began like one is the beginning of a
// field's name, of a name that is not known.
func (s *Scanner) start(b []byte) []byte {
	if b[0] == bom[s.pos] {
		s.pos++
		if int(s.pos) == len(bom) {
			s.state = atLine
		}
		return b[1:]
	}
	s.state = atLine
	if s.pos > 0 {
		s.state, s.names = inName, 0
	}
	return b
}

// dispatch ends an event. One without a field of data is none (HTML, 9.2.6), but
// its id counts, so that the sink is told and looks for itself.
func (s *Scanner) dispatch(to Sink) {
	switch {
	case s.over(0):
		to.Oversized()
	case s.some:
		to.Record()
	}
	s.size, s.some = 0, false
}

// The names of fields, in the order of Field.
var fieldNames = [...]string{Data: "data", Type: "event", ID: "id", Retry: "retry"}

const allNames = 1<<unknown - 1

// nameOf is a field's name.
func nameOf(f Field, extra string) string {
	if f == Extra {
		return extra
	}
	return fieldNames[f]
}

// name reads bytes of a field's name: names holds those that agree so far.
func (s *Scanner) name(b []byte, extra string, to Sink) []byte {
	for i, c := range b {
		if c == ':' || c == '\r' || c == '\n' {
			s.field = s.named(extra)
			if c == ':' {
				s.state = atValue
				return b[i+1:]
			}
			s.endLine(c, to)
			return b[i+1:]
		}
		for f := range unknown {
			if name := nameOf(f, extra); int(s.pos) >= len(name) || name[s.pos] != c {
				s.names &^= 1 << f
			}
		}
		if s.pos < math.MaxUint8 {
			s.pos++
		}
	}
	return nil
}

// named is the field whose name was read.
func (s *Scanner) named(extra string) Field {
	for f := range unknown {
		if s.names&(1<<f) != 0 && s.pos > 0 && len(nameOf(f, extra)) == int(s.pos) {
			return f
		}
	}
	return unknown
}

// value reads bytes of a value, or of a line that is ignored.
func (s *Scanner) value(b []byte, to Sink) []byte {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		end = len(b)
	}
	if cr := bytes.IndexByte(b[:end], '\r'); cr >= 0 {
		end = cr
	}
	if s.field != unknown && end > 0 && !s.over(end) {
		to.Part(s.field, b[:end])
	}
	if end == len(b) {
		return nil
	}
	s.endLine(b[end], to)
	return b[end+1:]
}

// endLine ends a line with CR or LF.
func (s *Scanner) endLine(c byte, to Sink) {
	if s.field != unknown {
		s.some = true
		if !s.over(0) {
			to.Ended(s.field)
		}
	}
	s.state, s.cr = atLine, c == '\r'
}

// lines reads newline-delimited JSON. CR is a blank in JSON, so that CRLF needs
// no care.
func (s *Scanner) lines(b []byte, to Sink) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		s.some = s.some || len(bytes.TrimLeft(part, " \t\r")) > 0
		if len(part) > 0 && !s.over(len(part)) {
			to.Part(Data, part)
		}
		if end < 0 {
			return
		}
		if s.some && !s.over(0) {
			to.Ended(Data)
		}
		s.dispatch(to)
		b = b[end+1:]
	}
}

// frames reads length-delimited records.
func (s *Scanner) frames(b []byte, to Sink) error {
	for len(b) > 0 {
		if s.state == broken {
			return ErrFraming
		}
		if s.state == inLength {
			if !s.length(b[0]) {
				s.state = broken
				return ErrFraming
			}
			b = b[1:]
		} else {
			n := int(min(uint64(len(b)), s.left))
			if !s.over(0) {
				to.Part(Data, b[:n])
			}
			b, s.left = b[n:], s.left-uint64(n)
		}
		if s.state == inRecord && s.left == 0 {
			if !s.over(0) {
				to.Ended(Data)
			}
			s.some, s.state = true, inLength
			s.dispatch(to)
		}
	}
	return nil
}

// length takes a byte of a length; false says that it cannot be one.
func (s *Scanner) length(c byte) bool {
	if s.format == Length4 {
		s.left = s.left<<8 | uint64(c)
		s.pos++
		if s.pos < 4 {
			return true
		}
	} else {
		if s.pos == 9 { // beyond 63 bits
			return false
		}
		s.left |= uint64(c&0x7f) << (7 * s.pos)
		s.pos++
		if c >= 0x80 {
			return true
		}
	}
	s.pos, s.state = 0, inRecord
	s.size = uint32(min(s.left, math.MaxUint32))
	return true
}
