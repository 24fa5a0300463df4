package http1

import (
	"math"
	"math/bits"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1/scan"
)

// chunkLine reads chunk-size [ chunk-ext ] CRLF one byte at a time (RFC 9112, 7.1, 7.1.1).
// Such lines are short, and rare compared with the data that they announce.
type chunkLine struct {
	size   int64 // announced so far
	bytes  int   // of the line so far
	ext    int   // bytes after the size so far
	excess int   // bytes of framing not justified by content, over all chunks
	state  uint8
}

// maxSizeDigits is the longest size that is read, including leading zeros: the digits of 64
// bits.
const maxSizeDigits = 16

// The next part of a chunk line. BWS is whitespace that only bad senders write.
const (
	lineSize     = iota // hex digits
	lineSizeBWS         // BWS behind the size: only ";" can follow
	lineName0           // start of an extension's name, or BWS before it
	lineName            // rest of the name
	lineNameBWS         // BWS behind the name: ";" or "=" can follow
	lineValue0          // start of a value, or BWS before it
	lineValue           // rest of a token
	lineQuoted          // rest of a quoted-string
	lineEscaped         // the character after a backslash
	lineValueEnd        // after the closing quote
	lineValueBWS        // BWS behind a value: only ";" can follow
	lineLF              // LF
)

// restart prepares it for the next line. The excess is kept.
func (l *chunkLine) restart() {
	l.size, l.bytes, l.ext, l.state = 0, 0, 0, lineSize
}

// next reads a byte. It returns Complete at the line's end.
func (l *chunkLine) next(c byte, lim *exchange.Limits) Code {
	l.bytes++
	switch l.state {
	case lineLF:
		if c != '\n' {
			return ErrChunkLineEnd
		}
		l.settle()
		return Complete
	case lineSize:
		if exchange.IsHex(c) {
			return l.digit(c)
		}
		if l.bytes == 1 {
			return ErrChunkSize
		}
		switch c {
		case '\r':
			l.state = lineLF
		case ';':
			l.state = lineName0
		case ' ', '\t':
			l.state = lineSizeBWS
		default:
			return ErrChunkSize
		}
	default:
		if l.state = l.after(c); l.state == lineSize {
			return ErrChunkExt
		}
	}
	if l.state != lineLF {
		if l.ext++; l.ext > lim.MaxChunkExtBytes {
			return ErrChunkExtLong
		}
	}
	return NeedMore
}

// digit adds a hex digit to the size.
func (l *chunkLine) digit(c byte) Code {
	if l.bytes > maxSizeDigits || l.size > math.MaxInt64>>4 {
		return ErrChunkOverflow
	}
	digit := c - '0'
	if digit > 9 {
		digit = c | 0x20 - 'a' + 10
	}
	l.size = l.size<<4 | int64(digit)
	return NeedMore
}

// after returns the state to which c leads within extensions, and lineSize if c is not
// allowed there.
func (l *chunkLine) after(c byte) uint8 {
	space := c == ' ' || c == '\t'
	token := scan.IsToken(c)
	switch l.state {
	case lineSizeBWS, lineValueBWS:
		if space {
			return l.state
		}
	case lineName0:
		if space {
			return lineName0
		}
		if token {
			return lineName
		}
		return lineSize
	case lineName, lineNameBWS:
		switch {
		case token && l.state == lineName:
			return lineName
		case c == '=':
			return lineValue0
		case space:
			return lineNameBWS
		case c == '\r' && l.state == lineName:
			return lineLF
		}
	case lineValue0:
		switch {
		case space:
			return lineValue0
		case token:
			return lineValue
		case c == '"':
			return lineQuoted
		}
		return lineSize
	case lineQuoted:
		switch {
		case c == '"':
			return lineValueEnd
		case c == '\\':
			return lineEscaped
		case scan.IsValue(c):
			return lineQuoted
		}
		return lineSize
	case lineEscaped:
		if scan.IsValue(c) {
			return lineQuoted
		}
		return lineSize
	case lineValue, lineValueEnd:
		switch {
		case token && l.state == lineValue:
			return lineValue
		case space:
			return lineValueBWS
		case c == '\r':
			return lineLF
		}
	}
	if c == ';' {
		return lineName0
	}
	return lineSize
}

// settle offsets the line's length against the content of its chunk.
func (l *chunkLine) settle() {
	l.excess += l.bytes - 16
	if l.size > int64(l.excess) {
		l.excess = 0
		return
	}
	l.excess = max(0, l.excess-2*int(l.size))
}

// AppendChunkHead appends the line that announces a chunk of size bytes (RFC 9112, 7.1).
// [AppendChunkTail] follows the data. A chunk of size 0 would end the content, so nothing
// is appended for size <= 0; in that case do not append a tail either.
func AppendChunkHead(dst []byte, size int) []byte {
	if size <= 0 {
		return dst
	}
	const digits = "0123456789abcdef"
	for shift := (bits.Len(uint(size)) - 1) &^ 3; shift >= 0; shift -= 4 {
		dst = append(dst, digits[size>>shift&15])
	}
	return append(dst, '\r', '\n')
}

// AppendChunkTail appends the line end after a chunk's data.
func AppendChunkTail(dst []byte) []byte { return append(dst, '\r', '\n') }

// AppendLastChunk appends the chunk that ends the content. Trailer lines may follow; then
// an empty line must follow, which [AppendChunkTail] appends.
func AppendLastChunk(dst []byte) []byte { return append(dst, '0', '\r', '\n') }
