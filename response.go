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

// Status sets the status code of the response, 200 to 599; the default is 200.
func (c *Ctx) Status(code int) {
	x := c.exchange()
	if code < 200 || code > 599 {
		panic("redline: Ctx.Status: a response's status is 200 to 599; for 1xx see Ctx.Inform")
	}
	x.Status = code
}

// SetHeader sets a field of the response, in place of others of that name. It
// refuses names and values that would break the message (exchange splitting),
// fields that the server sets itself (Content-Length, Transfer-Encoding), and
// any once the head has been sent.
func (c *Ctx) SetHeader(name, value string) error { return c.exchange().Response.Set(name, value) }

// AddHeader is SetHeader, but leaves others of that name.
func (c *Ctx) AddHeader(name, value string) error { return c.exchange().Response.Add(name, value) }

// DelHeader removes the response's fields of that name.
func (c *Ctx) DelHeader(name string) { c.exchange().Response.Del(name) }

// SetTrailer sets a field that follows the body. It makes the body chunked.
func (c *Ctx) SetTrailer(name, value string) error { return c.exchange().SetTrailer(name, value) }

// SetContentLength announces the length of a body that is written piece by
// piece; writing more is an error, and less cuts the connection.
// It does nothing when the head has been sent.
func (c *Ctx) SetContentLength(n int64) {
	if x := c.exchange(); !x.HeadSent {
		x.Response.Length = max(n, 0)
	}
}

// SetCookie adds a Set-Cookie field. It refuses a cookie that is not valid
// (RFC 6265, 4.1).
func (c *Ctx) SetCookie(cookie *http.Cookie) error {
	if err := cookie.Valid(); err != nil {
		return err
	}
	return c.AddHeader("Set-Cookie", cookie.String())
}

// start empties the response for a body that is given whole.
func (c *Ctx) start(code int, contentType exchange.Line) *exchange.Exchange {
	c.Status(code)
	x := c.exchange()
	x.Response.Replace(contentType)
	x.Body, x.Static = x.Body[:0], nil
	return x
}

// Text answers with a plain text.
func (c *Ctx) Text(code int, text string) {
	x := c.start(code, plainText)
	x.Body = append(x.Body, text...)
}

// Bytes answers with a body, which is copied.
func (c *Ctx) Bytes(code int, contentType string, body []byte) error {
	if !exchange.ValidValue(contentType) {
		return exchange.ErrFieldValue
	}
	x := c.start(code, exchange.Line{Name: "Content-Type", Value: contentType})
	x.Body = append(x.Body, body...)
	return nil
}

// BytesNoCopy answers with a body that is sent from where it is, without a copy. It
// must never change.
func (c *Ctx) BytesNoCopy(code int, contentType string, body []byte) error {
	if !exchange.ValidValue(contentType) {
		return exchange.ErrFieldValue
	}
	c.start(code, exchange.Line{Name: "Content-Type", Value: contentType}).Static = body
	return nil
}

// JSON answers with v, encoded by encoding/json. On an error the response is
// left as it was.
func (c *Ctx) JSON(code int, v any) error {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.enc.Encode(v); err != nil {
		return err
	}
	x := c.start(code, jsonContent)
	x.Body = append(x.Body, bytes.TrimSuffix(e.buf.Bytes(), []byte{'\n'})...)
	return nil
}

// ReadJSON decodes the request's body, of most bytes, into v. What follows the
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

// keptEncoder is the largest buffer that goes back to the pool.
const keptEncoder = 64 << 10

func (e *encoder) release() {
	if e.buf.Cap() <= keptEncoder {
		e.buf.Reset()
		encoders.Put(e)
	}
}

// NoContent answers with a status and no body.
func (c *Ctx) NoContent(code int) {
	c.Status(code)
	x := c.exchange()
	x.Body, x.Static = x.Body[:0], nil
}

// Error answers with a status and its reason as a plain text.
func (c *Ctx) Error(code int) { c.Text(code, http.StatusText(code)+"\n") }

// Redirect answers with a redirection to a location, with status 301, 302, 303,
// 307 or 308.
func (c *Ctx) Redirect(code int, location string) error {
	if code < 300 || code > 399 {
		panic("redline: Ctx.Redirect: status is not a redirection")
	}
	if err := c.SetHeader("Location", location); err != nil {
		return err
	}
	c.Error(code)
	return nil
}

// streamAt is how much a handler may write before it is sent without waiting
// for the rest: until then the server can tell its length.
const streamAt = 16 << 10

// Write appends to the body. It is kept until the handler returns or calls
// Flush, or there is much of it; then Content-Length is not known any more and
// the body is sent in chunks. It waits while the client takes nothing. Behind
// Hijack the error is ErrHijacked.
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

// fits reports whether n bytes more of the body keep to its announced length.
func fits(x *exchange.Exchange, n int) bool {
	kept := int64(len(x.Static) + len(x.Body) + n)
	return x.Response.Length == exchange.UnknownLength || kept <= x.Response.Length-x.Sent
}

// WriteString is Write.
func (c *Ctx) WriteString(s string) (int, error) {
	x := c.exchange()
	if !x.HeadSent && !x.Hijacked && len(x.Body)+len(s) <= streamAt && fits(x, len(s)) {
		x.Body = append(x.Body, s...)
		return len(s), nil
	}
	return c.Write(unsafe.Slice(unsafe.StringData(s), len(s))) // it is only read
}

// Flush sends what was written. It waits only while more than the server's
// WriteBuffer is unsent.
func (c *Ctx) Flush() error {
	x := c.exchange()
	return x.Session.Flush(x)
}

// Inform sends an informational response (1xx) with the fields set so far, as
// 103 (Early Hints) with its Link fields.
func (c *Ctx) Inform(status int) error {
	if status < 100 || status > 199 || status == 101 {
		panic("redline: Ctx.Inform: status is not informational")
	}
	x := c.exchange()
	return x.Session.SendInfo(x, status)
}

// Hijack takes the connection over. It delivers first what the client had sent
// and the server had read; the server never touches it again, and what the
// handler still says of a response counts for nothing. The response must not have
// begun: when something of a body was written, sent or not, the error is
// ErrHeadSent, and the connection stays the server's.
func (c *Ctx) Hijack() (net.Conn, error) {
	x := c.exchange()
	if !x.Hijacked && (x.HeadSent || x.Prebuilt != nil || len(x.Body)+len(x.Static) > 0) {
		return nil, ErrHeadSent
	}
	nc, err := x.Session.Hijack(x)
	return nc, err
}

// CloseConn has the connection closed after this response.
func (c *Ctx) CloseConn() { c.exchange().Response.Close = true }

// A Prebuilt is a whole response, head and body, encoded once and sent as it is.
type Prebuilt struct{ p exchange.Prebuilt }

// Prebuild builds a response that is the same each time: one send, nothing to
// format. It has no Date. The status is 200 to 599, and one that has no body
// (204, 205, 304) is given none: otherwise the error is ErrNoBody.
func Prebuild(code int, contentType string, body []byte) (*Prebuilt, error) {
	switch {
	case code < 200 || code > 599:
		return nil, fmt.Errorf("redline: prebuild a response: status %d is not 200 to 599", code)
	case !exchange.ValidValue(contentType):
		return nil, exchange.ErrFieldValue
	case len(body) > 0 && (code == 204 || code == 205 || code == 304):
		return nil, ErrNoBody
	}
	p := &Prebuilt{exchange.Prebuilt{Status: code, Body: bytes.Clone(body)}}
	if contentType != "" {
		p.p.Lines = []exchange.Line{{Name: "Content-Type", Value: contentType}}
	}
	return p, nil
}

// Send answers with a prebuilt response. Nothing else that was set counts.
func (c *Ctx) Send(p *Prebuilt) { c.exchange().Prebuilt = &p.p }

// Accepts returns the media type of those offered that the client likes best by
// its Accept field, or "" when it takes none of them (status 406). Of equals the
// first is best, and without the field any will do (RFC 9110, 12.5.1).
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
