package http2

import (
	"bytes"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http2/hpack"
)

// A verdict is what is wrong with a head: 0 if nothing is, otherwise malformed or the status
// of the answer.
type verdict int

const (
	// malformed is the verdict for a request that violates RFC 9113, 8: its stream is reset after
	// an answer.
	malformed verdict = -1
	// crowded is the verdict for one whose memory is taken by others: its client may send it again.
	crowded verdict = -2
)

// Pseudo-header fields, as bits (RFC 9113, 8.3.1; RFC 8441, 4).
const (
	pseudoMethod = 1 << iota
	pseudoScheme
	pseudoAuthority
	pseudoPath
	pseudoProtocol
)

// pseudos are the names, and the statuses of responses, which a client must not send.
func pseudo(name []byte) int {
	switch string(name) {
	case ":method":
		return pseudoMethod
	case ":scheme":
		return pseudoScheme
	case ":authority":
		return pseudoAuthority
	case ":path":
		return pseudoPath
	case ":protocol":
		return pseudoProtocol
	}
	return 0
}

// head decodes a header block into the request. An error ends the connection, because the
// compression state is lost; a verdict ends the stream.
func (st *stream) head(data []byte) (verdict, error) {
	s, r, lim := st.s, &st.x.Request, st.s.limits()
	r.Reset()
	most := min(honest(len(data), lim.MaxFields), lim.MaxHeadBytes)
	if len(data) > keptText/2 { // how long the text is going to be is not known yet
		st.text = buf.Get(most)
		defer st.fit()
	}
	var over bool
	var err error
	st.text, s.fields, over, err = s.decoder.Decode(data, st.text[:0], s.fields[:0], most, lim.MaxFields+numPseudo)
	s.work += len(st.text)/workBytes + len(s.fields)
	if err != nil {
		return 0, err
	}
	if over {
		return 431, nil
	}
	p := pseudoFields{st: st}
	if v := p.read(s.fields); v != 0 {
		return v, nil
	}
	if p.cookies > 1 {
		p.joinCookies()
	}
	if !st.hold() {
		return crowded, nil
	}
	r.Head = st.text
	v, err := p.finish()
	if v == 0 && p.unmet {
		v = 417 // only now: a request that is malformed is answered as such
	}
	return v, err
}

// fit moves the text of a large head from pooled memory into as much as it needs.
func (st *stream) fit() {
	pooled := st.text
	if st.text = nil; st.x.Head != nil {
		st.text = append(st.text, pooled...)
		st.x.Head = st.text
	}
	buf.Put(pooled)
}

// honest is how long a head can be whose block has n bytes, unless it says the same again and
// again: a byte of the block may stand for a line of the table (RFC 7541, 6.1), but for each only
// once. Huffman codes have at least five bits, and names that the block repeats are short.
func honest(n, fields int) int { return 2*n + defaultPeerTable + 32*min(n, fields) }

// numPseudo is the number of fields of a head that are not field lines.
const numPseudo = 5

// pseudoFields reads a decoded head.
type pseudoFields struct {
	st        *stream
	seen      int
	authority exchange.Span
	path      exchange.Span
	protocol  exchange.Field
	host      exchange.Span
	hasHost   bool
	scheme    exchange.Span
	cookies   int
	unmet     bool // an expectation that is not known
}

func span(s hpack.Span) exchange.Span { return exchange.Span(s) }

// read takes the fields over, and checks each by itself.
func (p *pseudoFields) read(fields []hpack.Field) verdict {
	r, text := &p.st.x.Request, p.st.text
	for i := range fields {
		f := &fields[i]
		name, value := span(f.Name).In(text), span(f.Value).In(text)
		if len(name) > 0 && name[0] == ':' {
			if v := p.pseudo(f, name, value); v != 0 {
				return v
			}
			continue
		}
		if !validName(name) || !validValue(value) {
			return malformed
		}
		id := exchange.LookupHeader(name)
		switch id {
		case exchange.HeaderConnection, exchange.HeaderKeepAlive, exchange.HeaderProxyConnection,
			exchange.HeaderTransferEncoding, exchange.HeaderUpgrade:
			return malformed // RFC 9113, 8.2.2
		case exchange.HeaderTE:
			if string(value) != "trailers" {
				return malformed
			}
		case exchange.HeaderHost:
			if p.hasHost {
				return malformed
			}
			p.host, p.hasHost = span(f.Value), true
		case exchange.HeaderCookie:
			p.cookies++
		case exchange.HeaderExpect:
			continues, ok := exchange.Expectations(value)
			r.ExpectContinue = r.ExpectContinue || continues
			p.unmet = p.unmet || !ok
		}
		r.Append(exchange.Field{Name: span(f.Name), Value: span(f.Value), ID: id})
	}
	return 0
}

// pseudo takes one pseudo-header field: they come first, and once each.
func (p *pseudoFields) pseudo(f *hpack.Field, name, value []byte) verdict {
	r := &p.st.x.Request
	bit := pseudo(name)
	if bit == 0 || p.seen&bit != 0 || len(r.Fields) > 0 || !validValue(value) {
		return malformed
	}
	p.seen |= bit
	switch bit {
	case pseudoMethod:
		if !exchange.ValidName(string(value)) {
			return malformed
		}
		r.RawMethod, r.Method = span(f.Value), exchange.LookupMethod(value)
	case pseudoScheme:
		if !validScheme(value) {
			return malformed
		}
		p.scheme = span(f.Value)
	case pseudoAuthority:
		p.authority = span(f.Value)
	case pseudoPath:
		p.path = span(f.Value)
	case pseudoProtocol:
		p.protocol = exchange.Field{Name: span(f.Name), Value: span(f.Value)}
	}
	return 0
}

// finish checks the fields together, and completes the request.
func (p *pseudoFields) finish() (verdict, error) {
	r, st := &p.st.x.Request, p.st
	r.Version = exchange.HTTP2
	const request = pseudoMethod | pseudoScheme | pseudoPath
	connect := r.Method == exchange.MethodConnect
	switch {
	case p.seen&pseudoMethod == 0:
		return malformed, nil
	case p.seen&pseudoProtocol != 0:
		if !st.s.cfg.ExtendedConnect || !connect || p.seen&(request|pseudoAuthority) != request|pseudoAuthority {
			return malformed, nil
		}
		r.Append(p.protocol)
	case connect:
		if p.seen != pseudoMethod|pseudoAuthority {
			return malformed, nil
		}
	case p.seen&request != request:
		return malformed, nil
	}
	r.Authority = p.authority
	if p.seen&pseudoAuthority == 0 {
		r.Authority = p.host
	} else if p.hasHost && p.conflict() {
		return malformed, nil // RFC 9113, 8.3.1
	}
	plain := connect && p.seen&pseudoProtocol == 0
	if !exchange.ValidAuthority(r.Authority.In(st.text), plain) {
		return 400, nil // RFC 9113, 8.3.1; it must not be empty, either
	}
	if !p.hasHost {
		st.addHost()
	}
	if plain {
		r.Target = r.Authority
		return 0, nil
	}
	return st.target(p.path), nil
}

// conflict reports whether the Host field names another authority.
func (p *pseudoFields) conflict() bool {
	text, port := p.st.text, "80"
	if exchange.FoldedEqual(string(p.scheme.In(text)), "https") {
		port = "443"
	}
	return !exchange.SameAuthority(p.authority.In(text), p.host.In(text), port)
}

// addHost adds the field by which handlers know the authority from HTTP/1.1.
func (st *stream) addHost() {
	r := &st.x.Request
	name := exchange.Span{Off: uint32(len(st.text)), Len: uint32(len("host"))}
	st.text = append(st.text, "host"...)
	r.Head = st.text
	r.Append(exchange.Field{Name: name, Value: r.Authority, ID: exchange.HeaderHost})
}

// joinCookies makes one field of several: clients split them (RFC 9113, 8.2.3). Their values move
// behind all other lines, which close up.
func (p *pseudoFields) joinCookies() {
	r, text := &p.st.x.Request, p.st.text
	joined := buf.Get(len(text))
	kept, cookie := r.Fields[:0], -1
	var end uint32
	for _, f := range r.Fields {
		switch {
		case f.ID == exchange.HeaderCookie && cookie < 0:
			end, cookie = f.Value.Off, len(kept)
			joined = append(joined, f.Value.In(text)...)
		case f.ID == exchange.HeaderCookie:
			joined = append(append(joined, "; "...), f.Value.In(text)...)
			continue
		case cookie >= 0:
			line := exchange.Span{Off: f.Name.Off, Len: f.Name.Len + f.Value.Len}
			copy(text[end:], line.In(text))
			f.Name.Off, f.Value.Off = end, end+f.Name.Len
			end += line.Len
			if f.ID == exchange.HeaderHost {
				p.host = f.Value
			}
		}
		kept = append(kept, f)
	}
	kept[cookie].Value = exchange.Span{Off: end, Len: uint32(len(joined))}
	p.st.text = append(text[:end], joined...)
	buf.Put(joined)
	r.Refill(kept)
}

// target splits the path (RFC 9113, 8.3.1).
func (st *stream) target(path exchange.Span) verdict {
	r, text := &st.x.Request, path.In(st.text)
	r.Target = path
	switch {
	case len(text) == 0:
		return malformed
	case len(text) > st.s.limits().MaxTargetBytes:
		return 414
	case string(text) == "*" && r.Method == exchange.MethodOptions:
		r.Path = path
		return 0
	case text[0] != '/':
		return malformed
	}
	n := len(text)
	if i := bytes.IndexByte(text, '?'); i >= 0 {
		n = i
		r.Query, r.HasQuery = exchange.Span{Off: path.Off + uint32(i) + 1, Len: path.Len - uint32(i) - 1}, true
	}
	r.Path = exchange.Span{Off: path.Off, Len: uint32(n)}
	for i, c := range text {
		switch {
		case c <= ' ' || c == 0x7f || c == '#':
			return 400
		case c == '%' && i < n: // handlers judge the query, as over HTTP/1
			r.PathEscaped = true
			if n-i < 3 || !exchange.IsHex(text[i+1]) || !exchange.IsHex(text[i+2]) {
				return 400
			}
		}
	}
	return 0
}

// announce decides what content the request has; end means that there is none.
func (st *stream) announce(end bool) verdict {
	r := &st.x.Request
	announced := int64(exchange.UnknownLength)
	for i := range r.Fields {
		if r.Fields[i].ID != exchange.HeaderContentLength {
			continue
		}
		n, ok := parseLength(r.Fields[i].Value.In(st.text))
		if !ok || announced != exchange.UnknownLength && announced != n {
			return malformed
		}
		announced = n
	}
	switch {
	case end && announced > 0:
		return malformed // RFC 9113, 8.1.1
	case end:
		return 0
	case announced > st.s.limits().MaxBodyBytes:
		return 413
	}
	r.ContentLength = announced
	if announced == 0 {
		r.ContentLength = exchange.UnknownLength // the end is still to come
	}
	st.announced = announced
	return 0
}

// parseLength parses the value of a Content-Length field.
func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// validScheme reports whether b is the name of a scheme (RFC 3986, 3.1).
func validScheme(b []byte) bool {
	for i, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return len(b) > 0
}

// validName reports whether a name is a token in lower case (RFC 9113, 8.2.1).
func validName(name []byte) bool {
	for _, c := range name {
		if !nameBytes[c] {
			return false
		}
	}
	return len(name) > 0
}

var nameBytes = func() (t [256]bool) {
	for c := range t {
		t[c] = exchange.ValidName(string([]byte{byte(c)})) && (c < 'A' || c > 'Z')
	}
	return t
}()

// validValue reports whether a value has no control characters, and no space around it.
func validValue(value []byte) bool {
	if n := len(value); n > 0 && (blank(value[0]) || blank(value[n-1])) {
		return false
	}
	return exchange.ValidValue(value)
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
