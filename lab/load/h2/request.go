package h2

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Field is a field of a request. The four pseudo-header fields, which come first,
// are fields as well: :method, :scheme, :authority, :path (RFC 9113, section 8.3.1).
type Field struct {
	Name  string // lower case on the wire, whatever it is here
	Value []byte
	Vary  bool // Request.Set gives it another value for each request: never put into the server's table
	Never bool // a secret: marked as never to be put into a table, RFC 7541, section 6.2.3
}

// Request is a request as it is sent, prepared once and shared by the connections
// of a Client.
type Request struct {
	index  int
	fields []field
	varies bool
	head   bool // answers have no content, whatever they say
	body   []byte
	size   int64
	source Content // in place of body
}

// Content is what the content of a request is read from as it is sent.
type Content interface {
	// AppendContentAt appends n bytes from off on to dst, and less only at the end.
	AppendContentAt(dst []byte, off int64, n int) ([]byte, error)
}

// field is a Field in the forms that encoding needs.
type field struct {
	name, value []byte
	full        int    // index in the static table, or 0
	same        int    // index there of an entry of that name, or 0
	vary, never bool   //
	nameText    []byte // the name as a literal
	valueText   []byte // the value as one, if it does not vary
}

func (f *field) size() int { return len(f.name) + len(f.value) + entryExtra }

// NewRequest prepares a request. index numbers the requests that the connections
// of a Client send, from 0 and without gaps: each connection keeps a block for each.
// body is the content, repeated or cut so that it comes to size bytes; it is not
// copied. A content-length is among the fields, or is not sent.
func NewRequest(index int, fields []Field, body []byte, size int64) (*Request, error) {
	switch {
	case index < 0:
		return nil, errors.New("http2: the index of a request is negative")
	case size < 0 || size > 0 && len(body) == 0:
		return nil, fmt.Errorf("http2: content of %d bytes out of %d", size, len(body))
	}
	r := &Request{index: index, body: body, size: size}
	if size > 0 && int64(len(body)) < size && len(body) < maxFrame {
		// A frame is copied in one go from a body that is repeated often enough.
		r.body = bytes.Repeat(body, (maxFrame+len(body)-1)/len(body))
	}
	pseudo := 0
	for i, f := range fields {
		name := strings.ToLower(f.Name)
		if strings.HasPrefix(name, ":") {
			if pseudo < i {
				return nil, fmt.Errorf("http2: %s comes after other fields", name)
			}
			pseudo++
		} else if err := checkName(name); err != nil {
			return nil, err
		}
		if !validValue(f.Value) {
			return nil, fmt.Errorf("http2: the value of %s has line breaks, or blanks around it", name)
		}
		g := field{name: []byte(name), value: f.Value, vary: f.Vary, never: f.Never}
		g.full, g.same = inStatic(name, string(f.Value))
		g.nameText = appendText(nil, g.name)
		if !f.Vary {
			g.valueText = appendText(nil, g.value)
		}
		r.fields = append(r.fields, g)
		r.varies = r.varies || f.Vary
	}
	return r, r.pseudo(fields[:pseudo])
}

// pseudo checks the pseudo-header fields.
func (r *Request) pseudo(fields []Field) error {
	seen := map[string]bool{}
	for _, f := range fields {
		switch f.Name {
		case ":method":
			r.head = string(f.Value) == "HEAD"
		case ":scheme", ":authority", ":path":
		default:
			return fmt.Errorf("http2: a request has no field %s", f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("http2: %s stands twice", f.Name)
		}
		seen[f.Name] = true
	}
	for _, name := range []string{":method", ":scheme", ":path"} {
		if !seen[name] {
			return fmt.Errorf("http2: a request needs %s", name)
		}
	}
	return nil
}

// checkName refuses names that RFC 9113, sections 8.2.1 and 8.2.2, do not allow.
func checkName(name string) error {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return fmt.Errorf("http2: %s is of HTTP/1.1 connections: leave it out", name)
	case "host":
		return errors.New("http2: host is called :authority")
	}
	if !validName([]byte(name)) {
		return fmt.Errorf("http2: %q is no field name", name)
	}
	return nil
}

// Set gives the i-th field of those that NewRequest got, one that varies, its
// value in the requests that are appended from now on. The value is not copied
// and not checked: it must have no line breaks, and no blanks around it.
func (r *Request) Set(i int, value []byte) {
	f := &r.fields[i]
	if !f.vary {
		panic("h2: a field that does not vary is set")
	}
	f.value = value
}

// SetBody gives the request its content from now on, whole. It is not copied, and
// must not change as long as a stream that carries it is open.
func (r *Request) SetBody(body []byte) {
	r.body, r.size, r.source = body, int64(len(body)), nil
}

// SetContent is SetBody for size bytes that are read as they are sent. An error of
// src ends the connection, see Conn.ContentErr.
func (r *Request) SetContent(src Content, size int64) {
	r.body, r.size, r.source = nil, size, src
}

// Fields is how many fields there are.
func (r *Request) Fields() int { return len(r.fields) }

// Head reports whether answers to the request have no content, whatever they say.
func (r *Request) Head() bool { return r.head }

// appendInt appends an integer behind the bits of first, RFC 7541, section 5.1.
func appendInt(dst []byte, first byte, bits uint, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// appendText appends a string, encoded if that is shorter, RFC 7541, section 5.2.
func appendText(dst, s []byte) []byte {
	if n := huffmanSize(s); n < len(s) {
		return appendHuffman(appendInt(dst, 0x80, 7, n), s)
	}
	return append(appendInt(dst, 0, 7, len(s)), s...)
}
