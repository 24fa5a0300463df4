package exchange

import "fmt"

// Span is a range of a buffer of head bytes.
type Span struct {
	Off, Len uint32 // bytes
}

// In returns the bytes of the span in buf, capped so that an append copies.
func (s Span) In(buf []byte) []byte {
	end := s.Off + s.Len
	return buf[s.Off:end:end]
}

// Field is one field line: name and value as received, the value without surrounding
// whitespace (RFC 9112, 5.1).
type Field struct {
	Name, Value Span
	ID          HeaderID
}

// inlineFields is the number of fields that a Request holds without a separate slice: curl
// and most clients of services send fewer. A slice for more is kept with the record.
const inlineFields = 8

// A Version is a version of HTTP. Later versions compare greater.
type Version uint16

// The versions.
const (
	HTTP10 Version = 1 << 8
	HTTP11 Version = 1<<8 | 1
	HTTP2  Version = 2 << 8
)

// Major and Minor are the numbers of the version.
func (v Version) Major() int { return int(v >> 8) }

// Minor is the number after the point, 0 for HTTP/2.
func (v Version) Minor() int { return int(v & 0xff) }

// String returns the version as net/http writes it: "HTTP/1.1", "HTTP/2.0".
func (v Version) String() string {
	switch v {
	case HTTP11:
		return "HTTP/1.1"
	case HTTP10:
		return "HTTP/1.0"
	}
	return fmt.Sprintf("HTTP/%d.%d", v.Major(), v.Minor())
}

// Request is a request's head, and its trailers once they have arrived. A protocol's parser
// fills it. It is reused for the next request, and must not be copied, because Fields may
// point into it. Its zero value needs a Reset before use.
//
// The record owns only its arrays: every span of the head points into Head, which belongs
// to the caller that fed the parser.
//
//	Head    GET /a?b=c HTTP/1.1\r\nHost: example.org\r\n\r\n
//	Method  ---
//	Target      ------
//	Path        --
//	Query          ---
//	Authority                          -----------
type Request struct {
	// Head is the buffer that the head's spans point into. To keep a request
	// longer than that buffer, copy its bytes and set Head to the copy.
	Head []byte

	// Method is the method if it is a known one; RawMethod is always set.
	Method    Method
	RawMethod Span

	// Target is the request target as received. Path and Query are its parts, still
	// percent-encoded, without the '?'. The path of OPTIONS * is "*". The path of CONNECT
	// is empty, and so may be that of an absolute form, where it means "/". Escapes in the
	// path are well-formed; those in the query have not been checked.
	Target, Path, Query Span
	// HasQuery distinguishes "/?" from "/".
	HasQuery bool
	// PathEscaped reports whether the path contains a '%'.
	PathEscaped bool

	// Authority is the requested authority: that of the target if it has one, which
	// overrides the Authority field (RFC 9112, 3.2.2), otherwise the Authority field's
	// value. It is syntactically valid, and may be empty.
	Authority Span

	// Version is the HTTP version of the request.
	Version Version

	// ContentLength is the content's length in bytes, 0 if there is no content, and
	// [UnknownLength] if the framing only marks its end.
	ContentLength int64

	// Close reports that the connection ends with this exchange: because of the Connection
	// field, or because HTTP/1.0 does not keep it unless asked to.
	Close bool
	// ExpectContinue reports that the client waits for 100 (Continue) before it sends the
	// content. Never set for HTTP/1.0 (RFC 9110, 10.1.1).
	ExpectContinue bool

	// Fields are the field lines of the header section in their order. Only Append adds to
	// them; all other code only reads them.
	Fields []Field

	// Trailers are the fields of the trailer section in their order, with spans into
	// TrailerBytes, which the record owns. Both are empty until the content has been read
	// to its end.
	Trailers     []Field
	TrailerBytes []byte

	seen   uint64     // bit id: first[id] is valid
	first  [64]uint16 // index in Fields of the first field with the ID
	inline [inlineFields]Field
}

// Reset makes the record ready for the next request. It keeps the arrays.
func (r *Request) Reset() {
	r.Head = nil
	r.Method = MethodOther
	r.RawMethod, r.Target, r.Path, r.Query, r.Authority = Span{}, Span{}, Span{}, Span{}, Span{}
	r.HasQuery, r.PathEscaped = false, false
	r.Version = 0
	r.ContentLength = 0
	r.Close, r.ExpectContinue = false, false
	if r.Fields == nil {
		r.Fields = r.inline[:0]
	}
	r.Fields = r.Fields[:0]
	r.Trailers = r.Trailers[:0]
	r.TrailerBytes = r.TrailerBytes[:0]
	r.seen = 0
}

// Append adds a field at the end. The first field of a well-known header is the one that
// [Request.Get] returns. There can be at most 65,535 fields.
func (r *Request) Append(f Field) {
	bit := uint64(1) << (f.ID & 63)
	if r.seen&bit == 0 {
		r.seen |= bit
		r.first[f.ID&63] = uint16(len(r.Fields))
	}
	r.Fields = append(r.Fields, f)
}

// Has reports whether a field of the well-known header is present. It is false
// for [HeaderOther].
func (r *Request) Has(id HeaderID) bool {
	return r.seen&^1>>(id&63)&1 != 0
}

// Get returns the value of the first field of the well-known header, borrowed from Head,
// and whether it exists. Its cost does not depend on the number of fields.
func (r *Request) Get(id HeaderID) (value []byte, ok bool) {
	if !r.Has(id) {
		return nil, false
	}
	return r.Fields[r.first[id&63]].Value.In(r.Head), true
}

// Find returns the value of the first field with the name, ignoring case, borrowed from
// Head, and whether it exists.
func (r *Request) Find(name string) (value []byte, ok bool) {
	for i := range r.Fields {
		f := &r.Fields[i]
		if int(f.Name.Len) == len(name) && equalFold(f.Name.In(r.Head), name) {
			return f.Value.In(r.Head), true
		}
	}
	return nil, false
}

// FindTrailer is [Request.Find] for the trailer section; the value is borrowed
// from TrailerBytes.
func (r *Request) FindTrailer(name string) (value []byte, ok bool) {
	for i := range r.Trailers {
		f := &r.Trailers[i]
		if int(f.Name.Len) == len(name) && equalFold(f.Name.In(r.TrailerBytes), name) {
			return f.Value.In(r.TrailerBytes), true
		}
	}
	return nil, false
}

// MethodBytes returns the method's token, borrowed from Head.
func (r *Request) MethodBytes() []byte { return r.RawMethod.In(r.Head) }

// TargetBytes returns the request target, borrowed from Head.
func (r *Request) TargetBytes() []byte { return r.Target.In(r.Head) }

// PathBytes returns the path, percent-encoded, borrowed from Head.
func (r *Request) PathBytes() []byte { return r.Path.In(r.Head) }

// QueryBytes returns the query, percent-encoded, borrowed from Head.
func (r *Request) QueryBytes() []byte { return r.Query.In(r.Head) }

// AuthorityBytes returns the requested authority, borrowed from Head.
func (r *Request) AuthorityBytes() []byte { return r.Authority.In(r.Head) }

// Preface reports whether this is the beginning of HTTP/2's connection preface (RFC 9113,
// 3.4), "PRI * HTTP/2.0", on a connection of HTTP/1: a handler may take the connection over
// and speak HTTP/2 itself.
func (r *Request) Preface() bool {
	return r.Version == HTTP2 && r.Method == MethodOther && string(r.TargetBytes()) == "*"
}

// HasBody reports whether content follows the head.
func (r *Request) HasBody() bool { return r.ContentLength != 0 }

// equalFold compares a name with one of the same length, ignoring the case of ASCII
// letters.
func equalFold(a []byte, b string) bool {
	for i, c := range a {
		d := b[i]
		if c == d {
			continue
		}
		if c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z' {
			return false
		}
	}
	return true
}

// Refill replaces the fields by those of kept, which may be part of Fields.
func (r *Request) Refill(kept []Field) {
	r.Fields, r.seen = r.Fields[:0], 0
	for _, f := range kept {
		r.Append(f)
	}
}

// Forget drops what the request has of its client, except for its method.
func (r *Request) Forget() {
	method := r.Method
	r.Reset()
	r.Method = method
	r.Fields, r.Trailers, r.TrailerBytes = nil, nil, nil
}
