package h2

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// FromWire parses a whole request in HTTP/1.1 format and returns the fields for NewRequest,
// and the content. Fields that apply only to a connection of HTTP/1.1 are omitted (RFC
// 9113, section 8.2.2). The content is a part of wire.
func FromWire(wire []byte, scheme string) (fields []Field, content []byte, err error) {
	head, content, ok := bytes.Cut(wire, []byte("\r\n\r\n"))
	if !ok {
		return nil, nil, errors.New("http2: incomplete request head")
	}
	lines := strings.Split(string(head), "\r\n")
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 {
		return nil, nil, fmt.Errorf("http2: invalid request line %q", lines[0])
	}
	authority := ""
	var rest []Field
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("http2: invalid field line %q", line)
		}
		name, value = strings.ToLower(name), strings.Trim(value, " \t")
		switch name {
		case "host":
			authority = value
		case "transfer-encoding":
			return nil, nil, errors.New("http2: a chunked request, which HTTP/2 does not support: give it a content-length")
		case "connection", "proxy-connection", "keep-alive", "upgrade", "te":
		default:
			rest = append(rest, Field{Name: name, Value: []byte(value)})
		}
	}
	fields = append(Pseudo(parts[0], scheme, authority, []byte(parts[1])), rest...)
	return fields, content, nil
}

// Pseudo returns the pseudo-header fields of a request, with the path as the last one.
// Without an authority there are three.
func Pseudo(method, scheme, authority string, path []byte) []Field {
	fields := []Field{{Name: ":method", Value: []byte(method)}, {Name: ":scheme", Value: []byte(scheme)}}
	if authority != "" {
		fields = append(fields, Field{Name: ":authority", Value: []byte(authority)})
	}
	return append(fields, Field{Name: ":path", Value: path})
}
