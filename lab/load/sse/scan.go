package sse

import (
	"bytes"
	"errors"
	"math"
)

// Format is how records of a stream are delimited.
type Format uint8

// The formats.
const (
	Events   Format = iota // server-sent events (HTML, section 9.2)
	Lines                  // JSON, one record per line; blank lines are ignored
	Length4                // a length of four bytes, big endian, before each record
	Varint                 // a base-128 varint of the length before each record, as in protobuf's delimited messages
	Messages               // delimited by the caller, see Reader.Part
)

// Field is a field of a server-sent event that a Scanner distinguishes. Records of the
// other formats have only Data.
type Field uint8

// The fields.
const (
	Data Field = iota
	Type       // event
	ID
	Retry
	Extra   // the field with another name that contains the stream's time or id
	unknown // ignored
)

// Sink receives the output of a Scanner.
type Sink interface {
	// Part receives the next bytes of a field's value; they are valid during the call.
	Part(f Field, b []byte)
	// Ended reports that the value of a field is complete; it may be empty. Once a record
	// exceeds the limit neither Part nor Ended is called for it.
	Ended(f Field)
	// Record reports that a record is complete.
	Record()
	// Oversized is called instead of Record for a record that exceeded the limit.
	Oversized()
	// Comment reports a comment line, which servers send to keep a connection alive.
	Comment()
}

// ErrFraming reports an invalid length: a varint of more than 63 bits. The following
// records cannot be found, so the connection can no longer be used.
var ErrFraming = errors.New("sse: length of a record is not a varint of 63 bits")

const bom = "\xef\xbb\xbf"

// The states of a Scanner.
const (
	atStart = iota // of the stream: a byte order mark is skipped
	atLine         // at the start of a line
	inName         // of a field
	atValue        // after the colon: one space is skipped
	inValue
	inRest   // of an ignored line
	inLength // of a length-delimited record
	inRecord
	broken
)

// A Scanner finds the records of one stream. The zero value is at the start of a stream of
// server-sent events without a limit; see [NewScanner].
type Scanner struct {
	left   uint64 // remaining bytes of a length-delimited record; while its length is read, the length so far
	limit  uint32 // limit on the bytes of a record, without field names and line ends; 0: none
	size   uint32 // of the current record
	format Format
	state  uint8
	field  Field // of the current line
	pos    uint8 // bytes read of a byte order mark, name or length
	names  uint8 // candidates for the current name, one bit each
	cr     bool  // the last byte was CR: a following LF belongs to it
	some   bool  // the record is not empty
}

// NewScanner returns a Scanner at the start of a stream. A limit of 0 means no limit.
func NewScanner(format Format, limit uint32) Scanner {
	s := Scanner{format: format, limit: limit}
	s.Reset()
	return s
}

// Reset moves the Scanner to the start of a new stream of the same format, and reports
// whether the old one ended within a record.
func (s *Scanner) Reset() (cut bool) {
	switch s.format {
	case Events:
		cut = s.some || s.state == inName || s.state > inName && s.field != unknown
	case Lines:
		cut = s.some
	case Length4, Varint:
		cut = s.state == inRecord || s.pos > 0
	case Messages:
		cut = s.size > 0
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

// Feed consumes the next bytes of the stream. extra is the name of the field that is passed
// on as Extra, or empty. The error is ErrFraming or nil.
func (s *Scanner) Feed(b []byte, extra string, to Sink) error {
	switch s.format {
	case Lines:
		s.lines(b, to)
		return nil
	case Length4, Varint:
		return s.frames(b, to)
	case Messages:
		return nil // see Reader.Part
	}
	for len(b) > 0 {
		b = s.step(b, extra, to)
	}
	return nil
}

// over adds n bytes to the current record and reports whether it is too large.
func (s *Scanner) over(n int) bool {
	s.size = uint32(min(uint64(s.size)+uint64(n), math.MaxUint32))
	return s.limit > 0 && s.size > s.limit
}

// step consumes at least one byte of server-sent events and returns the rest.
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

// start skips a byte order mark. If the bytes only begin like one, they are the start of an
// unknown field name.
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

// dispatch ends an event. Without a data field it is not an event (HTML, 9.2.6), but its id
// counts, so the sink is called and decides.
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

// nameOf returns a field's name.
func nameOf(f Field, extra string) string {
	if f == Extra {
		return extra
	}
	return fieldNames[f]
}

// name consumes bytes of a field's name: names has the candidates that still match.
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

// named returns the field whose name was read.
func (s *Scanner) named(extra string) Field {
	for f := range unknown {
		if s.names&(1<<f) != 0 && s.pos > 0 && len(nameOf(f, extra)) == int(s.pos) {
			return f
		}
	}
	return unknown
}

// value consumes bytes of a value, or of an ignored line.
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

// endLine ends a line at CR or LF.
func (s *Scanner) endLine(c byte, to Sink) {
	if s.field != unknown {
		s.some = true
		if !s.over(0) {
			to.Ended(s.field)
		}
	}
	s.state, s.cr = atLine, c == '\r'
}

// lines parses newline-delimited JSON. CR is white space in JSON, so CRLF needs no special
// case.
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

// frames parses length-delimited records.
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

// length consumes a byte of a length; it returns false if the length is invalid.
func (s *Scanner) length(c byte) bool {
	if s.format == Length4 {
		s.left = s.left<<8 | uint64(c)
		s.pos++
		if s.pos < 4 {
			return true
		}
	} else {
		if s.pos == 9 { // more than 63 bits
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
