package load

import "bytes"

const (
	maxHead   = 64 << 10 // bytes of an answer's head, and of a trailer section
	maxLine   = 4 << 10  // bytes of a chunk-size line
	smallBody = 4 << 10  // bodies up to this size are compared on every answer
	sampled   = 64       // longer ones on one answer in so many; a power of two
)

// verdict is what the parser found out about an answer.
type verdict uint8

const (
	more      verdict = iota // the answer is not complete
	right                    // complete, and as expected
	badStatus                // complete
	badLength                // complete
	badBody                  // complete
	malformed                // the connection is of no use any more
)

// rules is what answers are held against. All connections share one.
type rules struct {
	status   int
	body     []byte
	anyBody  bool // body is not looked at
	headOnly bool // the request was HEAD: answers have no body, whatever they say
	stream   bool // bodies go to sink
	sink     *sink
}

func newRules(spec *Spec, sink *sink) *rules {
	return &rules{
		status:   spec.Expect.Status,
		body:     spec.Expect.Body,
		anyBody:  spec.Expect.Body == nil || spec.Stream,
		headOnly: bytes.HasPrefix(spec.Request, []byte("HEAD ")),
		stream:   spec.Stream,
		sink:     sink,
	}
}

// state is where the parser stands within an answer.
type state uint8

const (
	inHead       state = iota
	inBody             // left bytes to go
	inUntilClose       // a body that the end of the connection ends
	inSize             // chunk size, digits so far in line
	inExtension        // rest of the chunk-size line
	inSizeLF
	inChunk
	inChunkCR
	inChunkLF
	inTrailer // at the start of a trailer line
	inTrailerLine
	inTrailerLF
	inEndLF
)

// parser reads the answers of one connection, RFC 9112. It keeps no bytes but
// those of a head that came in pieces.
type parser struct {
	rules  *rules
	head   []byte // of a head that is not complete yet
	state  state
	wrong  verdict // first complaint about this answer, more if none
	check  bool    // compare the body's bytes
	close  bool    // the peer will not take another request
	status int
	left   int64  // bytes of the body or chunk to go
	pos    int64  // bytes of the body so far
	line   int    // bytes of the line or trailer section so far
	count  uint32 // final answers begun
	event  event
}

// reset prepares p for another connection and keeps its buffer.
func (p *parser) reset() {
	*p = parser{rules: p.rules, head: p.head[:0]}
}

// begun reports whether bytes of an incomplete answer were seen.
func (p *parser) begun() bool { return p.state != inHead || len(p.head) > 0 }

// feed consumes bytes of in until an answer is complete or in is used up, and
// returns how many. After malformed the parser must be reset.
func (p *parser) feed(in []byte) (n int, v verdict) {
	for n < len(in) {
		switch p.state {
		case inHead:
			used, v := p.feedHead(in[n:])
			n += used
			if v != more {
				return n, v
			}
		case inBody:
			n += p.absorb(in[n:])
			if p.left == 0 {
				return n, p.finish()
			}
		case inUntilClose:
			p.left = int64(len(in) - n)
			n += p.absorb(in[n:])
		case inChunk:
			n += p.absorb(in[n:])
			if p.left == 0 {
				p.state = inChunkCR
			}
		default:
			v := p.feedChunked(in[n])
			n++
			if v != more {
				return n, v
			}
		}
	}
	return n, more
}

// eof ends the answer with the connection. It returns more if the answer was
// not complete.
func (p *parser) eof() verdict {
	if p.state != inUntilClose {
		return more
	}
	return p.finish()
}

// absorb takes up to left bytes of body.
func (p *parser) absorb(b []byte) int {
	if int64(len(b)) > p.left {
		b = b[:p.left]
	}
	p.left -= int64(len(b))
	end := p.pos + int64(len(b))
	switch {
	case p.rules.stream:
		p.event.feed(b, p.rules.sink)
	case p.check && p.wrong == more && end <= int64(len(p.rules.body)):
		if !bytes.Equal(b, p.rules.body[p.pos:end]) {
			p.wrong = badBody
		}
	}
	p.pos = end
	return len(b)
}

// finish ends an answer and prepares for the next.
func (p *parser) finish() verdict {
	if !p.rules.anyBody && !p.rules.headOnly && p.wrong != badStatus && p.pos != int64(len(p.rules.body)) {
		p.wrong = badLength
	}
	p.state = inHead
	if p.wrong != more {
		return p.wrong
	}
	return right
}

// feedChunked takes one byte of the chunked framing, RFC 9112, section 7.1.
func (p *parser) feedChunked(c byte) verdict {
	switch p.state {
	case inSize:
		return p.feedSize(c)
	case inExtension:
		p.line++
		switch {
		case c == '\r':
			p.state = inSizeLF
		case c == '\n' || p.line > maxLine:
			return malformed
		}
		return more
	case inSizeLF:
		p.line = 0
		if p.left == 0 {
			return p.step(c, '\n', inTrailer)
		}
		return p.step(c, '\n', inChunk)
	case inChunkCR:
		return p.step(c, '\r', inChunkLF)
	case inChunkLF:
		p.line = 0
		return p.step(c, '\n', inSize)
	case inTrailer, inTrailerLine:
		p.line++
		switch {
		case c == '\r' && p.state == inTrailer:
			p.state = inEndLF
		case c == '\r':
			p.state = inTrailerLF
		case c == '\n' || p.line > maxHead:
			return malformed
		default:
			p.state = inTrailerLine
		}
		return more
	case inTrailerLF:
		return p.step(c, '\n', inTrailer)
	default: // inEndLF
		if c != '\n' {
			return malformed
		}
		return p.finish()
	}
}

// feedSize takes one byte of a chunk's size.
func (p *parser) feedSize(c byte) verdict {
	var digit byte
	switch {
	case c >= '0' && c <= '9':
		digit = c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		digit = c | 0x20 - 'a' + 10
	case p.line == 0:
		return malformed
	case c == '\r':
		p.state = inSizeLF
		return more
	case c == ';' || c == ' ' || c == '\t':
		p.state = inExtension
		return more
	default:
		return malformed
	}
	if p.line++; p.line > 15 { // 60 bits
		return malformed
	}
	p.left = p.left<<4 | int64(digit)
	return more
}

func (p *parser) step(c, want byte, next state) verdict {
	if c != want {
		return malformed
	}
	p.state = next
	return more
}

// maxTemplate bounds the length of answers that are worth remembering: beyond it
// the kernel's copying dwarfs the parser.
const maxTemplate = smallBody + 4<<10

// template is the last right answer, whole: head, framing and body. An answer
// that repeats it byte for byte is right as well, since the parser depends on
// nothing but the bytes; that comparison costs some nanoseconds, and it leaves
// nothing unchecked. When a byte moved (the Date field does so once a second) the
// full parser decides, and its answer becomes the new template.
type template struct {
	answer []byte
}

// match returns how many answers, limit at most, stand at the start of in one
// after the other.
func (t *template) match(in []byte, limit int) int {
	size, n := len(t.answer), 0
	if size == 0 {
		return 0
	}
	for n < limit && len(in) >= size && bytes.Equal(in[:size], t.answer) {
		in = in[size:]
		n++
	}
	return n
}

// learn remembers a whole answer that the parser found right, with every byte
// of its body compared, and after which the connection goes on.
func (t *template) learn(answer []byte) {
	if len(answer) <= maxTemplate {
		t.answer = append(t.answer[:0], answer...)
	}
}
