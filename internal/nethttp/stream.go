package nethttp

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() } // FlushError returns the error

// FlushError sends what was written: see http.ResponseController. A handler that flushes is
// about to wait for its next output, so it gives up its loop.
func (w *writer) FlushError() error {
	c := w.c
	c.lock()
	defer c.unlock()
	if err := w.admit(0); err != nil {
		return err
	}
	if err := w.failed(); err != nil {
		return err
	}
	w.sniff(nil)
	h := c.x.Session
	h.Release()
	h.Detach()
	return w.check(h.Flush(c.x))
}

// Exchange passes the exchange of the response to f, with the server's Owner, unless the
// handler has returned or the connection was hijacked.
func (w *writer) Exchange(f func(x *exchange.Exchange, server any)) error {
	c := w.c
	c.lock()
	defer c.unlock()
	if err := w.admit(0); err != nil {
		return err
	}
	if err := w.failed(); err != nil {
		return err
	}
	f(c.x, c.ctx.conn.cfg.Owner)
	return nil
}

// SetReadDeadline is for http.ResponseController. It also affects a Read that is waiting.
func (w *writer) SetReadDeadline(t time.Time) error {
	return w.deadline(exchange.Session.SetReadDeadline, net.Conn.SetReadDeadline, t)
}

// SetWriteDeadline is for http.ResponseController. It also affects a Write that is waiting.
func (w *writer) SetWriteDeadline(t time.Time) error {
	return w.deadline(exchange.Session.SetWriteDeadline, net.Conn.SetWriteDeadline, t)
}

// deadline sets a deadline of the exchange, or of the hijacked connection, while other
// goroutines may be waiting: it takes no turn.
func (w *writer) deadline(set func(exchange.Session, time.Time), hijacked func(net.Conn, time.Time) error, t time.Time) error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.rare != nil && w.rare.conn != nil:
		return hijacked(w.rare.conn, t)
	case c.x == nil:
		return errOver
	case c.x.Hijacked: // hijacked by native code outside
		return http.ErrHijacked
	}
	set(c.x.Session, t)
	return nil
}

// EnableFullDuplex is for http.ResponseController. The body of a request can always be read
// after the response has begun.
func (w *writer) EnableFullDuplex() error { return nil }

// A hijackable writer is one whose connection serves no other request at the same time.
type hijackable struct{ writer }

// Hijack implements http.Hijacker.
func (w *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := w.c
	c.lock()
	defer c.unlock()
	if c.x == nil {
		panic("net/http: Hijack called after ServeHTTP finished")
	}
	x := c.x
	if w.status != 0 {
		w.sniff(nil)
		if err := x.Session.SendBody(x, nil); err != nil {
			return nil, nil, w.check(err)
		}
	}
	c.interrupt()
	conn, err := x.Session.Hijack(x)
	if err != nil {
		return nil, nil, ofClient(err)
	}
	conn, r := unread(conn)
	w.needs().conn = conn
	return conn, bufio.NewReadWriter(r, bufio.NewWriter(conn)), nil
}

// unread moves what the server had read beyond the request into a reader, as expected by
// handlers that then use the connection itself.
func unread(conn net.Conn) (net.Conn, *bufio.Reader) {
	p, ok := conn.(interface {
		Buffered() int
		NetConn() net.Conn
	})
	if !ok || p.Buffered() == 0 {
		return conn, bufio.NewReader(conn)
	}
	r := bufio.NewReaderSize(conn, max(p.Buffered(), 4096))
	if _, err := r.Peek(p.Buffered()); err != nil {
		return conn, r // the connection still delivers what could not be moved
	}
	return p.NetConn(), r
}

// CloseNotify implements http.CloseNotifier, which old handlers still use.
func (w *writer) CloseNotify() <-chan bool {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.x == nil {
		panic("net/http: CloseNotify called after ServeHTTP finished")
	}
	r := w.needs()
	if r.closes == nil {
		r.closes = make(chan bool, 1)
		context.AfterFunc(&w.c.ctx, func() { r.closes <- true })
	}
	return r.closes
}

// copies holds buffers for ReadFrom.
var copies = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom implements io.ReaderFrom. The kernel sends what remains of a file beyond the
// part that would be buffered here anyway.
func (w *writer) ReadFrom(src io.Reader) (int64, error) {
	if f, n, ok := regular(src); ok && n > streamAt {
		return w.sendFile(src, f, n)
	}
	b := copies.Get().(*[32 << 10]byte)
	defer copies.Put(b)
	return io.CopyBuffer(onlyWriter{w}, src, b[:])
}

// onlyWriter hides ReadFrom.
type onlyWriter struct{ io.Writer }

// regular returns the regular file that src reads from, and how many bytes it would yield.
func regular(src io.Reader) (f *os.File, n int64, ok bool) {
	most := int64(-1)
	if l, limited := src.(*io.LimitedReader); limited {
		src, most = l.R, max(l.N, 0)
	}
	if f, ok = src.(*os.File); !ok {
		return nil, 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, false
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0, false
	}
	n = max(info.Size()-at, 0)
	if most >= 0 {
		n = min(n, most)
	}
	return f, n, true
}

// sendFile sends n bytes of f, from its current offset, and advances f and src past them.
func (w *writer) sendFile(src io.Reader, f *os.File, n int64) (int64, error) {
	c := w.c
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	c.lock()
	defer c.unlock()
	if err := w.admit(int(n)); err != nil {
		return 0, err
	}
	if !w.typed && !c.x.HeadSent {
		var begin [512]byte // what http.DetectContentType looks at
		k, err := f.ReadAt(begin[:], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		w.sniff(begin[:k])
	}
	if err := c.x.Session.SendFile(c.x, f, at, n); err != nil && err != exchange.ErrNoBody {
		return 0, w.check(err)
	}
	if l, ok := src.(*io.LimitedReader); ok {
		l.N -= n
	}
	_, err = f.Seek(at+n, io.SeekStart)
	return n, err
}
