package h2

// class is the role of a field name.
type class uint8

const (
	classPlain     class = iota
	classStatus          // :status
	classLength          // content-length
	classPseudo          // another pseudo-header field: responses have none, RFC 9113, section 8.3.2
	classForbidden       // connection-specific, RFC 9113, section 8.2.2
	classBadName         // RFC 9113, section 8.2.1
	classWanted          // and above: Settings.Want[class-classWanted]
)

// maxWant is the limit on Settings.Want.
const maxWant = 200

// Head is the head of a response. It is valid until the Handler returns.
type Head struct {
	Status int
	Length int64    // value of content-length; -1: none
	values [][]byte // of Settings.Want, nil if missing
	text   []byte
}

// Text returns all fields except the status in the format of HTTP/1.1, one per line, if
// Settings.Text is set.
func (h *Head) Text() []byte { return h.text }

// Value returns the value of the field Settings.Want[i], or nil if the response has none.
// If there are several, it is the first one.
func (h *Head) Value(i int) []byte { return h.values[i] }

// decoder decodes header blocks, RFC 7541.
type decoder struct {
	client  *Client
	table   table
	head    Head
	kept    []byte // values that head refers to
	regular bool   // a field other than a pseudo-header field was seen
	trailer bool   // the block is a trailer section
	list    int    // size of the fields so far, RFC 9113, section 6.5.2
	wrong   string // why the response is malformed, or empty
}

// decode decodes a whole block. problem is the reason why the connection must end, or 0; an
// error of only the response is in d.wrong.
func (d *decoder) decode(b []byte, trailer bool) (problem Kind) {
	d.head.Status, d.head.Length = 0, -1
	clear(d.head.values)
	d.kept, d.head.text = d.kept[:0], d.head.text[:0]
	d.regular, d.trailer, d.list, d.wrong = false, trailer, 0, ""
	fields := false
	for len(b) > 0 {
		var ok bool
		switch c := b[0]; {
		case c&0x80 != 0:
			b, ok = d.indexed(b)
		case c&0xe0 == 0x20:
			if fields {
				return Compression // section 4.2: only at the beginning
			}
			var n int
			n, b, ok = readInt(b, 5)
			if !ok || n > tableSize {
				return Compression
			}
			d.table.resize(n)
			continue
		default:
			b, ok = d.literal(b)
		}
		if !ok {
			return Compression
		}
		if d.list > d.client.set.HeaderList {
			return HeaderSize
		}
		fields = true
	}
	if !trailer && d.head.Status == 0 && d.wrong == "" {
		d.wrong = "an answer without a status"
	}
	return 0
}

// indexed decodes a field that is an index, section 6.1.
func (d *decoder) indexed(b []byte) (rest []byte, ok bool) {
	i, rest, ok := readInt(b, 7)
	switch {
	case !ok || i == 0:
		return nil, false
	case i < firstDynamic:
		p := &d.client.static[i]
		d.field(p.class, false, p.name, p.value)
		return rest, true
	case i-firstDynamic >= d.table.live():
		return nil, false
	}
	e, name, value := d.table.at(i - firstDynamic)
	d.field(e.class, e.bad, name, value)
	return rest, true
}

// literal decodes a literal field, with its name or an index of the name, section 6.2.
func (d *decoder) literal(b []byte) (rest []byte, ok bool) {
	insert := b[0]&0xc0 == 0x40
	bits := uint(4)
	if insert {
		bits = 6
	}
	i, b, ok := readInt(b, bits)
	if !ok {
		return nil, false
	}
	d.client.text = d.client.text[:0]
	var name []byte
	var c class
	switch {
	case i == 0:
		if name, b, ok = d.text(b); !ok {
			return nil, false
		}
		c = d.client.classify(name)
	case i < firstDynamic:
		p := &d.client.static[i]
		name, c = p.name, p.class
	case i-firstDynamic < d.table.live():
		var e *entry
		e, name, _ = d.table.at(i - firstDynamic)
		c = e.class
		d.client.text = append(d.client.text, name...) // inserting the new entry may evict this one
		name = d.client.text
	default:
		return nil, false
	}
	value, b, ok := d.text(b)
	if !ok {
		return nil, false
	}
	bad := !validValue(value)
	d.field(c, bad, name, value)
	if insert {
		d.table.insert(name, value, c, bad)
	}
	return b, true
}

// text decodes a string, section 5.2. The result is in b or in the client's text, where a
// name remains when its value is decoded.
func (d *decoder) text(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	encoded := b[0]&0x80 != 0
	n, b, ok := readInt(b, 7)
	if !ok || n > len(b) {
		return nil, nil, false
	}
	if !encoded {
		return b[:n], b[n:], true
	}
	from := len(d.client.text)
	d.client.text, ok = unhuffman(d.client.text, b[:n])
	return d.client.text[from:], b[n:], ok
}

// field handles one field of the response.
func (d *decoder) field(c class, bad bool, name, value []byte) {
	d.list += len(name) + len(value) + entryExtra
	if bad {
		d.wrong = "a field value with invalid characters"
	}
	switch c {
	case classPlain:
	case classStatus:
		if d.regular || d.trailer || d.head.Status != 0 || !d.status(value) {
			d.wrong = "a status that is repeated, misplaced or not a number"
		}
		return
	case classPseudo:
		d.wrong = "a pseudo-header field that is invalid in an answer"
		return
	case classForbidden:
		d.wrong = "a connection-specific field"
	case classBadName:
		d.wrong = "a field name with invalid characters"
	case classLength:
		if !d.trailer && !d.length(value) {
			d.wrong = "a content-length that is repeated or not a number"
		}
	default:
		if i := int(c - classWanted); d.head.values[i] == nil && !d.trailer {
			d.keep(i, value)
		}
	}
	d.regular = true
	if d.client.set.Text && !d.trailer && !bad {
		t := append(d.head.text, name...)
		t = append(append(t, ": "...), value...)
		d.head.text = append(t, "\r\n"...)
	}
}

func (d *decoder) status(value []byte) bool {
	if len(value) != 3 || value[0] == '0' {
		return false
	}
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	d.head.Status = n
	return true
}

func (d *decoder) length(value []byte) bool {
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
	if d.head.Length >= 0 && d.head.Length != n {
		return false
	}
	d.head.Length = n
	return true
}

// keep copies a wanted value. Values kept before may refer to the old buffer, which append
// does not change.
func (d *decoder) keep(i int, value []byte) {
	from := len(d.kept)
	d.kept = append(d.kept, value...)
	d.head.values[i] = d.kept[from:len(d.kept):len(d.kept)]
	if d.head.values[i] == nil {
		d.head.values[i] = []byte{} // present, and empty
	}
}

// readInt decodes an integer whose first bits are the low ones of b[0], section 5.1.
func readInt(b []byte, bits uint) (n int, rest []byte, ok bool) {
	most := 1<<bits - 1
	n = int(b[0]) & most
	b = b[1:]
	if n < most {
		return n, b, true
	}
	for shift := uint(0); len(b) > 0 && shift <= 21; shift += 7 {
		c := b[0]
		b = b[1:]
		n += int(c&0x7f) << shift
		if c&0x80 == 0 {
			return n, b, true
		}
	}
	return 0, nil, false
}

// validValue reports whether RFC 9113, section 8.2.1, permits a field value.
func validValue(v []byte) bool {
	for _, c := range v {
		if c == 0 || c == '\r' || c == '\n' {
			return false
		}
	}
	return len(v) == 0 || !blank(v[0]) && !blank(v[len(v)-1])
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// validName reports whether RFC 9113, section 8.2.1, permits a field name.
func validName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || c == ':' || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return len(name) > 0
}
