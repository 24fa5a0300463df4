// Package h1 parses the responses of HTTP/1.1 servers for a load generator: it parses them
// according to RFC 9112, compares them with what is expected, and classifies errors. It
// does no I/O, and its memory is bounded, whatever a server sends.
package h1

const (
	maxHead   = 64 << 10 // bytes of a response's head, and of a trailer section
	keptHead  = 4 << 10  // of buffers for heads between responses
	maxLine   = 4 << 10  // bytes of a chunk-size line
	smallBody = 4 << 10  // bodies up to this size are compared in every response
	sampled   = 64       // longer ones in one response out of this many; a power of two
)

// Verdict is the parser's result for a response.
type Verdict uint8

const (
	More      Verdict = iota // the response is not complete
	Right                    // complete, and as expected
	BadStatus                // complete
	BadLength                // complete
	BadBody                  // complete

	Malformed // not a response. From here on the connection can no longer be used
	BadChunk  // invalid chunked framing
	TooLong   // a head, or a trailer section, that does not end within 64 KiB
	Endless   // a body of unannounced length that is longer than Rules.MaxBody
)

// Broken reports whether v concerns the connection, not only a response: the end of the
// response is unknown.
func (v Verdict) Broken() bool { return v >= Malformed }

// Rules is what responses are compared with. All connections share it.
type Rules struct {
	Status   int    // 0: any
	Body     []byte // unless AnyBody
	AnyBody  bool   // the body is not compared
	HeadOnly bool   // the request was HEAD: responses have no body, whatever their fields say
	MaxBody  int64  // limit in bytes on a body of unannounced length; 0: no limit

	Sample *Sample // compares some bodies; nil: none
}

// Sink receives the parts of a response, for callers that need more than the parser's
// verdict.
type Sink interface {
	// Head receives the status and the whole head of a final response, including the status
	// line and the empty line at the end. The bytes are valid during the call.
	Head(status int, head []byte)

	// Content receives bytes of the body, without chunk framing, valid during the call.
	Content(b []byte)
}

// state is the parser's position within a response.
type state uint8

const (
	inHead       state = iota
	inBody             // left bytes to go
	inUntilClose       // a body that ends with the connection
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

// Parser parses the responses of one connection, RFC 9112. It stores no bytes except those
// of a head that arrived in pieces.
type Parser struct {
	Judge
	Sink     Sink // nil: none
	HeadOnly bool // the next response is to HEAD, as Rules.HeadOnly for all
	Status   int  // of the last final response
	Close    bool // the peer does not accept another request

	head  []byte // of a head that is not complete yet
	state state
	left  int64 // bytes of the body or chunk to go
	line  int   // bytes of the line or trailer section so far
}

// Reset prepares p for another connection.
func (p *Parser) Reset() {
	p.emptyHead()
	*p = Parser{Judge: Judge{Rules: p.Rules}, Sink: p.Sink, head: p.head}
}

// emptyHead keeps the buffer for heads that arrived in pieces, if it has the usual size:
// otherwise a thousand connections would permanently hold 64 KiB each after a server had
// sent heads of that size.
func (p *Parser) emptyHead() {
	if p.head = p.head[:0]; cap(p.head) > keptHead {
		p.head = nil
	}
}

// InBody reports whether the current response's head is complete and the response is not.
func (p *Parser) InBody() bool { return p.state != inHead }

// Wrong returns the first error of the current response, or More.
func (p *Parser) Wrong() Verdict { return p.wrong }

// Begun reports whether bytes of an incomplete response were received.
func (p *Parser) Begun() bool { return p.state != inHead || len(p.head) > 0 }

// Feed consumes bytes of in until a response is complete or in is used up, and returns how
// many. After a verdict that is Broken the parser must be reset.
func (p *Parser) Feed(in []byte) (n int, v Verdict) {
	for n < len(in) {
		switch p.state {
		case inHead:
			used, v := p.feedHead(in[n:])
			n += used
			if v != More {
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
			if p.Over() {
				return n, Endless
			}
		case inChunk:
			n += p.absorb(in[n:])
			if p.Over() {
				return n, Endless
			}
			if p.left == 0 {
				p.state = inChunkCR
			}
		default:
			v := p.feedChunked(in[n])
			n++
			if v != More {
				return n, v
			}
		}
	}
	return n, More
}

// EOF ends the response at the end of the connection. It returns More if the response was
// not complete.
func (p *Parser) EOF() Verdict {
	if p.state != inUntilClose {
		return More
	}
	return p.finish()
}

// absorb consumes up to left bytes of body.
func (p *Parser) absorb(b []byte) int {
	if int64(len(b)) > p.left {
		b = b[:p.left]
	}
	p.left -= int64(len(b))
	if p.Sink != nil {
		p.Sink.Content(b)
	}
	p.Take(b)
	return len(b)
}

// bodiless reports whether the request was HEAD.
func (p *Parser) bodiless() bool { return p.Rules.HeadOnly || p.HeadOnly }

// finish ends a response and prepares for the next.
func (p *Parser) finish() Verdict {
	p.state = inHead
	return p.End(p.bodiless())
}

// feedChunked consumes one byte of the chunked framing, RFC 9112, section 7.1.
func (p *Parser) feedChunked(c byte) Verdict {
	switch p.state {
	case inSize:
		return p.feedSize(c)
	case inExtension:
		p.line++
		switch {
		case c == '\r':
			p.state = inSizeLF
		case c == '\n' || p.line > maxLine:
			return BadChunk
		}
		return More
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
		case c == '\n':
			return BadChunk
		case p.line > maxHead:
			return TooLong
		default:
			p.state = inTrailerLine
		}
		return More
	case inTrailerLF:
		return p.step(c, '\n', inTrailer)
	default: // inEndLF
		if c != '\n' {
			return BadChunk
		}
		return p.finish()
	}
}

// feedSize consumes one byte of a chunk's size.
func (p *Parser) feedSize(c byte) Verdict {
	var digit byte
	switch {
	case c >= '0' && c <= '9':
		digit = c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		digit = c | 0x20 - 'a' + 10
	case p.line == 0:
		return BadChunk
	case c == '\r':
		p.state = inSizeLF
		return More
	case c == ';' || c == ' ' || c == '\t':
		p.state = inExtension
		return More
	default:
		return BadChunk
	}
	if p.line++; p.line > 15 { // 60 bits
		return BadChunk
	}
	p.left = p.left<<4 | int64(digit)
	return More
}

func (p *Parser) step(c, want byte, next state) Verdict {
	if c != want {
		return BadChunk
	}
	p.state = next
	return More
}
