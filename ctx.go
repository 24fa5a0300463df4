package redline

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
)

// A Ctx is one request and its response, in the hands of a handler. It is valid
// until the handler returns, and belongs to the handler's goroutine; for what
// goes on after that, see [Ctx.Stream] and [Ctx.Hijack].
type Ctx struct {
	x *exchange.Exchange // nil when the handler has returned
}

// exchange returns the exchange of a Ctx in use.
func (c *Ctx) exchange() *exchange.Exchange {
	if c.x == nil {
		misuse()
	}
	return c.x
}

func misuse() {
	panic("redline: Ctx used after its handler returned: copy what you need before you return, " +
		"or take a Stream (Ctx.Stream) to go on writing from another goroutine")
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

// Path returns the path of the request target, percent-encoded as it came. An
// absolute target without one is for "/" (RFC 9110, 4.2.3); the path of OPTIONS * is
// "*", and that of CONNECT empty.
func (c *Ctx) Path() string { return string(c.PathBytes()) }

// PathBytes is Path, borrowed: valid until the handler returns, and not to be
// changed.
func (c *Ctx) PathBytes() []byte { return pathOf(c.exchange()) }

// RawQuery returns the query of the request target without the '?', as it came, or "".
func (c *Ctx) RawQuery() string { return string(c.exchange().QueryBytes()) }

// QueryBytes is RawQuery, borrowed: valid until the handler returns, and not to be
// changed.
func (c *Ctx) QueryBytes() []byte { return c.exchange().QueryBytes() }

// Target returns the request target as it came: "/a?b", "http://host/a", "*" or, of
// CONNECT, "host:port" (RFC 9112, 3.2).
func (c *Ctx) Target() string { return string(c.exchange().TargetBytes()) }

// Host returns the authority that the client asked for, "host" or "host:port": that of
// the target if it has one, and else that of the Host field (RFC 9112, 3.2.2). A client
// of HTTP/1.0 may leave it out.
func (c *Ctx) Host() string { return string(c.exchange().AuthorityBytes()) }

// Proto returns the version of the request, "HTTP/1.1" or "HTTP/1.0".
func (c *Ctx) Proto() string { return c.exchange().Version.String() }

// RemoteAddr returns the client's address: a *net.TCPAddr, a *net.UnixAddr, or what the
// connections of a listener given to [Server.Serve] say.
func (c *Ctx) RemoteAddr() net.Addr { return c.exchange().Session.RemoteAddr() }

// LocalAddr returns the address that the client connected to, of the types of
// RemoteAddr.
func (c *Ctx) LocalAddr() net.Addr { return c.exchange().Session.LocalAddr() }

// Header returns the value of the request's first field with the name, which is
// compared in any case, or "". [Ctx.VisitHeaders] finds further ones.
func (c *Ctx) Header(name string) string { return string(c.HeaderBytes(name)) }

// HeaderBytes is Header, borrowed: valid until the handler returns, and not to be
// changed.
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

// VisitHeaders calls f for every field of the request, in the order in which they
// came, until f returns false. Both slices are borrowed: valid until the handler
// returns, and not to be changed.
func (c *Ctx) VisitHeaders(f func(name, value []byte) bool) {
	x := c.exchange()
	for _, field := range x.Fields {
		if !f(field.Name.In(x.Head), field.Value.In(x.Head)) {
			return
		}
	}
}

// Trailer returns the value of the request's first trailer field with the name, in any
// case, or "". Trailers are there when the body has been read to its end.
func (c *Ctx) Trailer(name string) string {
	v, _ := c.exchange().FindTrailer(name)
	return string(v)
}

// ContentType returns the media type of the request's body with its parameters, as it
// came, or "".
func (c *Ctx) ContentType() string { return c.Header("Content-Type") }

// ContentLength returns the length of the request's body in bytes, 0 when there is
// none, and -1 when it is not known before its end.
func (c *Ctx) ContentLength() int64 {
	return c.exchange().ContentLength
}

// Query returns the first value of a parameter of the query, decoded, or "". A part of
// the query that cannot be decoded is skipped.
func (c *Ctx) Query(name string) string {
	v, _ := c.LookupQuery(name)
	return v
}

// LookupQuery is Query, and reports whether the parameter is there.
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

// A ParamError is a parameter that is missing or not of the type asked for. It
// suits an answer with status 400.
type ParamError struct {
	Kind  string // "query" or "path"
	Name  string
	Value string // decoded; empty when the parameter is missing
	Err   error  // what is wrong with the value
}

// Error names the parameter, and its value as the client has sent it.
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

// QueryBool returns a query parameter as a truth value (1, t, true, 0, f,
// false ...); the error is a *ParamError.
func (c *Ctx) QueryBool(name string) (bool, error) {
	return convert("query", name, c.Query(name), strconv.ParseBool)
}

// Param returns the value of a parameter of the route's pattern, decoded, or "". The
// name is that of the pattern without braces and points.
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

// ParamBytes is Param as it came, percent-encoded, borrowed: valid until the handler
// returns, and not to be changed.
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

// Cookie returns the value of the first cookie with the name, which is compared
// exactly, and whether there is one. Cookies that are malformed are skipped.
func (c *Ctx) Cookie(name string) (string, bool) {
	// Cookies come from everybody on the client's way: one that is malformed
	// must not hide the others.
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

// Body returns the request's body as it arrives. Reading from it may wait for
// the client; what is not read waits with the client, so memory stays bounded.
// It is for the handler's goroutine, until the handler returns. Its errors are io.EOF,
// ErrBodyTooLong, ErrBadBody, ErrGone, ErrTimeout and ErrHijacked.
func (c *Ctx) Body() io.Reader { return bodyReader{c} }

type bodyReader struct{ c *Ctx }

// Read implements io.Reader.
func (b bodyReader) Read(p []byte) (int, error) {
	x := b.c.exchange()
	return x.Session.ReadBody(x, p)
}

// ReadBody reads the whole body of the request, which is the caller's then. If it has
// more than most bytes, the error is ErrBodyTooLong; the others are those of Body.
func (c *Ctx) ReadBody(most int64) ([]byte, error) {
	n := c.ContentLength()
	if n > most {
		return nil, ErrBodyTooLong
	}
	// Memory follows what comes, not what was announced.
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

// Set keeps a value with the request, for handlers further in, until the handler
// returns. Keys are compared as those of a map: a type of one's own keeps them apart.
func (c *Ctx) Set(key, value any) {
	f := c.frame()
	if f.values == nil {
		f.values = map[any]any{}
	}
	f.values[key] = value
}

// Get returns a value that Set kept, or nil.
func (c *Ctx) Get(key any) any { return c.frame().values[key] }

// Detach tells the server that the handler is about to block. It is a hint: a
// handler that blocks without it is noticed a few milliseconds later.
func (c *Ctx) Detach() { c.exchange().Session.Detach() }

// A requestContext is the context of one request. It is made when it is asked
// for, and never used again.
type requestContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// finish ends the context: the response is complete.
func (r *requestContext) finish() { r.cancel(context.Canceled) }

// Context returns the request's context. It is cancelled when the handler returns, or
// the [Stream] that it has taken is closed, and, with cause ErrGone, within a second
// after the system has learned that the client has left, also when nobody reads or
// writes.
//
// A client that leaves in good order says so behind all that it has sent before. If
// that is a body, or requests, that nobody has read and that the socket's buffer
// does not take whole, the news waits with it on the client's side. On TransportStd it waits
// behind any byte that nobody has read. Who reads or writes finds out, and the
// deadlines end what they bound.
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
