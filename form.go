package redline

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
)

const (
	// DefaultMaxForm is the longest body that Ctx.Form reads, in bytes.
	DefaultMaxForm = 1 << 20
	// MaxParts is the maximum number of parts that a Multipart returns.
	MaxParts = 1000
	// maxPartHead is the maximum size of the head of a part in bytes, including what a
	// reader has to look ahead to find the boundary before it.
	maxPartHead = 32 << 10
)

// Errors of forms.
var (
	// ErrTooManyParts: a multipart body has more than MaxParts parts.
	ErrTooManyParts = errors.New("redline: multipart body has too many parts")
	// ErrPartHead: the head of a part of a multipart body is too long.
	ErrPartHead = errors.New("redline: head of a part of a multipart body is too long")
)

// A MediaTypeError reports that the request's content does not have the type that a method
// reads. The suitable status is 415.
type MediaTypeError struct {
	Got  string // the request's Content-Type, as received
	Want string // a media type, or "multipart/" for any of these
	Err  error  // why Got could not be read, or nil
}

// Error says what was expected.
func (e *MediaTypeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("content type %q: %v", e.Got, e.Err)
	}
	return fmt.Sprintf("content type %q is not %s", e.Got, e.Want)
}

// Unwrap returns the cause.
func (e *MediaTypeError) Unwrap() error { return e.Err }

// QueryValues returns all parameters of the query, decoded. The error is that of the first
// part that could not be decoded; the other parameters are returned.
func (c *Ctx) QueryValues() (url.Values, error) { return url.ParseQuery(c.RawQuery()) }

type formKey struct{}

type form struct {
	values url.Values
	err    error
}

// FormValues reads the request's body, up to most bytes, and returns its fields. The type
// of the body has to be application/x-www-form-urlencoded. Later calls return the same
// values, for any value of most. The error is a *MediaTypeError, one of ReadBody, or that
// of a malformed encoding.
func (c *Ctx) FormValues(most int64) (url.Values, error) {
	if f, ok := c.Get(formKey{}).(*form); ok {
		return f.values, f.err
	}
	f := new(form)
	f.values, f.err = c.readForm(most)
	c.Set(formKey{}, f)
	return f.values, f.err
}

func (c *Ctx) readForm(most int64) (url.Values, error) {
	const want = "application/x-www-form-urlencoded"
	if _, err := c.mediaType(want); err != nil {
		return nil, err
	}
	body, err := c.ReadBody(most)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	return values, nil
}

// Form returns the first value of a field of the form in the request's body, or "". The
// body may have up to DefaultMaxForm bytes, unless FormValues has already read it; the
// errors are those of FormValues.
func (c *Ctx) Form(name string) (string, error) {
	values, err := c.FormValues(DefaultMaxForm)
	return values.Get(name), err
}

// mediaType checks the type of the request's content, and returns its parameters. If want
// ends in a slash, it matches any subtype.
func (c *Ctx) mediaType(want string) (params map[string]string, err error) {
	got := c.ContentType()
	kind, params, err := mime.ParseMediaType(got)
	if err != nil {
		return nil, &MediaTypeError{Got: got, Want: want, Err: err}
	}
	if kind != want && (!strings.HasSuffix(want, "/") || !strings.HasPrefix(kind, want)) {
		return nil, &MediaTypeError{Got: got, Want: want}
	}
	return params, nil
}

// Multipart returns the parts of the request's body as they arrive; its type has to be
// multipart/form-data or another multipart type. The error is a *MediaTypeError. It can be
// called once, instead of the other ways to read the body.
func (c *Ctx) Multipart() (*Multipart, error) {
	params, err := c.mediaType("multipart/")
	if err != nil {
		return nil, err
	}
	boundary := params["boundary"]
	if !validBoundary(boundary) {
		return nil, &MediaTypeError{Got: c.ContentType(), Want: "multipart/", Err: errBoundary}
	}
	m := &Multipart{body: budget{r: c.Body(), left: -1}}
	m.reader = multipart.NewReader(&m.body, boundary)
	return m, nil
}

var errBoundary = errors.New("boundary is missing or malformed (RFC 2046, 5.1.1)")

// validBoundary reports whether a boundary is valid: 1 to 70 characters, of which the last
// is not a space.
func validBoundary(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z', strings.IndexByte("'()+_,-./:=? ", c) >= 0:
		default:
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 70 && s[len(s)-1] != ' '
}

// A Multipart is a multipart body that is being read. It holds only one buffer, for parts
// of any length.
type Multipart struct {
	reader *multipart.Reader
	body   budget
	part   *multipart.Part
	parts  int
}

// Next returns the next part, and io.EOF after the last. Unread content of the previous
// part is skipped. The client decides how long the content of a part is: read it piece by
// piece, or through an [io.LimitedReader]. The part is valid until the next call. The error
// is io.EOF, ErrTooManyParts, ErrPartHead, or an error of [Ctx.Body] or of a malformed
// body, wrapped.
func (m *Multipart) Next() (*multipart.Part, error) {
	if m.part != nil {
		if err := m.part.Close(); err != nil {
			return nil, err
		}
		m.part = nil
	}
	m.body.left = maxPartHead
	part, err := m.reader.NextPart()
	spent := m.body.left == 0
	m.body.left = -1
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case err != nil && spent:
		return nil, ErrPartHead
	case err != nil:
		return nil, fmt.Errorf("multipart body: %w", err)
	case m.parts == MaxParts:
		return nil, ErrTooManyParts
	}
	m.parts++
	m.part = part
	return part, nil
}

// A budget is the body under a multipart reader. It limits how much may be read; a negative
// left means no limit.
//
// The multipart reader takes a body that ends in the head of a part for a complete one. So
// at the end budget returns an error other than io.EOF, preceded by a line break, so that a
// last boundary without a line break does not need io.EOF either.
type budget struct {
	r     io.Reader // the body, followed by the line break
	left  int
	ended bool
}

// Read implements io.Reader.
func (b *budget) Read(p []byte) (int, error) {
	switch {
	case b.left == 0:
		return 0, ErrPartHead
	case b.left > 0:
		p = p[:min(len(p), b.left)]
	}
	n, err := b.r.Read(p)
	switch {
	case err == io.EOF && b.ended:
		err = io.ErrUnexpectedEOF
	case err == io.EOF:
		b.r, b.ended, err = strings.NewReader("\r\n"), true, nil
	}
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}
