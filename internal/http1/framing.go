package http1

import (
	"math"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1/scan"
)

// framing reads the fields that decide how the message is framed, where it goes and whether
// the connection stays open.
func (p *Parser) framing(r *exchange.Request, buf []byte, f exchange.Field) Code {
	value := f.Value.In(buf)
	switch f.ID {
	case exchange.HeaderHost:
		return p.host(r, value, f.Value)
	case exchange.HeaderContentLength:
		return p.length(r, value)
	case exchange.HeaderTransferEncoding:
		return p.coding(r, value)
	case exchange.HeaderConnection:
		return p.connection(value)
	case exchange.HeaderExpect:
		continues, ok := exchange.Expectations(value)
		if !ok {
			return ErrExpect
		}
		if continues {
			p.names |= sawContinue
		}
	case exchange.HeaderTrailer:
		if announcesFraming(value) {
			p.names |= sawBadTrailer
		}
	}
	return Complete
}

// host reads the single Host field (RFC 9112, 3.2). It may be empty, for a target without
// authority.
func (p *Parser) host(r *exchange.Request, value []byte, at exchange.Span) Code {
	if p.names&sawHost != 0 {
		return ErrHostRepeated
	}
	p.names |= sawHost
	if len(value) > 0 && string(value) != string(p.known[:p.knownLen]) {
		if !exchange.ValidAuthority(value, false) {
			return ErrHost
		}
		if len(value) <= len(p.known) {
			p.knownLen = uint8(copy(p.known[:], value))
		}
	}
	if p.names&hostInTarget == 0 {
		r.Authority = at // otherwise the target overrides it (3.2.2)
	}
	return Complete
}

// length reads Content-Length (RFC 9110, 8.6; RFC 9112, 6.2).
func (p *Parser) length(r *exchange.Request, value []byte) Code {
	if p.names&sawCoding != 0 {
		return ErrLengthAndCoding
	}
	if p.names&sawLength != 0 {
		return ErrLengthRepeated
	}
	p.names |= sawLength
	if len(value) == 0 {
		return ErrLength
	}
	n := int64(0)
	for _, c := range value {
		digit := int64(c) - '0'
		if digit < 0 || digit > 9 || n > (math.MaxInt64-digit)/10 {
			return ErrLength
		}
		n = n*10 + digit
	}
	if n > p.lim.MaxBodyBytes {
		return ErrBodyLarge
	}
	r.ContentLength = n
	return Complete
}

// coding reads Transfer-Encoding (RFC 9112, 6.1, 6.3, 7). Only chunked is supported. A list
// in which chunked is not last, occurs more than once or has parameters cannot be framed:
// 400. Any other coding is unknown: 501.
func (p *Parser) coding(r *exchange.Request, value []byte) Code {
	switch {
	case r.Version == exchange.HTTP10:
		return ErrCodingHTTP10
	case p.names&sawLength != 0:
		return ErrLengthAndCoding
	case p.names&sawCoding != 0:
		return ErrCoding
	}
	p.names |= sawCoding
	if equalFold(value, "chunked") {
		r.ContentLength = exchange.UnknownLength // the last chunk marks the end
		return Complete
	}
	codings, chunked := 0, 0
	last := false
	for item, rest := nextItem(value); ; item, rest = nextItem(rest) {
		token := item[:scan.Token(item)]
		if len(token) == 0 || equalFold(token, "identity") {
			return ErrCoding
		}
		codings++
		if last = equalFold(token, "chunked"); last {
			chunked++
		}
		if len(token) != len(item) && (last || !validParameters(item[len(token):])) {
			return ErrCoding
		}
		if rest == nil {
			break
		}
	}
	if chunked > 1 || chunked == 1 && !last {
		return ErrCoding
	}
	return ErrCodingUnknown
}

// connection reads Connection (RFC 9110, 7.6.1): a list of tokens. Parameters of
// keep-alive, which clients put here instead of in Keep-Alive, are ignored.
func (p *Parser) connection(value []byte) Code {
	switch string(value) { // the values that nearly all clients send
	case "keep-alive", "Keep-Alive":
		p.names |= sawKeepAlive
		return Complete
	case "close":
		p.names |= sawClose
		return Complete
	}
	for item, rest := nextItem(value); ; item, rest = nextItem(rest) {
		option := item[:scan.Token(item)]
		keep := equalFold(option, "keep-alive")
		if len(option) != len(item) && !(keep && validParameters(item[len(option):])) {
			return ErrConnection
		}
		if keep {
			p.names |= sawKeepAlive
		} else if equalFold(option, "close") {
			p.names |= sawClose
		}
		if rest == nil {
			return Complete
		}
	}
}

// announcesFraming reports whether the list in a Trailer field names one of the
// fields that net/http refuses there (RFC 9110, 6.5.1, 6.6.2).
func announcesFraming(value []byte) bool {
	for item, rest := nextItem(value); ; item, rest = nextItem(rest) {
		if equalFold(item, "content-length") || equalFold(item, "transfer-encoding") || equalFold(item, "trailer") {
			return true
		}
		if rest == nil {
			return false
		}
	}
}

// finish makes the decisions that need the whole header section.
func (p *Parser) finish(r *exchange.Request) Code {
	if r.Version == exchange.HTTP10 {
		r.Close = p.names&sawClose != 0 || p.names&sawKeepAlive == 0 // RFC 9112, 9.3
		return Complete
	}
	if p.names&sawHost == 0 {
		return ErrHostMissing
	}
	if p.names&sawBadTrailer != 0 && r.ContentLength == exchange.UnknownLength {
		return ErrTrailerField
	}
	r.Close = p.names&sawClose != 0
	r.ExpectContinue = p.names&sawContinue != 0 && r.HasBody()
	return Complete
}

// nextItem cuts the first item off a comma-separated list (RFC 9110, 5.6.1), without
// surrounding whitespace; the item may be empty. The rest is nil after the last item.
func nextItem(list []byte) (item, rest []byte) {
	end := 0
	for end < len(list) && list[end] != ',' {
		end++
	}
	if end < len(list) {
		rest = list[end+1:]
	}
	from, to := trim(list, 0, end)
	return list[from:to], rest
}

// validParameters reports whether b is *( OWS ";" OWS token BWS "=" BWS ( token /
// quoted-string ) ) (RFC 9112, 7). Commas in quoted strings do not occur here.
func validParameters(b []byte) bool {
	for len(b) > 0 {
		from, _ := trim(b, 0, len(b))
		if from == len(b) || b[from] != ';' {
			return false
		}
		from, _ = trim(b, from+1, len(b))
		b = b[from:]
		n := scan.Token(b)
		from, _ = trim(b, n, len(b))
		if n == 0 || from == len(b) || b[from] != '=' {
			return false
		}
		from, _ = trim(b, from+1, len(b))
		b = b[from:]
		if n = scan.Token(b); n == 0 {
			n = quotedLen(b)
		}
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// quotedLen returns the length of the leading quoted-string (RFC 9110, 5.6.4), or 0.
func quotedLen(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

// equalFold compares b with s, which is lower-case, ignoring the case of ASCII letters.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}
