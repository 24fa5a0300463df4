package h1

import "bytes"

var (
	endOfHead = []byte("\r\n\r\n")
	protocol  = []byte("HTTP/1.")
)

// feedHead looks for a whole head in in, or in the stored beginning together with in, and
// returns how many bytes of in belong to it.
func (p *Parser) feedHead(in []byte) (n int, v Verdict) {
	if len(p.head) == 0 {
		whole := in[:min(len(in), maxHead)]
		if at := bytes.Index(whole, endOfHead); at >= 0 {
			at += len(endOfHead)
			return at, p.parseHead(whole[:at])
		}
	}
	old := len(p.head)
	p.head = append(p.head, in[:min(len(in), maxHead-old)]...)
	from := max(0, old-len(endOfHead)+1)
	if at := bytes.Index(p.head[from:], endOfHead); at >= 0 {
		at += from + len(endOfHead)
		v = p.parseHead(p.head[:at])
		p.emptyHead()
		return at - old, v
	}
	switch {
	case !plausible(p.head, from):
		return len(in), Malformed
	case len(p.head) == maxHead:
		return len(in), TooLong
	}
	return len(in), More
}

// plausible reports whether head can be the beginning of a valid head, so that garbage is
// detected immediately and does not time out. Bytes before from were checked already.
func plausible(head []byte, from int) bool {
	n := min(len(head), len(protocol))
	if !bytes.Equal(head[:n], protocol[:n]) {
		return false
	}
	for i := from; ; i++ {
		at := bytes.IndexByte(head[i:], '\n')
		if at < 0 {
			return true
		}
		i += at
		if i == 0 || head[i-1] != '\r' {
			return false
		}
	}
}

// framing is what the fields of a head specify about the body.
type framing struct {
	length    int64 // -1: none
	chunked   bool
	close     bool
	keepAlive bool
}

// parseHead parses a whole head and sets the following state: RFC 9112, sections 4 to 6. A
// head that another client might interpret differently is malformed.
func (p *Parser) parseHead(h []byte) Verdict {
	line, rest := cutLine(h)
	minor, status, ok := parseStatus(line)
	if !ok {
		return Malformed
	}
	f := framing{length: -1}
	for {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		if !f.field(line) {
			return Malformed
		}
	}
	if len(rest) != 0 || f.chunked && f.length >= 0 {
		return Malformed
	}
	if status < 200 && status != 101 { // interim, the final response follows
		return More
	}
	p.begin(status, minor, f)
	if p.Sink != nil {
		p.Sink.Head(status, h)
	}
	bodiless := status < 200 || status == 204 || status == 304 || p.bodiless()
	switch {
	case bodiless || f.length == 0:
		return p.finish()
	case f.chunked:
		p.left, p.line, p.state = 0, 0, inSize
	case f.length > 0:
		p.left, p.state = f.length, inBody
		if !p.Rules.AnyBody && p.wrong == More && f.length != int64(len(p.Rules.Body)) {
			p.wrong = BadLength
		}
	default:
		p.Close, p.state = true, inUntilClose
	}
	return More
}

// begin starts a final response.
func (p *Parser) begin(status int, minor byte, f framing) {
	p.Status = status
	p.Judge.Begin(status)
	// After 101 the bytes are no longer HTTP; before HTTP/1.1 a connection ends with its
	// response unless the server specifies otherwise.
	p.Close = f.close || status == 101 || minor == '0' && !f.keepAlive
}

// cutLine splits off the first line, without its CRLF. There always is one, because a head
// ends in CRLFCRLF.
func cutLine(h []byte) (line, rest []byte) {
	at := bytes.IndexByte(h, '\n')
	if at < 1 || h[at-1] != '\r' {
		return badLine, nil
	}
	return h[:at-1], h[at+1:]
}

// badLine is neither a status line nor a field.
var badLine = []byte{0}

// parseStatus parses a status line. A missing reason, and a missing space before it, are
// accepted: some servers send such lines.
func parseStatus(line []byte) (minor byte, status int, ok bool) {
	// HTTP/1.1 200 OK
	if len(line) < 12 || !bytes.HasPrefix(line, protocol) || line[8] != ' ' {
		return 0, 0, false
	}
	minor = line[7]
	if minor != '0' && minor != '1' {
		return 0, 0, false
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 || len(line) > 12 && line[12] != ' ' {
		return 0, 0, false
	}
	return minor, status, bytes.IndexByte(line, '\r') < 0
}

// field parses one field line and reports whether it is well-formed.
func (f *framing) field(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || bytes.IndexByte(line, '\r') >= 0 || bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	name := line[:colon]
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	switch len(name) {
	case len("content-length"):
		if equalFold(name, "content-length") {
			return f.contentLength(trim(line[colon+1:]))
		}
	case len("transfer-encoding"):
		if equalFold(name, "transfer-encoding") {
			// No other coding was offered in the request.
			ok := !f.chunked && equalFold(trim(line[colon+1:]), "chunked")
			f.chunked = true
			return ok
		}
	case len("connection"):
		if equalFold(name, "connection") {
			f.connection(line[colon+1:])
		}
	}
	return true
}

func (f *framing) contentLength(value []byte) bool {
	if len(value) == 0 || len(value) > 18 {
		return false
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int64(c-'0')
	}
	if f.length >= 0 && f.length != n {
		return false
	}
	f.length = n
	return true
}

func (f *framing) connection(value []byte) {
	for len(value) > 0 {
		option := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			option, value = value[:comma], value[comma+1:]
		} else {
			value = nil
		}
		option = trim(option)
		f.close = f.close || equalFold(option, "close")
		f.keepAlive = f.keepAlive || equalFold(option, "keep-alive")
	}
}

// trim removes optional white space, RFC 9110, section 5.6.3.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// equalFold compares b with lower, which is in lower case; ASCII only.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// Field returns the value of the first field with that name, which is in lower case,
// without surrounding white space. The head is a whole one, as passed to a [Sink].
func Field(head []byte, name string) (value []byte, ok bool) {
	for len(head) > 0 {
		var line []byte
		line, head = cutLine(head)
		if len(line) > len(name) && line[len(name)] == ':' && equalFold(line[:len(name)], name) {
			return trim(line[len(name)+1:]), true
		}
	}
	return nil, false
}
