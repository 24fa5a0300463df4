package redline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/static"
)

var (
	plainText   = exchange.Line{Name: "Content-Type", Value: "text/plain; charset=utf-8"}
	jsonContent = exchange.Line{Name: "Content-Type", Value: "application/json"}
)

// Status sets the status code of the response. The default is 200, unless a method that
// answers sets another. It panics if the code is not 200 to 599, and has no effect once the
// head has been sent.
func (c *Ctx) Status(code int) {
	x := c.exchange()
	if code < 200 || code > 599 {
		panic("redline: Ctx.Status: status is not 200 to 599; for 1xx see Ctx.Inform")
	}
	x.Status = code
}

// SetHeader sets a field of the response and replaces other fields with that name. The name
// is sent as written; names are compared ignoring case. The error is ErrFieldName,
// ErrFieldValue or ErrFraming for a field that would break the message (response
// splitting), or ErrHeadSent.
func (c *Ctx) SetHeader(name, value string) error { return c.exchange().Response.Set(name, value) }

// AddHeader is like SetHeader, but keeps other fields with that name.
func (c *Ctx) AddHeader(name, value string) error { return c.exchange().Response.Add(name, value) }

// DelHeader removes the response's fields with that name, ignoring case. It has no effect
// once the head has been sent.
func (c *Ctx) DelHeader(name string) { c.exchange().Response.Del(name) }

// SetTrailer adds a field that follows the body, which is then sent in chunks. An HTTP/1.0
// client gets no trailers. It has to be called before the head is sent, or while a chunked
// body is being sent. The errors are those of SetHeader; ErrFraming also for fields that
// may not follow the body (RFC 9110, 6.5.1).
func (c *Ctx) SetTrailer(name, value string) error { return c.exchange().SetTrailer(name, value) }

// SetContentLength announces the length of a body that is written piece by piece, in bytes;
// a negative value counts as 0. Writing more fails with ErrLength; if less has been written
// when the handler returns, the connection is cut. It has no effect once the head has been
// sent.
func (c *Ctx) SetContentLength(n int64) {
	if x := c.exchange(); !x.HeadSent {
		x.Response.Length = max(n, 0)
	}
}

// SetCookie adds a Set-Cookie field. The error says which part of the cookie is not valid
// (RFC 6265, 4.1), or is ErrHeadSent.
func (c *Ctx) SetCookie(cookie *http.Cookie) error {
	if err := cookie.Valid(); err != nil {
		return err
	}
	return c.AddHeader("Set-Cookie", cookie.String())
}

// start resets the response for a body that is supplied as a whole.
func (c *Ctx) start(code int, contentType exchange.Line) *exchange.Exchange {
	c.Status(code)
	x := c.exchange()
	x.Response.Replace(contentType)
	x.Body, x.Static = x.Body[:0], nil
	return x
}

// textRef is the length from which a text is referenced: shorter texts are copied after the
// head, to be sent with it.
const textRef = 4 << 10

// Text answers with plain text and replaces any body set before. A long text is sent
// without copying it.
func (c *Ctx) Text(code int, text string) {
	x := c.start(code, plainText)
	if len(text) > textRef {
		x.Static = bytesOf(text)
		return
	}
	x.Body = append(x.Body, text...)
}

// bytesOf returns the bytes of a string without copying them. They must not be modified.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Bytes answers with a body and replaces any body set before. The caller keeps ownership of
// body.
//
// A body up to the server's WriteBuffer is copied, and sent when the handler returns; until
// then more can be written after it. A longer body is sent at once, after the head, so that
// a slow client does not cost a copy of it: set status and fields first. It is then the
// whole body (writing more fails with ErrLength), unless there are trailers or a Stream.
// Bytes returns nil when the client's system has received it, and otherwise ErrGone or
// ErrTimeout.
//
// The error is ErrFieldValue for a content type that is not a valid field value; the
// response then stays as it was. ErrLength means that SetContentLength has announced less.
func (c *Ctx) Bytes(code int, contentType string, body []byte) error {
	if !exchange.ValidValue(contentType) {
		return ErrFieldValue
	}
	return c.answer(c.start(code, exchange.Line{Name: "Content-Type", Value: contentType}), body)
}

// answer answers with a whole body: it copies a short one, and sends a long one without a
// copy.
func (c *Ctx) answer(x *exchange.Exchange, body []byte) error {
	f := x.Local.(*frame)
	if len(body) <= f.server.writeBuffer() {
		x.Body = append(x.Body, body...)
		return nil
	}
	if x.Prebuilt != nil && !x.HeadSent {
		return nil // the prebuilt response is the answer, see Send
	}
	if !fits(x, len(body)) {
		return ErrLength
	}
	if !f.streams {
		c.whole(int64(len(body)))
	}
	// A status without a body is sent without one, as with a short body.
	if err := x.Session.SendBody(x, body); err != ErrNoBody {
		return err
	}
	return nil
}

// whole announces the length of a body whose first part is all of it, unless the handler
// has announced a length itself, or the response has begun or has trailers.
func (c *Ctx) whole(n int64) {
	x := c.exchange()
	if !x.HeadSent && len(x.Body) == 0 && len(x.Response.Trailers) == 0 && x.Response.Length == exchange.UnknownLength {
		x.Response.Length = n
	}
}

// BytesNoCopy answers with a body that is sent without a copy when the handler returns. The
// bytes must never change. The error is that of Bytes for the content type.
func (c *Ctx) BytesNoCopy(code int, contentType string, body []byte) error {
	if !exchange.ValidValue(contentType) {
		return ErrFieldValue
	}
	c.start(code, exchange.Line{Name: "Content-Type", Value: contentType}).Static = body
	return nil
}

// JSON answers with v, encoded by encoding/json, like [Ctx.Bytes], which sends a body
// longer than the server's WriteBuffer at once. After an error of encoding/json the
// response stays as it was; the other errors are those of Bytes.
func (c *Ctx) JSON(code int, v any) error {
	e := encoders.Get().(*encoder)
	if err := e.enc.Encode(v); err != nil {
		e.release()
		return err
	}
	if err := c.answer(c.start(code, jsonContent), bytes.TrimSuffix(e.buf.Bytes(), []byte{'\n'})); err != nil {
		return err // the part that the client did not accept may still be in transit
	}
	e.release()
	return nil
}

// ReadJSON reads the request's body, up to most bytes, and decodes it into v. It does not
// check the media type. The error is that of ReadBody or of json.Unmarshal; data after the
// first value is an error.
func (c *Ctx) ReadJSON(v any, most int64) error {
	body, err := c.ReadBody(most)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// An encoder is a JSON encoder with its buffer.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = json.NewEncoder(&e.buf)
	return e
}}

// keptEncoder is the size of the largest buffer that returns to the pool.
const keptEncoder = 64 << 10

func (e *encoder) release() {
	if e.buf.Cap() <= keptEncoder {
		e.buf.Reset()
		encoders.Put(e)
	}
}

// NoContent answers with a status and without a body, and discards any body set before.
// Fields stay.
func (c *Ctx) NoContent(code int) {
	c.Status(code)
	x := c.exchange()
	x.Body, x.Static = x.Body[:0], nil
}

// Error answers with a status and its reason phrase as plain text. Fields that were set
// stay.
func (c *Ctx) Error(code int) { c.Text(code, http.StatusText(code)+"\n") }

// Redirect answers with a redirect to a location, which is sent unchanged, with status 301,
// 302, 303, 307 or 308. It panics if the status is not 3xx. The error is ErrFieldValue or
// ErrHeadSent.
func (c *Ctx) Redirect(code int, location string) error {
	if code < 300 || code > 399 {
		panic("redline: Ctx.Redirect: status is not 3xx")
	}
	if err := c.SetHeader("Location", location); err != nil {
		return err
	}
	c.Error(code)
	return nil
}

// streamAt is how much a handler may write before the output is sent without waiting for
// the rest: until then the server can announce its length.
const streamAt = 16 << 10

// Write appends to the body; the caller keeps ownership of p. The data is buffered until
// the handler returns or calls Flush, or there are more than 16 KiB of it. Then, unless
// Content-Length was announced, the length is unknown and the body is sent in chunks. Write
// waits while the client accepts nothing.
//
// The errors are ErrGone, ErrTimeout, ErrHijacked, ErrNoBody for a status that has no body,
// and ErrLength, with nothing written.
func (c *Ctx) Write(p []byte) (int, error) {
	x := c.exchange()
	if x.Hijacked {
		return 0, ErrHijacked
	}
	if !fits(x, len(p)) {
		return 0, ErrLength
	}
	if !x.HeadSent && len(x.Body)+len(p) <= streamAt {
		x.Body = append(x.Body, p...)
		return len(p), nil
	}
	if err := x.Session.SendBody(x, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fits reports whether n more bytes of the body fit its announced length.
func fits(x *exchange.Exchange, n int) bool {
	kept := int64(len(x.Static)) + int64(len(x.Body)) + int64(n)
	return x.Response.Length == exchange.UnknownLength || kept <= x.Response.Length-x.Sent
}

// WriteString is like Write.
func (c *Ctx) WriteString(s string) (int, error) { return c.Write(bytesOf(s)) }

// Flush sends what was written, preceded by the head. It waits only while more than the
// server's WriteBuffer is unsent. The errors are those of Write.
func (c *Ctx) Flush() error {
	x := c.exchange()
	return x.Session.Flush(x)
}

// Inform sends an informational response (1xx) with the fields set so far, for example 103
// (Early Hints) with its Link fields. An HTTP/1.0 client gets none. It panics if the status
// is not 100 to 199, or is 101. The errors are ErrHeadSent, ErrHijacked, ErrGone and
// ErrTimeout.
func (c *Ctx) Inform(status int) error {
	if status < 100 || status > 199 || status == 101 {
		panic("redline: Ctx.Inform: status is not informational")
	}
	x := c.exchange()
	return x.Session.SendInfo(x, status)
}

// Hijack takes the connection over. The connection first delivers the data that the server
// had already read. The server never touches it again, and ignores what the handler sets on
// the response afterwards. The response must not have begun: if part of a body was written,
// sent or not, the error is ErrHeadSent, and the connection stays with the server. A second
// call fails with ErrHijacked, and with ErrGone if the client has left. The caller has to
// close the connection.
func (c *Ctx) Hijack() (net.Conn, error) {
	x := c.exchange()
	if !x.Hijacked && (x.HeadSent || x.Prebuilt != nil || len(x.Body)+len(x.Static) > 0) {
		return nil, ErrHeadSent
	}
	nc, err := x.Session.Hijack(x)
	return nc, err
}

// CloseConn closes the connection after this response.
func (c *Ctx) CloseConn() { c.exchange().Response.Close = true }

// A Prebuilt is a whole response, head and body, encoded once. Any number of handlers may
// send it at the same time.
type Prebuilt struct{ p exchange.Prebuilt }

// Prebuild builds a response that is the same each time: one send, nothing to format. It
// has no Date. The body is copied. The error is ErrFieldValue for a content type that is
// not a valid field value, ErrNoBody for a body with a status that has none (204, 205,
// 304), and another error for a status that is not 200 to 599.
func Prebuild(code int, contentType string, body []byte) (*Prebuilt, error) {
	switch {
	case code < 200 || code > 599:
		return nil, fmt.Errorf("redline: prebuild a response: status %d is not 200 to 599", code)
	case !exchange.ValidValue(contentType):
		return nil, ErrFieldValue
	case len(body) > 0 && (code == 204 || code == 205 || code == 304):
		return nil, ErrNoBody
	}
	p := &Prebuilt{exchange.Prebuilt{Status: code, Body: bytes.Clone(body)}}
	if contentType != "" {
		p.p.Lines = []exchange.Line{{Name: "Content-Type", Value: contentType}}
	}
	return p, nil
}

// Send answers with a prebuilt response when the handler returns. It overrides everything
// else that was set. It has no effect once the head has been sent.
func (c *Ctx) Send(p *Prebuilt) { c.exchange().Prebuilt = &p.p }

// Accepts returns the offered media type that the client prefers according to its Accept
// field, or "" if it accepts none of them (status 406). Among equals the first wins, and
// without the field any type will do (RFC 9110, 12.5.1).
func (c *Ctx) Accepts(offered ...string) string {
	x := c.exchange()
	if !x.Has(exchange.HeaderAccept) && len(offered) > 0 {
		return offered[0]
	}
	if i := static.BestType(fieldList(x, exchange.HeaderAccept), offered); i >= 0 {
		return offered[i]
	}
	return ""
}
