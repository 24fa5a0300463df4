package nethttp

import (
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
)

// streamAt is how much of a body is buffered before it is sent without waiting for the
// rest: until then its length can be announced.
const streamAt = 16 << 10

// chunkAt is how much of a body in parts is buffered, until Flush or the handler's return,
// so that small writes share a chunk. net/http buffers 2 KiB, and another 4 KiB in the
// connection.
const chunkAt = 4 << 10

// A writer is the ResponseWriter of a call; over HTTP/1 it is within a hijackable.
//
// The header is converted to field lines when the handler writes the status: later changes
// have no effect, because strings are immutable. The lines that depend on the body follow
// when the head is sent.
type writer struct {
	c       *call
	header  http.Header
	length  int64  // announced by the handler, in bytes
	written int64  // bytes of the body, sent or not
	rare    *rare  // nil in most calls
	status  int16  // 0 until it is written
	sent    uint16 // number of fields that header had when the status was written
	typed   bool   // the content's type is set, or must not be sniffed
	unsized bool   // the content's length must not be announced
	trails  bool   // there may be trailers
}

// rare is state that few calls need.
type rare struct {
	named  []string // announced trailers
	closes chan bool
	conn   net.Conn // the hijacked connection
	err    error    // why nothing more can be sent

	free *sync.Cond // for turns; nil until a goroutine waits for one
}

func (w *writer) needs() *rare {
	if w.rare == nil {
		w.rare = new(rare)
	}
	return w.rare
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	w.trails = w.trails || w.status != 0 // the caller may be about to add one
	return w.header
}

// errOver is for handlers that write after they have returned.
var errOver = errors.New("http: response written after its handler returned")

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	c := w.c
	c.lock()
	defer c.unlock()
	switch {
	case c.x == nil:
		w.complain("http: superfluous response.WriteHeader call")
	case c.x.Hijacked:
		w.complain("http: response.WriteHeader on hijacked connection")
	case w.status != 0:
		w.complain("http: superfluous response.WriteHeader call")
	case code < 100 || code > 999:
		panic("invalid WriteHeader code " + strconv.Itoa(code))
	case code < 200 && code != http.StatusSwitchingProtocols:
		w.inform(code)
	default:
		w.begin(code)
	}
}

// complain logs a mistake of the handler, and where it is.
func (w *writer) complain(what string) {
	function, file, line := caller()
	w.c.ctx.conn.cfg.Log("%s from %s (%s:%d)", what, function, file, line)
}

// inform sends an informational answer with the header so far, after the fields that native
// code around the handler has set on the exchange, which stay.
func (w *writer) inform(code int) {
	x := w.c.x
	kept := len(x.Lines)
	for name, values := range w.header {
		for _, v := range values {
			if v = fieldValue(v); exchange.CheckLine(name, v) == nil {
				x.Lines = append(x.Lines, exchange.Line{Name: name, Value: v})
			}
		}
	}
	sortLines(x.Lines[kept:])
	_ = w.check(x.Session.SendInfo(x, code)) // the next write returns the error
	x.Lines = x.Lines[:kept]
}

// begin fixes status and header.
func (w *writer) begin(code int) {
	x := w.c.x
	w.status, x.Status = int16(code), code
	bare := !allowsBody(code)
	w.typed = bare
	w.sent = uint16(len(w.header))
	if w.sent == 1 && !bare {
		// By far the most common header is looked up faster than listed.
		if values := w.header["Content-Type"]; len(values) == 1 {
			w.typed = true
			w.line("Content-Type", values[0])
			return
		}
	}
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			if !bare {
				w.announce(values)
			}
			continue
		case "Content-Type":
			w.typed = true
			if code == http.StatusNotModified {
				continue
			}
		case "Content-Encoding":
			w.typed = w.typed || len(values) > 0 && values[0] != ""
		case "Date":
			x.Undated = len(values) == 0
		case "Trailer":
			w.name(values)
		case "Transfer-Encoding":
			coded := len(values) > 0 && values[0] != ""
			w.typed = w.typed || coded
			w.unsized = w.unsized || coded && !bare && values[0] != "identity"
			continue
		}
		for _, v := range values {
			w.line(name, v)
		}
	}
	sortLines(x.Lines)
}

// line adds a field line. An invalid name is left out, and line ends become spaces, as in
// net/http; so do other control characters.
func (w *writer) line(name, value string) {
	x := w.c.x
	if strings.HasPrefix(name, http.TrailerPrefix) {
		w.trails = true
		return
	}
	value = fieldValue(value)
	if exchange.CheckLine(name, value) == nil {
		x.Lines = append(x.Lines, exchange.Line{Name: name, Value: value})
	}
}

// fieldValue makes a valid field value of any text.
func fieldValue(text string) string {
	text = textproto.TrimString(text)
	if !exchange.ValidValue(text) {
		text = strings.Map(printable, text)
	}
	return text
}

func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return ' '
	}
	return r
}

// sortLines sorts by name, so that equal headers make equal heads: a map has no order.
// There are few lines.
func sortLines(lines []exchange.Line) {
	if len(lines) > 1 {
		slices.SortStableFunc(lines, func(a, b exchange.Line) int { return strings.Compare(a.Name, b.Name) })
	}
}

// announce takes the length of the body from the handler's header. A Content-Length field
// without values keeps the server from determining it.
func (w *writer) announce(values []string) {
	if len(values) == 0 || values[0] == "" {
		w.unsized = true
		return
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		w.unsized = true
		w.c.ctx.conn.cfg.Log("http: invalid Content-Length of %q", values[0])
		w.header.Del("Content-Length")
		return
	}
	w.length = n
	w.c.x.Response.Length = n
}

// name remembers the trailers that the header announces.
func (w *writer) name(lines []string) {
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(textproto.TrimString(name)); name != "" {
				w.trails = true
				w.needs().named = append(w.needs().named, name)
			}
		}
	}
}

// allowsBody reports whether an answer with this status has a body, according to net/http.
// Here a 205 has none, but a handler may write one all the same.
func allowsBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	c := w.c
	c.lock()
	defer c.unlock()
	if err := w.admit(len(p)); err != nil || len(p) == 0 {
		return 0, err
	}
	return w.put(p)
}

// WriteString implements io.StringWriter. The session only reads the data, and does not
// refer to it after the call.
func (w *writer) WriteString(s string) (int, error) {
	c := w.c
	c.lock()
	defer c.unlock()
	if err := w.admit(len(s)); err != nil || len(s) == 0 {
		return 0, err
	}
	return w.put(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// admit checks whether n bytes may be written now, and counts them.
func (w *writer) admit(n int) error {
	x := w.c.x
	switch {
	case x == nil:
		return errOver
	case x.Hijacked:
		if n > 0 {
			w.complain("http: response.Write on hijacked connection")
		}
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	if n == 0 {
		return nil
	}
	if !allowsBody(x.Status) {
		return http.ErrBodyNotAllowed
	}
	w.written += int64(n)
	if w.length != exchange.UnknownLength && w.written > w.length {
		return http.ErrContentLength
	}
	return w.failed()
}

// failed returns why nothing more can be sent, if that is known.
func (w *writer) failed() error {
	switch {
	case w.rare != nil && w.rare.err != nil:
		return w.rare.err
	case w.c.x.Aborted:
		return errReset
	}
	return nil
}

// check remembers a permanent error of the session: buffered output would otherwise not
// report it again.
func (w *writer) check(err error) error {
	switch err {
	case nil, exchange.ErrNoBody, exchange.ErrLength, exchange.ErrHijacked, exchange.ErrHeadSent:
		return ofClient(err)
	}
	if r := w.needs(); r.err == nil {
		r.err = ofClient(err)
	}
	return w.rare.err
}

// put buffers p, or sends the head, the buffered output, and p.
func (w *writer) put(p []byte) (int, error) {
	x := w.c.x
	if x.Status == http.StatusResetContent { // 205 has no body, but net/http's handlers may not know that
		w.sniff(p)
		return len(p), nil
	}
	most := streamAt
	if x.HeadSent {
		most = chunkAt
	}
	if len(x.Body)+len(p) <= most {
		x.Body = append(x.Body, p...)
		return len(p), nil
	}
	w.sniff(p)
	var rest []byte
	if x.HeadSent && len(p) < chunkAt {
		p, rest = nil, p // buffered until there is more
	}
	if err := x.Session.SendBody(x, p); err != nil {
		return 0, w.check(err)
	}
	x.Body = append(x.Body, rest...)
	return len(p) + len(rest), nil
}

// sniff determines the type of a body that begins with the buffered output, followed by p.
func (w *writer) sniff(p []byte) {
	x := w.c.x
	if w.typed || x.HeadSent {
		return
	}
	if len(x.Body) > 0 {
		p = x.Body
	}
	if len(p) > 0 {
		w.typed = true
		x.Lines = append(x.Lines, exchange.Line{Name: "Content-Type", Value: http.DetectContentType(p)})
	}
}
