package nethttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// A Guest is the host of an exchange that runs under a foreign server: its request comes
// from an http.Request, its response goes to a ResponseWriter.
type Guest struct {
	X exchange.Exchange

	w    http.ResponseWriter
	r    *http.Request
	ctl  *http.ResponseController
	slot atomic.Value
	held *guestHeld
	push *guestPush

	mu    sync.Mutex
	asked []asked
	gone  bool // the client has left: writing has failed
}

// An asked is a function registered with OnGone.
type asked struct {
	f    func()
	stop func() bool // keeps the request's context from calling it
}

// NewGuest returns a guest whose exchange has the request r.
func NewGuest(w http.ResponseWriter, r *http.Request) *Guest {
	g := &Guest{w: w, r: r, ctl: http.NewResponseController(w)}
	x := &g.X
	x.Reset()
	x.Session = g
	var head []byte
	span := func(text string) exchange.Span {
		head = append(head, text...)
		return exchange.Span{Off: uint32(len(head) - len(text)), Len: uint32(len(text))}
	}
	x.Method = exchange.LookupMethod([]byte(r.Method))
	x.RawMethod = span(r.Method)
	x.Target = span(r.RequestURI)
	x.Path = span(r.URL.EscapedPath())
	x.Query = span(r.URL.RawQuery)
	x.HasQuery = r.URL.RawQuery != "" || r.URL.ForceQuery
	x.Request.Authority = span(r.Host)
	x.Version = exchange.Version(r.ProtoMajor<<8 | r.ProtoMinor)
	field := func(name, value string) {
		id := exchange.LookupHeader([]byte(name))
		x.Append(exchange.Field{Name: span(name), Value: span(value), ID: id})
	}
	field("Host", r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			field(name, v)
		}
	}
	x.Head = head
	x.PathEscaped = bytes.IndexByte(x.PathBytes(), '%') >= 0
	x.Request.Close = r.Close
	x.ContentLength = max(r.ContentLength, exchange.UnknownLength)
	return g
}

// Finish sends what the handler has left when it returned. If the answer continues, it
// waits until the answer is closed. If the connection is to be cut, it leaves that to the
// server, by a panic with http.ErrAbortHandler.
func (g *Guest) Finish() {
	x := &g.X
	defer g.forget()
	switch {
	case g.push != nil:
		g.finishPush()
	case x.Hijacked:
		return
	case x.Aborted:
		panic(http.ErrAbortHandler)
	case g.held != nil:
		g.held.pump(g)
	case x.Prebuilt != nil:
		g.sendPrebuilt()
	default:
		g.finish()
	}
}

func (g *Guest) finish() {
	x := &g.X
	if !x.HeadSent && len(x.Response.Trailers) == 0 && x.Response.Length == exchange.UnknownLength {
		x.Response.Length = int64(len(x.Static) + len(x.Body))
	}
	// The client has left, or the answer has no body: there is nothing to send.
	_ = g.SendBody(x, nil)
	for _, l := range x.Response.Trailers {
		g.w.Header().Add(http.TrailerPrefix+l.Name, l.Value)
	}
}

// sendPrebuilt sends a prebuilt answer.
func (g *Guest) sendPrebuilt() {
	p := g.X.Prebuilt
	g.X.ResetResponse()
	g.X.Status, g.X.Lines, g.X.Static = p.Status, p.Lines, p.Body
	g.finish()
}

// begin sends the head.
func (g *Guest) begin() error {
	x := &g.X
	switch {
	case x.Hijacked:
		return exchange.ErrHijacked
	case x.HeadSent:
		return nil
	}
	x.HeadSent = true
	g.lines()
	h := g.w.Header()
	if x.Response.Length != exchange.UnknownLength {
		h.Set("Content-Length", strconv.FormatInt(x.Response.Length, 10))
	}
	if x.Response.Close {
		h.Set("Connection", "close")
	}
	status := max(x.Status, http.StatusOK)
	x.Bodiless = !allowsBody(status) || x.Method == exchange.MethodHead
	x.TakesTrailers = !x.Bodiless && x.Response.Length == exchange.UnknownLength
	g.w.WriteHeader(status)
	return nil
}

// lines copies the field lines so far into the header.
func (g *Guest) lines() {
	h := g.w.Header()
	for _, l := range g.X.Lines {
		h.Del(l.Name)
	}
	for _, l := range g.X.Lines {
		h.Add(l.Name, l.Value)
	}
}

// SendBody implements exchange.Session.
func (g *Guest) SendBody(x *exchange.Exchange, p []byte) error {
	if err := g.begin(); err != nil {
		return err
	}
	parts := [...][]byte{x.Static, x.Body, p}
	x.Static, x.Body = nil, x.Body[:0]
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if !allowsBody(max(x.Status, http.StatusOK)) {
			return exchange.ErrNoBody
		}
		if x.Response.Length != exchange.UnknownLength && int64(len(part)) > x.Response.Length-x.Sent {
			return exchange.ErrLength
		}
		if _, err := g.w.Write(part); err != nil {
			return g.fail()
		}
		x.Sent += int64(len(part))
	}
	return nil
}

// SendFile implements exchange.Session.
func (g *Guest) SendFile(x *exchange.Exchange, f *exchange.File, off, n int64) error {
	if err := g.SendBody(x, nil); err != nil || n <= 0 || x.Bodiless {
		return err
	}
	sent, err := io.Copy(g.w, io.NewSectionReader(f, off, n))
	x.Sent += sent
	if err != nil || sent < n {
		_ = g.fail() // the reason may be the file
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	return nil
}

// SendInfo implements exchange.Session.
func (g *Guest) SendInfo(x *exchange.Exchange, status int) error {
	if x.HeadSent {
		return exchange.ErrHeadSent
	}
	h := g.w.Header()
	before := h.Clone()
	g.lines()
	g.w.WriteHeader(status)
	clear(h) // the fields of the answer may change until it begins
	maps.Copy(h, before)
	return nil
}

// Flush implements exchange.Session.
func (g *Guest) Flush(x *exchange.Exchange) error {
	if err := g.SendBody(x, nil); err != nil {
		return err
	}
	if err := g.ctl.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return g.fail()
	}
	return nil
}

// fail is called when nothing more can be sent: the client has left, whether or not the server
// cancels the context of the request.
func (g *Guest) fail() error {
	g.X.Abort()
	g.lost()
	return exchange.ErrGone
}

// lost calls the functions of OnGone that the context has not called.
func (g *Guest) lost() {
	g.mu.Lock()
	g.gone = true
	list := g.asked
	g.asked = nil
	g.mu.Unlock()
	for _, a := range list {
		if a.stop() {
			a.f()
		}
	}
}

// ReadBody implements exchange.Session.
func (g *Guest) ReadBody(x *exchange.Exchange, p []byte) (int, error) {
	n, err := g.r.Body.Read(p)
	var large *http.MaxBytesError
	switch {
	case err == io.EOF:
		g.trailers()
	case errors.As(err, &large):
		err = exchange.ErrBodyTooLong
	}
	return n, err
}

// trailers adds the request's trailers to the exchange.
func (g *Guest) trailers() {
	x := &g.X
	if len(x.Request.Trailers) > 0 {
		return
	}
	span := func(text string) exchange.Span {
		x.TrailerBytes = append(x.TrailerBytes, text...)
		return exchange.Span{Off: uint32(len(x.TrailerBytes) - len(text)), Len: uint32(len(text))}
	}
	for name, values := range g.r.Trailer {
		for _, v := range values {
			x.Request.Trailers = append(x.Request.Trailers, exchange.Field{Name: span(name), Value: span(v)})
		}
	}
}

// Hijack implements exchange.Session.
func (g *Guest) Hijack(x *exchange.Exchange) (net.Conn, error) {
	conn, rw, err := g.ctl.Hijack()
	if err != nil {
		return nil, err
	}
	x.Hijacked = true
	if rw.Reader.Buffered() == 0 {
		return conn, nil
	}
	return &readerConn{Conn: conn, r: rw.Reader}, nil
}

// A readerConn first delivers bytes that a server had already read.
type readerConn struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (c *readerConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// OnGone implements exchange.Session.
func (g *Guest) OnGone(f func()) (gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return true
	}
	g.asked = append(g.asked, asked{f, context.AfterFunc(g.r.Context(), f)})
	return false
}

// forget cancels the registrations with OnGone.
func (g *Guest) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range g.asked {
		a.stop()
	}
}

// Detach implements exchange.Session: there is no loop.
func (g *Guest) Detach() {}

// Watch implements exchange.Session: there is no loop.
func (g *Guest) Watch(*learn.Watch) {}

// Held implements exchange.Session: there is no loop.
func (g *Guest) Held() time.Duration { return 0 }

// Stretch implements exchange.Session: it is not known.
func (g *Guest) Stretch() time.Duration { return 0 }

// Release implements exchange.Session.
func (g *Guest) Release() {}

// Share implements exchange.Session: the writer's own rules apply.
func (g *Guest) Share(sync.Locker) {}

// SetReadDeadline implements exchange.Session, if the writer supports it.
func (g *Guest) SetReadDeadline(t time.Time) { _ = g.ctl.SetReadDeadline(t) }

// SetWriteDeadline implements exchange.Session, if the writer supports it.
func (g *Guest) SetWriteDeadline(t time.Time) { _ = g.ctl.SetWriteDeadline(t) }

// Connection implements exchange.Session.
func (g *Guest) Connection() exchange.Conn { return g }

// Slot implements exchange.Session.
func (g *Guest) Slot() *atomic.Value { return &g.slot }

// CloseConn implements exchange.Session, if the writer supports it: net/http cancels the
// context of a request whose connection can no longer be read.
func (g *Guest) CloseConn() {
	g.SetWriteDeadline(past)
	g.SetReadDeadline(past)
}

// RemoteAddr implements exchange.Session.
func (g *Guest) RemoteAddr() net.Addr {
	if ap, err := netip.ParseAddrPort(g.r.RemoteAddr); err == nil {
		return net.TCPAddrFromAddrPort(ap)
	}
	return &net.UnixAddr{Name: g.r.RemoteAddr, Net: "unix"}
}

// TLS implements exchange.Session.
func (g *Guest) TLS() *exchange.TLSState { return g.r.TLS }

// LocalAddr implements exchange.Session.
func (g *Guest) LocalAddr() net.Addr {
	if a, ok := g.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a
	}
	return &net.TCPAddr{}
}
