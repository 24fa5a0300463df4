package http1

import "github.com/redline-go/redline/internal/exchange"

// Body reads the content of one request, with a known length or in the chunked coding (RFC
// 9112, 6). It can stop at any byte and continue when more has arrived. Its zero value
// needs [Body.Init]; it may be reused for the next request.
//
//	for {
//		data, n, code := body.Next(in)
//		// use data, which is borrowed from in; refuse, or stop at Complete
//		in = in[n:]
//		if code != NeedMore || n == 0 { break }
//	}
type Body struct {
	req    *exchange.Request
	lim    *exchange.Limits
	left   int64 // bytes of content until the end, or until the end of the chunk
	total  int64 // bytes of content in the chunks so far, including this one
	failed Code
	state  uint8
	chunk  chunkLine
	line   fieldLine
	fields int // trailer lines, including dropped ones
}

// What the decoder expects next.
const (
	bodyFixed     = iota // content of a known length
	bodyChunkLine        // size, extensions, line end
	bodyChunkData        // content of a chunk
	bodyChunkCR          // CR after it
	bodyChunkLF          // LF after it
	bodyTrailers         // the trailer section
	bodyDone
	bodyError
)

// Init makes the decoder ready for the content of r, whose head is complete. It keeps r, to
// which it adds the trailers, and lim, which is the result of [Parser.Limits]: without
// zeros.
func (b *Body) Init(r *exchange.Request, lim *exchange.Limits) {
	*b = Body{req: r, lim: lim}
	switch {
	case r.ContentLength == exchange.UnknownLength:
		b.state = bodyChunkLine
	case r.ContentLength > 0:
		b.left = r.ContentLength
	default:
		b.state = bodyDone
	}
}

// Next continues reading. It returns content, which is a part of in and may be empty, and
// the number of bytes of in that it has consumed and does not need again.
//
//   - [NeedMore]: if n < len(in), there is more in in[n:]: call again. Otherwise call
//     again with what comes next.
//   - [Complete]: this was the end of the content; trailers are in the request, and
//     in[n:] belongs to the next one.
//   - A refusal: n is 0, and so it stays.
func (b *Body) Next(in []byte) (data []byte, n int, code Code) {
	for {
		switch b.state {
		case bodyFixed, bodyChunkData:
			return b.content(in, n)
		case bodyChunkLine, bodyChunkCR, bodyChunkLF:
			if n == len(in) {
				return nil, n, NeedMore
			}
			if code := b.framing(in[n]); code != Complete {
				b.state, b.failed = bodyError, code
				return nil, 0, code
			}
			n++
		case bodyTrailers:
			used, code := b.trailers(in[n:])
			if code.Refused() {
				b.state, b.failed = bodyError, code
				return nil, 0, code
			}
			return nil, n + used, code
		case bodyDone:
			return nil, n, Complete
		default:
			return nil, 0, b.failed
		}
	}
}

// Done reports whether the content has been read to its end.
func (b *Body) Done() bool { return b.state == bodyDone }

// content returns the part of in[n:] that is content.
func (b *Body) content(in []byte, n int) ([]byte, int, Code) {
	rest := in[n:]
	take := len(rest)
	if int64(take) > b.left {
		take = int(b.left)
	}
	b.left -= int64(take)
	if b.left > 0 {
		return rest[:take:take], n + take, NeedMore
	}
	if b.state == bodyFixed {
		b.state = bodyDone
		return rest[:take:take], n + take, Complete
	}
	b.state = bodyChunkCR
	return rest[:take:take], n + take, NeedMore
}

// framing reads one byte outside of content. Complete means that the byte is valid.
func (b *Body) framing(c byte) Code {
	switch b.state {
	case bodyChunkCR:
		if c != '\r' {
			return ErrChunkData
		}
		b.state = bodyChunkLF
	case bodyChunkLF:
		if c != '\n' {
			return ErrChunkData
		}
		b.chunk.restart()
		b.state = bodyChunkLine
	default:
		switch code := b.chunk.next(c, b.lim); code {
		case Complete:
			return b.endLine()
		case NeedMore:
		default:
			return code
		}
	}
	return Complete
}

// endLine checks a whole chunk line.
func (b *Body) endLine() Code {
	if b.chunk.excess > b.lim.MaxChunkOverhead {
		return ErrChunkOverhead
	}
	size := b.chunk.size
	if size == 0 {
		b.state = bodyTrailers
		return Complete
	}
	if size > b.lim.MaxBodyBytes-b.total {
		return ErrBodyLarge
	}
	b.total += size
	b.left = size
	b.state = bodyChunkData
	return Complete
}

// trailers reads the trailer section (RFC 9112, 7.1.2), and copies it into the request,
// because the input is gone before a handler reads the trailers.
func (b *Body) trailers(in []byte) (n int, code Code) {
	r := b.req
	had := len(r.TrailerBytes)
	if had == 0 && len(in) >= 2 && in[0] == '\r' && in[1] == '\n' {
		b.state = bodyDone
		return 2, Complete
	}
	take := min(len(in), b.lim.MaxTrailerBytes-had)
	r.TrailerBytes = append(r.TrailerBytes, in[:take]...)
	for {
		code := b.line.next(r.TrailerBytes)
		if code == NeedMore && len(r.TrailerBytes) >= b.lim.MaxTrailerBytes {
			return 0, ErrTrailerLarge
		}
		if code == NeedMore {
			return take, NeedMore
		}
		if code != Complete {
			return 0, code
		}
		if b.line.pos == b.line.begin {
			end := b.line.pos + 2
			r.TrailerBytes = r.TrailerBytes[:end]
			b.state = bodyDone
			return end - had, Complete
		}
		if b.fields++; b.fields > b.lim.MaxFields {
			return 0, ErrFieldCount
		}
		f := b.line.field(r.TrailerBytes)
		switch exchange.TrailerRule(f.ID) {
		case exchange.TrailerRefused:
			return 0, ErrTrailerField
		case exchange.TrailerKept:
			r.Trailers = append(r.Trailers, f)
		}
	}
}
