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

// streamAt is how much of a body is kept before it is sent without waiting for
// the rest: until then its length can be told.
const streamAt = 16 << 10

// chunkAt is how much of a body in parts is kept, until Flush or the handler's
// return, so that small writes share a chunk. net/http keeps 2 KiB, and 4 KiB of the
// connection's behind that.
const chunkAt = 4 << 10

// A writer is the ResponseWriter of a call.
//
// The header is turned into field lines when the handler writes the status: later
// changes do not count, as strings are immutable. The lines that depend on the
// body follow when the head is sent.
type writer struct {
	c       *call
	header  http.Header
	length  int64  // that the handler announced, in bytes
	written int64  // bytes of body, sent or not
	rare    *rare  // nil for most
	status  int16  // 0 until it is written
	sent    uint16 // how many fields header had when the status was written
	typed   bool   // the content's type is given, or is not to be found out
	unsized bool   // the content's length is not to be told
	trails  bool   // there may be trailers
}

// rare is what few calls need.
type rare struct {
	named  []string // trailers that were announced
	closes chan bool
	conn   net.Conn // that was hijacked
	err    error    // why nothing more can be sent

	free *sync.Cond // of turns; nil until somebody waits for one
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
	w.trails = w.trails || w.status != 0 // it may be to add one
	return w.header
}

// errOver is for handlers that write when they have returned.
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

// complain logs what a handler should not have done, and where.
func (w *writer) complain(what string) {
	function, file, line := caller()
	w.c.cfg.Log("%s from %s (%s:%d)", what, function, file, line)
}

// inform sends an informational answer with the header so far, behind the fields
// that the exchange has from native code around the handler and keeps.
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
	_ = w.check(x.Session.SendInfo(x, code)) // who writes next is told
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

// line adds a field line. A name that is none is left out, and line ends become
// spaces, as in net/http; so do other control characters.
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

// fieldValue makes a field's value of any text.
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

// sortLines sorts by name, so that equal headers make equal heads: a map has no
// order. There are few.
func sortLines(lines []exchange.Line) {
	if len(lines) > 1 {
		slices.SortStableFunc(lines, func(a, b exchange.Line) int { return strings.Compare(a.Name, b.Name) })
	}
}

// announce takes the length of the body from the handler's header. One that is
// there and says nothing keeps the server from finding it out.
func (w *writer) announce(values []string) {
	if len(values) == 0 || values[0] == "" {
		w.unsized = true
		return
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		w.unsized = true
		w.c.cfg.Log("http: invalid Content-Length of %q", values[0])
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

// allowsBody reports whether an answer with this status has a body, by net/http.
// One with 205 has none here, but a handler may write it all the same.
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

// WriteString implements io.StringWriter. The session only reads what it is given,
// and refers to it no longer than the call lasts.
func (w *writer) WriteString(s string) (int, error) {
	c := w.c
	c.lock()
	defer c.unlock()
	if err := w.admit(len(s)); err != nil || len(s) == 0 {
		return 0, err
	}
	return w.put(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// admit says whether n bytes may be written now, and counts them.
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

// check remembers an error of the session's that is for good: what is kept here
// until there is more of it would never bring it up again.
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

// put keeps p, or sends the head, what was kept, and p.
func (w *writer) put(p []byte) (int, error) {
	x := w.c.x
	if x.Status == http.StatusResetContent { // it has no body, which net/http's handlers may not know
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
		p, rest = nil, p // it waits for more
	}
	if err := x.Session.SendBody(x, p); err != nil {
		return 0, w.check(err)
	}
	x.Body = append(x.Body, rest...)
	return len(p) + len(rest), nil
}

// sniff finds out the type of a body that begins with what was kept, and then p.
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
