package h2

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Field is a field of a request. The four pseudo-header fields, which come first, are also
// Fields: :method, :scheme, :authority, :path (RFC 9113, section 8.3.1).
type Field struct {
	Name  string // sent in lower case
	Value []byte
	Vary  bool // Request.Set changes the value for each request: never added to the server's table
	Never bool // a secret: marked as never to be added to a table, RFC 7541, section 6.2.3
}

// Request is a request prepared for sending, shared by the connections of a Client.
type Request struct {
	index  int
	fields []field
	varies bool
	method string
	head   bool // responses have no content, whatever their fields say
	body   []byte
	size   int64
	source Content // instead of body
}

// Content is the source of a request's content, read while it is sent.
type Content interface {
	// AppendContentAt appends n bytes to dst, starting at off; fewer only at the end.
	AppendContentAt(dst []byte, off int64, n int) ([]byte, error)
}

// field is a Field in the forms that encoding needs.
type field struct {
	name, value []byte
	full        int // index in the static table, or 0
	same        int // index there of an entry with that name, or 0
	vary, never bool
	nameText    []byte // the name as a literal
	valueText   []byte // the value as a literal, if it does not vary
}

func (f *field) size() int { return len(f.name) + len(f.value) + entryExtra }

// NewRequest prepares a request. index numbers the requests that the connections of a
// Client send, from 0 and without gaps: each connection stores a block for each. body is
// the content, repeated or truncated to size bytes; it is not copied. A content-length is
// sent only if it is among the fields.
func NewRequest(index int, fields []Field, body []byte, size int64) (*Request, error) {
	switch {
	case index < 0:
		return nil, errors.New("http2: the index of a request is negative")
	case size < 0 || size > 0 && len(body) == 0:
		return nil, fmt.Errorf("http2: content of %d bytes out of %d", size, len(body))
	}
	r := &Request{index: index, body: body, size: size}
	if size > 0 && int64(len(body)) < size && len(body) < maxFrame {
		// Repeat the body, so that a frame is copied in one call.
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

// pseudo validates the pseudo-header fields.
func (r *Request) pseudo(fields []Field) error {
	seen := map[string]bool{}
	for _, f := range fields {
		switch f.Name {
		case ":method":
			r.method = string(f.Value)
			r.head = r.method == "HEAD"
		case ":scheme", ":authority", ":path":
		default:
			return fmt.Errorf("http2: a request has no field %s", f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("http2: %s occurs twice", f.Name)
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

// checkName rejects names that RFC 9113, sections 8.2.1 and 8.2.2, do not permit.
func checkName(name string) error {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return fmt.Errorf("http2: %s is specific to HTTP/1.1 connections: leave it out", name)
	case "host":
		return errors.New("http2: use :authority instead of host")
	}
	if !validName([]byte(name)) {
		return fmt.Errorf("http2: %q is no field name", name)
	}
	return nil
}

// Set sets the value of the i-th field passed to NewRequest, which must vary, for requests
// appended from now on. The value is neither copied nor validated: it must not contain line
// breaks or begin or end with white space.
func (r *Request) Set(i int, value []byte) {
	f := &r.fields[i]
	if !f.vary {
		panic("h2: Set of a field that does not vary")
	}
	f.value = value
}

// SetBody sets the whole content of requests appended from now on. It is not copied, and
// must not change as long as a stream that sends it is open.
func (r *Request) SetBody(body []byte) {
	r.body, r.size, r.source = body, int64(len(body)), nil
}

// SetContent is SetBody for size bytes that are read while they are sent. An error of src
// ends the connection, see Conn.ContentErr.
func (r *Request) SetContent(src Content, size int64) {
	r.body, r.size, r.source = nil, size, src
}

// Method returns the request's method.
func (r *Request) Method() string { return r.method }

// Fields returns the number of fields.
func (r *Request) Fields() int { return len(r.fields) }

// Head reports whether responses to the request have no content, whatever their fields say.
func (r *Request) Head() bool { return r.head }

// appendInt appends an integer after the bits of first, RFC 7541, section 5.1.
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

// appendText appends a string, Huffman-encoded if that is shorter, RFC 7541, section 5.2.
func appendText(dst, s []byte) []byte {
	if n := huffmanSize(s); n < len(s) {
		return appendHuffman(appendInt(dst, 0x80, 7, n), s)
	}
	return append(appendInt(dst, 0, 7, len(s)), s...)
}
