package redline

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
)

// A Ctx is one request and its response, as seen by a handler. It is valid until the
// handler returns, and only on the handler's goroutine. To continue after that, see
// [Ctx.Stream] and [Ctx.Hijack].
type Ctx struct {
	x *exchange.Exchange // nil after the handler has returned
}

// exchange returns the exchange of a valid Ctx and panics for any other.
func (c *Ctx) exchange() *exchange.Exchange {
	if c.x == nil {
		misuse()
	}
	return c.x
}

func misuse() {
	panic("redline: Ctx used after its handler returned: copy what you need before you return, " +
		"or use Ctx.Stream to continue writing from another goroutine")
}

func (c *Ctx) frame() *frame { return c.exchange().Local.(*frame) }

// Method returns the request's method; methods are case-sensitive (RFC 9110, 9.1).
func (c *Ctx) Method() string {
	x := c.exchange()
	if x.Method != exchange.MethodOther {
		return x.Method.String()
	}
	return string(x.MethodBytes())
}

// Path returns the path of the request target, percent-encoded as received. It is "/" for
// an absolute target without a path (RFC 9110, 4.2.3), "*" for OPTIONS *, and empty for
// CONNECT.
func (c *Ctx) Path() string { return string(c.PathBytes()) }

// PathBytes is like Path but returns borrowed memory: valid until the handler returns, and
// not to be modified.
func (c *Ctx) PathBytes() []byte { return pathOf(c.exchange()) }

// RawQuery returns the query of the request target as received, without the '?', or "".
func (c *Ctx) RawQuery() string { return string(c.exchange().QueryBytes()) }

// QueryBytes is like RawQuery but returns borrowed memory: valid until the handler returns,
// and not to be modified.
func (c *Ctx) QueryBytes() []byte { return c.exchange().QueryBytes() }

// Target returns the request target as received: "/a?b", "http://host/a", "*" or, for
// CONNECT, "host:port" (RFC 9112, 3.2).
func (c *Ctx) Target() string { return string(c.exchange().TargetBytes()) }

// Host returns the authority of the request, "host" or "host:port": that of the target if
// it has one, otherwise that of the Host field (RFC 9112, 3.2.2). An HTTP/1.0 client may
// omit it.
func (c *Ctx) Host() string { return string(c.exchange().AuthorityBytes()) }

// Proto returns the version of the request, "HTTP/2.0", "HTTP/1.1" or "HTTP/1.0".
func (c *Ctx) Proto() string { return c.exchange().Version.String() }

// RemoteAddr returns the client's address: a *net.TCPAddr, a *net.UnixAddr, or the address
// reported by the connections of a listener passed to [Server.Serve].
func (c *Ctx) RemoteAddr() net.Addr { return c.exchange().Session.RemoteAddr() }

// LocalAddr returns the address that the client connected to. Its types are those of
// RemoteAddr.
func (c *Ctx) LocalAddr() net.Addr { return c.exchange().Session.LocalAddr() }

// TLS returns the state of the connection's encryption, the same one for all requests of the
// connection, and nil without encryption. It stays valid after the handler has returned, and
// must not be changed.
func (c *Ctx) TLS() *tls.ConnectionState { return c.exchange().Session.TLS() }

// Header returns the value of the request's first field with this name, ignoring case, or
// "". [Ctx.VisitHeaders] finds further fields.
func (c *Ctx) Header(name string) string { return string(c.HeaderBytes(name)) }

// HeaderBytes is like Header but returns borrowed memory: valid until the handler returns,
// and not to be modified.
func (c *Ctx) HeaderBytes(name string) []byte {
	x := c.exchange()
	id := exchange.LookupHeader(unsafe.Slice(unsafe.StringData(name), len(name)))
	if id != exchange.HeaderOther {
		v, _ := x.Request.Get(id)
		return v
	}
	v, _ := x.Find(name)
	return v
}

// VisitHeaders calls f for every field of the request, in the order received, until f
// returns false. Both slices are borrowed: valid until the handler returns, and not to be
// modified.
func (c *Ctx) VisitHeaders(f func(name, value []byte) bool) {
	x := c.exchange()
	for _, field := range x.Fields {
		if !f(field.Name.In(x.Head), field.Value.In(x.Head)) {
			return
		}
	}
}

// Trailer returns the value of the request's first trailer field with this name, ignoring
// case, or "". Trailers are available after the body has been read to its end.
func (c *Ctx) Trailer(name string) string {
	v, _ := c.exchange().FindTrailer(name)
	return string(v)
}

// ContentType returns the media type of the request's body with its parameters, as
// received, or "".
func (c *Ctx) ContentType() string { return c.Header("Content-Type") }

// ContentLength returns the length of the request's body in bytes, 0 if there is no body,
// and -1 if the length is not known before the end of the body.
func (c *Ctx) ContentLength() int64 {
	return c.exchange().ContentLength
}

// Query returns the first value of a query parameter, decoded, or "". A part of the query
// that cannot be decoded is skipped.
func (c *Ctx) Query(name string) string {
	v, _ := c.LookupQuery(name)
	return v
}

// LookupQuery is like Query, and also reports whether the parameter exists.
func (c *Ctx) LookupQuery(name string) (string, bool) {
	rest := c.exchange().QueryBytes()
	for len(rest) > 0 {
		var pair []byte
		pair, rest, _ = bytes.Cut(rest, []byte{'&'})
		key, value, _ := bytes.Cut(pair, []byte{'='})
		if !sameKey(key, name) {
			continue
		}
		if v, err := url.QueryUnescape(string(value)); err == nil {
			return v, true
		}
	}
	return "", false
}

// sameKey compares an encoded key with a name.
func sameKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '%') < 0 && bytes.IndexByte(key, '+') < 0 {
		return string(key) == name
	}
	k, err := url.QueryUnescape(string(key))
	return err == nil && k == name
}

// A ParamError describes a parameter that is missing or does not have the requested type.
// The suitable status is 400.
type ParamError struct {
	Kind  string // "query" or "path"
	Name  string
	Value string // decoded; empty when the parameter is missing
	Err   error  // what is wrong with the value
}

// Error names the parameter and its value as the client sent it.
func (e *ParamError) Error() string {
	if e.Value == "" {
		return e.Kind + " parameter " + e.Name + " is missing"
	}
	return e.Kind + " parameter " + e.Name + " is " + strconv.Quote(e.Value) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ParamError) Unwrap() error { return e.Err }

var errMissing = errors.New("missing")

// convert turns a parameter's text into a value.
func convert[T any](kind, name, text string, parse func(string) (T, error)) (v T, err error) {
	if text == "" {
		return v, &ParamError{Kind: kind, Name: name, Err: errMissing}
	}
	if v, err = parse(text); err != nil {
		var num *strconv.NumError
		if errors.As(err, &num) {
			err = num.Err
		}
		return v, &ParamError{Kind: kind, Name: name, Value: text, Err: err}
	}
	return v, nil
}

// QueryInt returns a query parameter as a decimal integer; the error is a *ParamError.
func (c *Ctx) QueryInt(name string) (int, error) {
	return convert("query", name, c.Query(name), strconv.Atoi)
}

// QueryFloat returns a query parameter as a number; the error is a *ParamError.
func (c *Ctx) QueryFloat(name string) (float64, error) {
	return convert("query", name, c.Query(name), func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

// QueryBool returns a query parameter as a Boolean (1, t, true, 0, f, false ...); the error
// is a *ParamError.
func (c *Ctx) QueryBool(name string) (bool, error) {
	return convert("query", name, c.Query(name), strconv.ParseBool)
}

// Param returns the value of a parameter of the route's pattern, decoded, or "". The name
// is that in the pattern, without braces and dots.
func (c *Ctx) Param(name string) string {
	raw := c.ParamBytes(name)
	if bytes.IndexByte(raw, '%') < 0 {
		return string(raw)
	}
	v, err := url.PathUnescape(string(raw))
	if err != nil {
		return string(raw) // the parser has checked the escapes
	}
	return v
}

// ParamBytes is like Param but returns the value as received, percent-encoded, in borrowed
// memory: valid until the handler returns, and not to be modified.
func (c *Ctx) ParamBytes(name string) []byte {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.route == nil {
		return nil
	}
	return f.params.get(name, x)
}

// ParamInt returns a parameter of the pattern as a decimal integer; the error is a
// *ParamError.
func (c *Ctx) ParamInt(name string) (int, error) {
	return convert("path", name, c.Param(name), strconv.Atoi)
}

// Pattern returns the pattern of the [Router]'s route that matched, or "".
func (c *Ctx) Pattern() string {
	if r := c.frame().route; r != nil {
		return r.pattern
	}
	return ""
}

// Cookie returns the value of the first cookie with this name, compared exactly, and
// whether it exists. Malformed cookies are skipped.
func (c *Ctx) Cookie(name string) (string, bool) {
	// Anyone between client and server can add cookies: a malformed one must not hide the
	// others.
	r := http.Request{Header: http.Header{"Cookie": c.headerLines("Cookie")}}
	if k, err := r.Cookie(name); err == nil {
		return k.Value, true
	}
	return "", false
}

func (c *Ctx) headerLines(name string) []string {
	var lines []string
	x := c.exchange()
	for _, f := range x.Fields {
		if n := f.Name.In(x.Head); len(n) == len(name) && exchange.FoldedEqual(string(n), name) {
			lines = append(lines, string(f.Value.In(x.Head)))
		}
	}
	return lines
}

// Body returns the request's body as it arrives. Reading from it may wait for the client;
// unread content stays with the client, so memory stays bounded. Only the handler's
// goroutine may use it, until the handler returns. Its errors are io.EOF, ErrBodyTooLong,
// ErrBadBody, ErrGone, ErrTimeout and ErrHijacked.
func (c *Ctx) Body() io.Reader { return bodyReader{c} }

type bodyReader struct{ c *Ctx }

// Read implements io.Reader.
func (b bodyReader) Read(p []byte) (int, error) {
	x := b.c.exchange()
	return x.Session.ReadBody(x, p)
}

// ReadBody reads the whole body of the request, which then belongs to the caller. If it has
// more than most bytes, the error is ErrBodyTooLong; the others are those of Body.
func (c *Ctx) ReadBody(most int64) ([]byte, error) {
	n := c.ContentLength()
	if n > most {
		return nil, ErrBodyTooLong
	}
	// The buffer grows with the data received, not with the announced length.
	body := make([]byte, 0, min(max(n, 512), 256<<10))
	for {
		if len(body) == cap(body) {
			if int64(len(body)) == n {
				return body, nil
			}
			body = append(body, 0)[:len(body)]
		}
		k, err := c.Body().Read(body[len(body):cap(body)])
		body = body[:len(body)+k]
		switch {
		case int64(len(body)) > most:
			return nil, ErrBodyTooLong
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}

// Set stores a value with the request, for inner handlers, until the handler returns. Keys
// are compared like map keys: use your own type to keep them apart.
func (c *Ctx) Set(key, value any) {
	f := c.frame()
	if f.values == nil {
		f.values = map[any]any{}
	}
	f.values[key] = value
}

// Get returns a value stored by Set, or nil.
func (c *Ctx) Get(key any) any { return c.frame().values[key] }

// Detach tells the server that the handler is about to block. It is a hint: a
// handler that blocks without it is noticed a few milliseconds later.
func (c *Ctx) Detach() { c.exchange().Session.Detach() }

// A requestContext is the context of one request. It is created on demand and never reused.
type requestContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// finish ends the context: the response is complete.
func (r *requestContext) finish() { r.cancel(context.Canceled) }

// Context returns the request's context. It is cancelled when the handler returns, or, if
// the handler has called Stream, when the [Stream] is closed. It is also cancelled, with
// cause ErrGone, within a second after the system has learned that the client has left,
// even if nothing is being read or written.
//
// A client that closes its connection in order announces it after everything that it has
// sent before. If that is a body, or requests, which have not been read and do not fit into
// the socket's buffer, the announcement waits on the client's side. On TransportStd it
// waits behind any unread byte. A read or write then detects that the client has left, and
// the deadlines still apply.
func (c *Ctx) Context() context.Context {
	c.frame().asked = true
	return c.requestContext()
}

func (c *Ctx) requestContext() *requestContext {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.cancel == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		f.cancel = &requestContext{Context: ctx, cancel: cancel}
		if x.Session.OnGone(func() { cancel(ErrGone) }) {
			cancel(ErrGone)
		}
	}
	return f.cancel
}
