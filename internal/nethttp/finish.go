package nethttp

import (
	"net/http"
	"strings"

	"github.com/redline-go/redline/internal/exchange"
)

// finish completes the response when the handler has returned. Nothing reaches
// the exchange any more.
func (c *call) finish() {
	c.lock()
	defer c.unlock()
	if !c.x.Hijacked {
		c.writer.finish()
	}
	c.close()
}

func (w *writer) finish() {
	x := w.c.x
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	w.sniff(nil)
	if b := w.c.body; b != nil && b.overran() {
		x.Response.Close = true
	}
	if w.trails || len(w.header) != int(w.sent) {
		w.sendTrailers()
	}
}

// sendTrailers adds the trailers to a body that can have them: one in chunks.
func (w *writer) sendTrailers() {
	x := w.c.x
	var lines []exchange.Line
	add := func(name string, values []string) {
		for _, v := range values {
			lines = append(lines, exchange.Line{Name: name, Value: fieldValue(v)})
		}
	}
	named := w.needs().named
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
	if !x.HeadSent && x.Version > exchange.HTTP10 && w.length == exchange.UnknownLength {
		// The head, with what was kept: from here on the body is in chunks. An
		// error means that the client has left, which the session finds too.
		_ = x.Session.SendBody(x, nil)
	}
	if !x.HeadSent || !x.TakesTrailers {
		return
	}
	sortLines(lines)
	for _, l := range lines {
		// As in net/http, what cannot be a trailer is left out.
		_ = x.SetTrailer(l.Name, l.Value)
	}
}
