package nethttp

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"reflect"
	"strings"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
)

// fill makes the request of an exchange whose head is complete. Nothing of it is borrowed:
// the head is copied into one string, and all others are substrings of it.
func (c *call) fill(conn *Conn) error {
	x, r := c.x, &c.req
	head := string(x.Head)
	x.Head = unsafe.Slice(unsafe.StringData(head), len(head)) // for Release
	if x.Version >= exchange.HTTP2 {
		x.Session.Release() // the head is not held twice
	}
	c.ctx.conn, c.ctx.x = conn, x
	c.writer.c, c.writer.length = c, exchange.UnknownLength
	setContext(r, &c.ctx)

	r.Method = x.Method.String()
	if x.Method == exchange.MethodOther {
		r.Method = sub(head, x.RawMethod)
	}
	r.RequestURI = sub(head, x.Target)
	r.URL = &c.url
	err := parseTarget(&c.url, x, head, r.RequestURI)
	if err != nil {
		return err
	}
	r.Proto, r.ProtoMajor, r.ProtoMinor = x.Version.String(), x.Version.Major(), x.Version.Minor()
	r.Host = sub(head, x.Request.Authority)
	r.RemoteAddr = conn.remoteAddr()
	r.TLS = x.Session.TLS()
	r.Close = x.Request.Close
	r.Header = c.header(head)
	r.Body = http.NoBody
	if x.HasBody() {
		c.body = &body{c: c}
		r.Body = c.body
		r.ContentLength = x.ContentLength
	}
	if x.ContentLength == exchange.UnknownLength {
		r.ContentLength = -1
		if x.Version >= exchange.HTTP2 && x.Has(exchange.HeaderContentLength) {
			r.ContentLength = 0 // it says so, and only the end of the stream is still to come
		}
	}
	switch {
	case x.Preface():
		r.ContentLength = -1 // as under net/http: its content is the connection's
	case x.Version >= exchange.HTTP2:
		r.Trailer, _ = announced(r.Header) // the framing does not depend on it
	case x.ContentLength == exchange.UnknownLength:
		r.TransferEncoding = []string{"chunked"}
		r.Trailer, err = announced(r.Header)
	}
	return err
}

// header makes the header map. It does not contain Host, or the fields that framed the
// message.
func (c *call) header(head string) http.Header {
	x := c.x
	if len(x.Fields) == 0 || len(x.Fields) == 1 && x.Has(exchange.HeaderHost) {
		return make(http.Header)
	}
	values := make([]string, len(x.Fields))
	h := make(http.Header, len(x.Fields))
	var seen uint64 // bit id: a field with that ID is in h
	for i := range x.Fields {
		f := &x.Fields[i]
		name, again := f.ID.String(), seen&(1<<f.ID) != 0
		switch f.ID {
		case exchange.HeaderHost, exchange.HeaderTransferEncoding:
			continue
		case exchange.HeaderExpect:
			if x.ExpectContinue && x.Version >= exchange.HTTP2 {
				continue // as in net/http
			}
		case exchange.HeaderOther:
			name = textproto.CanonicalMIMEHeaderKey(sub(head, f.Name))
		}
		seen |= 1 << f.ID
		values[i] = sub(head, f.Value)
		if again {
			h[name] = append(h[name], values[i])
		} else {
			h[name] = values[i : i+1 : i+1]
		}
	}
	if x.Version < exchange.HTTP2 && x.Has(exchange.HeaderPragma) && !x.Has(exchange.HeaderCacheControl) && h.Get("Pragma") == "no-cache" {
		h["Cache-Control"] = []string{"no-cache"} // RFC 7234, 5.4, as net/http does
	}
	return h
}

// announced removes the names of the trailers from the header of a request, and makes a map
// of them, without values yet. Names that would affect the framing are left out, and are an
// error over HTTP/1.
func announced(h http.Header) (trailer http.Header, err error) {
	for _, line := range h["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = textproto.CanonicalMIMEHeaderKey(strings.Trim(name, " \t")); name {
			case "":
				continue
			case "Transfer-Encoding", "Trailer", "Content-Length":
				err = errTrailer
				continue
			}
			if trailer == nil {
				trailer = http.Header{}
			}
			trailer[name] = nil
		}
	}
	delete(h, "Trailer")
	return trailer, err
}

// errTrailer refuses a request that announces a trailer that would affect its framing.
var errTrailer = errors.New("bad trailer key")

// contextOffset is where an http.Request keeps its context, or noContext.
var contextOffset = findContext(reflect.TypeFor[http.Request](), "ctx")

const noContext = ^uintptr(0)

// findContext returns the offset of a field that holds a context. A Go version may use
// another name.
func findContext(t reflect.Type, name string) uintptr {
	if f, ok := t.FieldByName(name); ok && f.Type == reflect.TypeFor[context.Context]() {
		return f.Offset
	}
	return noContext
}

// setContext sets the context of r. Request.WithContext, the public way, copies the
// request into another allocation.
func setContext(r *http.Request, ctx context.Context) {
	if contextOffset == noContext {
		*r = *r.WithContext(ctx)
		return
	}
	*(*context.Context)(unsafe.Add(unsafe.Pointer(r), contextOffset)) = ctx
}
