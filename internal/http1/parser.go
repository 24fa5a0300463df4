package http1

import (
	"encoding/binary"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1/scan"
)

// What the parser expects next.
const (
	inStart   = iota // empty lines, then a method
	inMethod         // the rest of a method
	inTarget         // the rest of a request target
	inVersion        // the rest of "HTTP/x.y" CRLF
	inBare           // the rest of a head without fields that is accepted as one text
	inEnd            // nothing: that was the head
	inFields         // field lines
	inError          // nothing: the request was refused
)

const (
	// maxMethod is the longest method that is read; a longer one is not a known method (RFC
	// 9112, 3: 501). The longest registered one has 17 bytes.
	maxMethod = 32
	// maxEmptyLines is how many empty lines are skipped before a request.
	maxEmptyLines = 4
)

// Parser reads the heads of the requests of one connection, one after the other. It can
// stop at any byte and continue when more has arrived. It holds no pointers, and between
// requests no state that a request depends on: a parser that returned [Complete] may serve
// another connection. Its zero value needs [Parser.Init].
type Parser struct {
	lim exchange.Limits

	state   uint8
	failed  Code
	names   uint8 // fields seen, as bits below
	pos     int   // everything before was processed
	mark    int   // start of the part that is being read
	query   int   // index after the '?' of the target, or 0
	escape  int   // index of the first '%' of the target's path, or 0
	line    fieldLine
	windows scan.Window

	known    [64]byte // known[:knownLen] was the last valid Host: most are the same
	knownLen uint8
}

// Bits of Parser.names: information from fields that matters only in combination.
const (
	sawHost = 1 << iota
	sawLength
	sawCoding
	sawClose
	sawKeepAlive
	sawContinue
	sawBadTrailer // Trailer announces a field that cannot be a trailer
	hostInTarget
)

// Init makes the parser ready for its first request, with the limits; zeros mean defaults.
func (p *Parser) Init(lim exchange.Limits) {
	p.lim = lim.WithDefaults()
	p.restart()
}

// Limits returns the limits in force, without zeros.
func (p *Parser) Limits() *exchange.Limits { return &p.lim }

// Started reports whether the parser is within a head: it has read part of it and needs
// more.
func (p *Parser) Started() bool { return p.state != inStart || p.pos != 0 }

func (p *Parser) restart() {
	p.state, p.failed, p.names = inStart, NeedMore, 0
	p.pos, p.mark, p.query, p.escape = 0, 0, 0, 0
}

// Parse reads a head from buf into r, which it resets at the head's first byte.
//
// buf begins with the first byte of the request, on every call; between calls it may only
// grow, and may move. A byte is classified at most a few times, for any number of calls.
// With [Complete], n is the length of the head, r.Head is buf[:n], and the next call starts
// a new request. With [NeedMore], n is 0 and r is unfinished. After a refusal, n is 0, and
// every call is refused until [Parser.Init].
func (p *Parser) Parse(r *exchange.Request, buf []byte) (n int, code Code) {
	whole := buf
	if len(buf) > p.lim.MaxHeadBytes {
		buf = buf[:p.lim.MaxHeadBytes]
	}
	if p.state != inFields && !(p.state|uint8(min(p.pos, 1)) == inStart && p.quickLine(r, buf)) {
		if code = p.requestLine(r, buf); code != Complete {
			return 0, p.stop(code, buf)
		}
		if p.state == inEnd {
			return p.end(r, whole), Complete
		}
	}
	if code = p.fields(r, buf); code == Complete {
		code = p.finish(r)
	}
	if code != Complete {
		return 0, p.stop(code, buf)
	}
	return p.end(r, whole), Complete
}

// end returns the length of a complete head, and begins the next one.
func (p *Parser) end(r *exchange.Request, buf []byte) (n int) {
	n = p.pos
	r.Head = buf[:n:n]
	p.restart()
	return n
}

// stop turns NeedMore into a refusal if the limit is reached, and repeats refusals.
func (p *Parser) stop(code Code, buf []byte) Code {
	if code == NeedMore {
		if len(buf) < p.lim.MaxHeadBytes {
			return NeedMore
		}
		code = ErrHeadLarge
		if p.state == inTarget {
			code = ErrTargetLong
		}
	}
	p.state, p.failed = inError, code
	return code
}

// requestLine reads up to the first field line (RFC 9112, 3).
func (p *Parser) requestLine(r *exchange.Request, buf []byte) Code {
	for {
		var code Code
		switch p.state {
		case inStart:
			code = p.start(r, buf)
		case inMethod:
			code = p.method(r, buf)
		case inTarget:
			code = p.target(r, buf)
		case inVersion:
			code = p.version(r, buf)
		case inBare:
			code = p.bare(r, buf)
		case inFields, inEnd:
			return Complete
		default:
			return p.failed
		}
		if code != Complete {
			return code
		}
	}
}

// quickLine accepts a request line that is completely in buf if it is of the usual kind:
// GET or POST, a path without escapes, a known version. Otherwise it returns false and
// changes no relevant state.
func (p *Parser) quickLine(r *exchange.Request, buf []byte) bool {
	if len(buf) < len("GET / HTTP/1.1\r\n") {
		return false
	}
	r.Reset()
	method, i := exchange.MethodGet, 4
	if binary.LittleEndian.Uint32(buf) != wordGet {
		if binary.LittleEndian.Uint32(buf) != wordPost || buf[4] != ' ' {
			return false
		}
		method, i = exchange.MethodPost, 5
	}
	begin := i
	if buf[i] != '/' {
		return false
	}
	i += scan.Path(buf[i:])
	if i == len(buf) {
		return false
	}
	end := i
	if buf[i] == '?' {
		r.HasQuery = true
		i++
		i += scan.Query(buf[i:])
		r.Query = span(end+1, i)
	}
	if len(buf)-i < 11 || buf[i] != ' ' || i-begin > p.lim.MaxTargetBytes {
		return false
	}
	v := binary.LittleEndian.Uint64(buf[i+1:])
	if v != version11 && v != version10 || buf[i+9] != '\r' || buf[i+10] != '\n' {
		return false
	}
	r.Method, r.RawMethod = method, span(0, begin-1)
	r.Target, r.Path = span(begin, i), span(begin, end)
	p.mark = i + 1
	p.endVersion(r, uint8(v>>56&1))
	return true
}

// start skips empty lines (RFC 9112, 2.2), and takes the common methods at once.
func (p *Parser) start(r *exchange.Request, buf []byte) Code {
	if p.pos == 0 {
		r.Reset()
	}
	for p.pos < len(buf) && buf[p.pos] == '\r' {
		if p.pos >= 2*maxEmptyLines {
			return ErrEmptyLines
		}
		if p.pos+1 == len(buf) {
			return NeedMore
		}
		if buf[p.pos+1] != '\n' {
			return ErrLineEnd
		}
		p.pos += 2
	}
	if p.pos == len(buf) {
		return NeedMore
	}
	p.mark = p.pos
	p.state = inMethod
	return Complete
}

const (
	wordGet  = 'G' | 'E'<<8 | 'T'<<16 | ' '<<24
	wordPost = 'P' | 'O'<<8 | 'S'<<16 | 'T'<<24
)

// method reads a token and the space after it (RFC 9112, 3.1).
func (p *Parser) method(r *exchange.Request, buf []byte) Code {
	if len(buf)-p.mark >= 5 {
		switch binary.LittleEndian.Uint32(buf[p.mark:]) {
		case wordGet:
			p.endMethod(r, exchange.MethodGet, p.mark+3)
			return Complete
		case wordPost:
			if buf[p.mark+4] == ' ' {
				p.endMethod(r, exchange.MethodPost, p.mark+4)
				return Complete
			}
		}
	}
	p.pos += scan.Token(buf[p.pos:min(len(buf), p.mark+maxMethod+1)])
	switch {
	case p.pos-p.mark > maxMethod:
		return ErrMethodLong
	case p.pos == len(buf):
		return NeedMore
	case buf[p.pos] != ' ' || p.pos == p.mark:
		return ErrMethod
	}
	p.endMethod(r, exchange.LookupMethod(buf[p.mark:p.pos]), p.pos)
	return Complete
}

func (p *Parser) endMethod(r *exchange.Request, m exchange.Method, end int) {
	r.Method = m
	r.RawMethod = span(p.mark, end)
	p.pos = end + 1
	p.mark = p.pos
	p.state = inTarget
}

const (
	version11 = 'H' | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48 | '1'<<56
	version10 = version11 - 1<<56
)

// version reads the protocol version and the line end (RFC 9112, 2.3).
func (p *Parser) version(r *exchange.Request, buf []byte) Code {
	if len(buf)-p.mark >= 10 {
		v := binary.LittleEndian.Uint64(buf[p.mark:])
		if (v == version11 || v == version10) && buf[p.mark+8] == '\r' && buf[p.mark+9] == '\n' {
			p.endVersion(r, uint8(v>>56&1))
			return Complete
		}
	}
	for ; p.pos < len(buf); p.pos++ {
		c := buf[p.pos]
		switch i := p.pos - p.mark; {
		case i == 8 && c == '\n' && r.Method == exchange.MethodConnect && r.Path.Len > 0:
			p.state = inBare
			return Complete
		case i < 5 && c != "HTTP/"[i], i == 6 && c != '.', i == 8 && c != '\r':
			return ErrVersion
		case (i == 5 || i == 7) && (c < '0' || c > '9'):
			return ErrVersion
		case i == 9:
			return p.judgeVersion(r, buf[p.mark+5], buf[p.mark+7], c)
		}
	}
	return NeedMore
}

// judgeVersion evaluates the digits of a well-formed version. A later minor version than
// 1.1 is treated as 1.1 (RFC 9110, 2.5); another major version is not supported.
func (p *Parser) judgeVersion(r *exchange.Request, major, minor, lineEnd byte) Code {
	if lineEnd != '\n' {
		return ErrLineEnd
	}
	if major != '1' {
		return ErrVersionUnsupported
	}
	p.endVersion(r, min(minor-'0', 1))
	return Complete
}

func (p *Parser) endVersion(r *exchange.Request, minor uint8) {
	r.Version = exchange.HTTP10 + exchange.Version(minor)
	p.pos = p.mark + 10
	p.line = fieldLine{begin: p.pos, pos: p.pos}
	p.state = inFields
}

const (
	bareRPC     = "HTTP/1.0\n\n"
	barePreface = "HTTP/2.0\r\n\r\n"
)

// bare reads the rest of one of the two heads that are not HTTP/1 as RFC 9112 has it, and that are
// accepted because handlers take over their connection, which serves no other request in any case:
//
//   - "CONNECT /path HTTP/1.0" and two bare line feeds: package net/rpc sends nothing else.
//   - The preface of HTTP/2, "PRI * HTTP/2.0" (RFC 9113, 3.4), for handlers that speak it themselves.
//
// No field may follow, so nothing in them can be read in two ways.
func (p *Parser) bare(r *exchange.Request, buf []byte) Code {
	rest, version := bareRPC, exchange.HTTP10
	if r.Method != exchange.MethodConnect {
		rest, version = barePreface, exchange.HTTP2
	}
	n := min(len(buf)-p.mark, len(rest))
	if string(buf[p.mark:p.mark+n]) != rest[:n] {
		return ErrVersion
	}
	if n < len(rest) {
		return NeedMore
	}
	r.Version, r.Close = version, true
	p.pos = p.mark + n
	p.state = inEnd
	return Complete
}

// span is the range from begin to end. Heads are limited to less than 2 GiB.
func span(begin, end int) exchange.Span {
	return exchange.Span{Off: uint32(begin), Len: uint32(end - begin)}
}
