package nethttp

import (
	"net/http"
	"strings"

	"github.com/redline-go/redline/internal/exchange"
)

// finish completes the response when the handler has returned. After that nothing reaches
// the exchange any more. The call is locked.
func (w *writer) finish() {
	x := w.c.x
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	w.sniff(nil)
	if b := w.c.body; x.Version < exchange.HTTP2 && b != nil && (b.overran() || b.closed && !b.ended) {
		x.Response.Close = true
	}
	if w.trails || uint16(len(w.header)) != w.sent {
		w.sendTrailers()
	}
	if w.unsized && !x.HeadSent && allowsBody(x.Status) {
		// The head, without a length. The session knows about an error itself.
		_ = x.Session.SendBody(x, nil)
	}
}

// sendTrailers adds the trailers to a body that can have them: over HTTP/1 a chunked one.
func (w *writer) sendTrailers() {
	x := w.c.x
	var lines []exchange.Line
	add := func(name string, values []string) {
		for _, v := range values {
			lines = append(lines, exchange.Line{Name: name, Value: fieldValue(v)})
		}
	}
	var named []string
	if w.rare != nil {
		named = w.rare.named
	}
	for _, name := range named {
		add(name, w.header[name])
	}
	for name, values := range w.header {
		if rest, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			add(rest, values)
		}
	}
	if len(lines)+len(named) == 0 {
		return
	}
	if !x.HeadSent && (x.Version >= exchange.HTTP2 || x.Version > exchange.HTTP10 && w.length == exchange.UnknownLength) {
		// The head, with the buffered output: over HTTP/1 the body is chunked from here on. An error
		// means that the client has left, which the session finds too.
		_ = x.Session.SendBody(x, nil)
	}
	if !x.HeadSent || !x.TakesTrailers {
		return
	}
	sortLines(lines)
	for _, l := range lines {
		// As in net/http, fields that are not allowed as trailers are left out.
		_ = x.SetTrailer(l.Name, l.Value)
	}
}
