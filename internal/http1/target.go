package http1

import (
	"bytes"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1/scan"
)

// target reads the request target and the space after it (RFC 9112, 3.2).
func (p *Parser) target(r *exchange.Request, buf []byte) Code {
	limit := p.mark + p.lim.MaxTargetBytes + 1
	if limit < len(buf) {
		buf = buf[:limit]
	}
	for {
		if p.query == 0 {
			p.pos += scan.Path(buf[p.pos:])
		} else {
			p.pos += scan.Query(buf[p.pos:])
		}
		if p.pos == len(buf) {
			return wantTarget(p.pos, limit)
		}
		switch buf[p.pos] {
		case ' ':
			return p.endTarget(r, buf)
		case '?':
			p.pos++
			p.query = p.pos
		case '%':
			left := len(buf) - p.pos
			if left > 1 && !exchange.IsHex(buf[p.pos+1]) || left > 2 && !exchange.IsHex(buf[p.pos+2]) {
				return ErrTargetEscape
			}
			if left < 3 {
				return wantTarget(len(buf), limit)
			}
			if p.escape == 0 {
				p.escape = p.pos
			}
			p.pos += 3
		default:
			return ErrTarget
		}
	}
}

// wantTarget is the outcome if the target continues after end.
func wantTarget(end, limit int) Code {
	if end >= limit {
		return ErrTargetLong
	}
	return NeedMore
}

// endTarget splits the target according to its form (RFC 9112, 3.2.1 to 3.2.4).
func (p *Parser) endTarget(r *exchange.Request, buf []byte) Code {
	begin, end := p.mark, p.pos
	if begin == end {
		return ErrTarget
	}
	r.Target = span(begin, end)
	p.pos++
	p.mark = p.pos
	p.state = inVersion
	path := begin
	switch {
	case buf[begin] == '/': // with CONNECT too, as net/rpc has it
	case r.Method == exchange.MethodConnect:
		if !exchange.ValidAuthority(buf[begin:end], true) {
			return ErrTargetForm
		}
		r.Authority = r.Target
		p.names |= hostInTarget
		return Complete
	case string(buf[begin:end]) == "*" && string(r.RawMethod.In(buf)) == "PRI":
		r.Path = r.Target
		p.state = inBare
		return Complete
	case end-begin == 1 && buf[begin] == '*' && r.Method == exchange.MethodOptions:
		r.Path = r.Target
		return Complete
	default:
		if path = p.authority(r, buf[:end]); path == 0 {
			return ErrTargetForm
		}
	}
	if p.query != 0 {
		r.Query, r.HasQuery = span(p.query, end), true
		end = p.query - 1
	}
	r.Path = span(path, end)
	r.PathEscaped = p.escape != 0 &&
		(p.escape >= path || bytes.IndexByte(buf[path:end], '%') >= 0)
	return Complete
}

// authority reads scheme and authority of the absolute form that begins at
// r.Target and ends with buf. It returns where the path begins, or 0.
func (p *Parser) authority(r *exchange.Request, buf []byte) int {
	begin := int(r.Target.Off)
	scheme := schemeLen(buf[begin:])
	if scheme == 0 {
		return 0
	}
	begin += scheme
	end := len(buf)
	if p.query != 0 {
		end = p.query - 1
	}
	if i := bytes.IndexByte(buf[begin:end], '/'); i >= 0 {
		end = begin + i
	}
	if !exchange.ValidAuthority(buf[begin:end], false) {
		return 0
	}
	r.Authority = span(begin, end)
	p.names |= hostInTarget
	return end
}

// schemeLen returns the length of the leading "http://" or "https://", ignoring case, or 0.
func schemeLen(b []byte) int {
	for _, scheme := range [...]string{"http://", "https://"} {
		if len(b) >= len(scheme) && equalFold(b[:len(scheme)], scheme) {
			return len(scheme)
		}
	}
	return 0
}
