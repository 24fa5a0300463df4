package nethttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"

	"github.com/redline-go/redline/internal/exchange"
)

// A body reads a request's content as it arrives. The call's lock guards all of it.
type body struct {
	c      *call
	closed bool // by the handler
	ended  bool // the end was read

	n     int64 // bytes that were read
	read  bool  // something has been read
	bound bool  // read through an http.MaxBytesReader
	full  bool  // the last Read filled its buffer
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(&c.ctx.turns.reading)
	defer c.done(&c.ctx.turns.reading)
	switch {
	case b.closed || c.x == nil:
		return 0, http.ErrBodyReadAfterClose
	case b.ended:
		return 0, io.EOF
	}
	if !b.read {
		b.read, b.bound = true, readsBounded()
	}
	n, err := b.receive(p)
	b.full = n == len(p)
	return n, ofClient(err)
}

// receive reads content. The caller has the turn of reading.
func (b *body) receive(p []byte) (int, error) {
	c := b.c
	n, err := c.x.Session.ReadBody(c.x, p)
	if b.n += int64(n); err == io.EOF {
		b.ended = true
		c.trailers()
	}
	return n, err
}

// overran reports whether an http.MaxBytesReader has reached its limit: net/http closes
// such a connection, but that reader can notify only net/http's own writer. It reads one
// byte more than it returns, and never again after that.
func (b *body) overran() bool { return b.bound && b.full && !b.ended }

// readsBounded reports whether the caller of Read is an http.MaxBytesReader.
func readsBounded() bool {
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 {
		return false
	}
	frame, _ := runtime.CallersFrames(pcs[:]).Next()
	return frame.Function == "net/http.(*maxBytesReader).Read"
}

// closeReads is how much Close reads in order to find the end of the content.
const closeReads = 256 << 10

// Close implements io.Closer. As in net/http, it reads a little that was left of content over
// HTTP/1, so that its end and trailers are found, unless that cannot keep the connection open. It
// does not wait for a Read of another goroutine, and does not ask for content that the client holds back.
func (b *body) Close() error {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.closed || b.ended || c.x == nil || c.ctx.turns.reading || b.overran() || c.x.Version >= exchange.HTTP2 {
		b.closed = true
		return nil
	}
	x, most := c.x, int64(closeReads)
	known := x.ContentLength != exchange.UnknownLength
	if known && (x.ContentLength-b.n > most || x.Request.Close) || x.ExpectContinue && !b.read {
		b.closed = true
		return nil
	}
	c.take(&c.ctx.turns.reading)
	defer c.done(&c.ctx.turns.reading)
	p := copies.Get().(*[32 << 10]byte)
	defer copies.Put(p)
	var err error
	for left := most; left > 0 && err == nil && !b.closed && c.x != nil; {
		var n int
		n, err = b.receive(p[:min(left, int64(len(p)))])
		left -= int64(n)
	}
	b.closed = true
	if err == io.EOF {
		err = nil
	}
	return ofClient(err)
}

// trailers adds the fields that followed the content to the request.
func (c *call) trailers() {
	x := c.x
	if len(x.Request.Trailers) == 0 {
		return
	}
	if c.req.Trailer == nil {
		c.req.Trailer = http.Header{}
	}
	for _, f := range x.Request.Trailers {
		c.req.Trailer.Add(string(f.Name.In(x.TrailerBytes)), string(f.Value.In(x.TrailerBytes)))
	}
}

// ofClient converts an error of the host to the form that handlers know from net/http.
func ofClient(err error) error {
	switch {
	case err == nil || err == io.EOF || err == io.ErrUnexpectedEOF:
		return err
	case err == exchange.ErrTimeout:
		return os.ErrDeadlineExceeded
	case err == exchange.ErrGone:
		return errReset
	case err == exchange.ErrHijacked:
		return http.ErrHijacked
	case err == exchange.ErrLength:
		return http.ErrContentLength
	}
	return err
}

// errReset is the error of reading from, or writing to, a client that has left.
var errReset = errors.New("http: the client has closed the connection")
