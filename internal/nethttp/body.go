package nethttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"

	"github.com/redline-go/redline/internal/exchange"
)

// A body reads a request's content as it comes. All of it is guarded by the
// call's lock.
type body struct {
	c      *call
	closed bool // by the handler
	ended  bool // its end was read

	read  bool // somebody has
	bound bool // by an http.MaxBytesReader
	full  bool // the last Read has filled its buffer
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(&c.turns.reading)
	defer c.done(&c.turns.reading)
	switch {
	case b.closed || c.x == nil:
		return 0, http.ErrBodyReadAfterClose
	case b.ended:
		return 0, io.EOF
	}
	if !b.read {
		b.read, b.bound = true, readsBounded()
	}
	n, err := c.x.Session.ReadBody(c.x, p)
	b.full = n == len(p)
	if err == io.EOF {
		b.ended = true
		c.trailers()
	}
	return n, ofClient(err)
}

// overran reports whether an http.MaxBytesReader has met its bound: net/http
// closes such a connection, which that reader can tell to net/http's own writer
// only. It reads one byte more than it hands out, and never again after that.
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

// Close implements io.Closer. What was not read is the server's to skip.
func (b *body) Close() error {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	b.closed = true
	return nil
}

// trailers adds the fields that came behind the content to the request.
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

// ofClient gives an error of the host the form that handlers know from net/http.
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

// errReset is what reading from, or writing to, a client that has left comes to.
var errReset = errors.New("http: the client has closed the connection")
