package http1

import (
	"math/bits"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1/scan"
)

// fieldLine reads one field line and can stop at any byte of it. Its indexes count from the
// start of the buffer that contains the line.
type fieldLine struct {
	begin int // start of the line
	colon int // index of the colon, or 0 before it is found
	pos   int // everything before was processed
}

// next continues reading (RFC 9112, 5). It returns Complete when the line is whole: then
// the line ends with CRLF at l.pos, and is the empty line that ends the section if l.pos is
// l.begin.
func (l *fieldLine) next(buf []byte) Code {
	if l.colon == 0 {
		if l.pos == l.begin && l.pos < len(buf) {
			switch buf[l.pos] {
			case '\r':
				return l.end(buf)
			case ' ', '\t':
				return ErrFold
			}
		}
		l.pos += scan.Token(buf[l.pos:])
		if l.pos == len(buf) {
			return NeedMore
		}
		if buf[l.pos] != ':' || l.pos == l.begin {
			return ErrFieldName
		}
		l.colon = l.pos
		l.pos++
	}
	l.pos += scan.Value(buf[l.pos:])
	if l.pos == len(buf) {
		return NeedMore
	}
	if buf[l.pos] == '\n' {
		return ErrLineEnd
	}
	if buf[l.pos] != '\r' {
		return ErrFieldValue
	}
	return l.end(buf)
}

func (l *fieldLine) end(buf []byte) Code {
	if l.pos+1 == len(buf) {
		return NeedMore
	}
	if buf[l.pos+1] != '\n' {
		return ErrLineEnd
	}
	return Complete
}

// field returns the field of the whole line, and advances to the next line.
func (l *fieldLine) field(buf []byte) exchange.Field {
	begin, end := trim(buf, l.colon+1, l.pos)
	f := exchange.Field{
		Name:  span(l.begin, l.colon),
		Value: span(begin, end),
		ID:    exchange.LookupHeader(buf[l.begin:l.colon]),
	}
	*l = fieldLine{begin: l.pos + 2, pos: l.pos + 2}
	return f
}

// trim moves both ends of a value inwards over optional whitespace.
func trim(buf []byte, begin, end int) (int, int) {
	for begin < end && (buf[begin] == ' ' || buf[begin] == '\t') {
		begin++
	}
	for end > begin && (buf[end-1] == ' ' || buf[end-1] == '\t') {
		end--
	}
	return begin, end
}

// fields reads the header section: complete and valid lines one window at a time, and the
// rest (a line that is cut off, long or invalid) byte by byte.
func (p *Parser) fields(r *exchange.Request, buf []byte) Code {
	l := &p.line
	for {
		if l.pos == l.begin {
			if code := p.quick(r, buf); code != NeedMore {
				return code
			}
		}
		if code := l.next(buf); code != Complete {
			return code
		}
		if l.pos == l.begin {
			p.pos = l.pos + 2
			return Complete
		}
		if code := p.add(r, buf, l.field(buf)); code != Complete {
			return code
		}
	}
}

// quick reads lines from p.line on as long as they are completely in one window and valid.
// It returns Complete after the section's end, NeedMore if p.line has to be read byte by
// byte, or a refusal because of the content of a field.
//
//	line                colon          end
//	|                   |              |
//	Transfer-Encoding   :     chunked  CR LF
//	no Ctl up to here ------------->   1  1
func (p *Parser) quick(r *exchange.Request, buf []byte) Code {
	w := &p.windows
	base := p.line.begin
	filled := w.Fill(buf, base)
	room := p.lim.MaxFields - len(r.Fields)
	rel := 0 // start of the line, like end relative to base
	for rel < filled {
		end := mark(&w.Ctl, rel, filled)
		line, at := base+rel, base+end
		if at+1 >= len(buf) || buf[at] != '\r' || buf[at+1] != '\n' {
			break
		}
		if end == rel {
			p.pos = at + 2
			return Complete
		}
		colon := base + mark(&w.Colon, rel, filled)
		n := colon - line
		if colon >= at || n == 0 || room == 0 {
			break
		}
		var id exchange.HeaderID
		if n <= exchange.MaxWordsName && line+8 <= len(buf) {
			head, tail := exchange.EndWords(buf, line, colon)
			id = exchange.LookupWords(head, tail, n)
		} else {
			id = exchange.LookupHeader(buf[line:colon])
		}
		if id == exchange.HeaderOther && !isName(buf, line, colon) {
			break
		}
		from, to := trim(buf, colon+1, at)
		f := exchange.Field{Name: span(line, colon), Value: span(from, to), ID: id}
		r.Append(f)
		room--
		if id-1 < exchange.LastFraming {
			if code := p.framing(r, buf, f); code != Complete {
				return code
			}
		}
		rel = end + 2
	}
	p.line = fieldLine{begin: base + rel, pos: base + rel}
	return NeedMore
}

// isName reports whether the bytes up to the first colon of the line are a token. The
// scanner would stop at the colon anyway, and is faster if it can read a whole register.
func isName(buf []byte, line, colon int) bool {
	if colon-line < 8 {
		return scan.Token(buf[line:colon]) == colon-line
	}
	return scan.Token(buf[line:]) == colon-line
}

// mark returns the index of the first set bit from index from on, or filled or more if
// there is none. It requires from < filled.
func mark(m *[scan.WindowBlocks]uint64, from, filled int) int {
	i := from >> 6
	if word := m[i&(scan.WindowBlocks-1)] >> (from & 63); word != 0 {
		return from + bits.TrailingZeros64(word)
	}
	for i++; i<<6 < filled; i++ {
		if word := m[i&(scan.WindowBlocks-1)]; word != 0 {
			return i<<6 + bits.TrailingZeros64(word)
		}
	}
	return filled
}

// add adds a field to the record.
func (p *Parser) add(r *exchange.Request, buf []byte, f exchange.Field) Code {
	if len(r.Fields) >= p.lim.MaxFields {
		return ErrFieldCount
	}
	r.Append(f)
	if f.ID-1 < exchange.LastFraming {
		return p.framing(r, buf, f)
	}
	return Complete
}
