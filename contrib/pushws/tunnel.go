package pushws

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A tunnel is a WebSocket over HTTP/2, which a request with extended CONNECT opens (RFC 8441), for a
// library that knows only GET with Upgrade and hijacks the connection: it gets the stream instead.
type tunnel struct {
	http.ResponseWriter
	body    io.Reader
	control *http.ResponseController
	writing sync.Mutex
	closed  atomic.Bool
}

// anyKey is a key that libraries accept. Over HTTP/2 there is none, nor an answer to it (RFC 8441, 5.1).
const anyKey = "AAAAAAAAAAAAAAAAAAAAAA=="

// upgraded returns a request that opens a WebSocket by extended CONNECT, and its response, in the form
// of HTTP/1.1; others as they are.
func upgraded(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.Method != http.MethodConnect || r.Header.Get(":protocol") != "websocket" {
		return w, r
	}
	t := &tunnel{ResponseWriter: w, body: r.Body, control: http.NewResponseController(w)}
	r = r.Clone(r.Context())
	r.Method = http.MethodGet
	r.Header.Del(":protocol")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Sec-Websocket-Key", anyKey)
	return t, r
}

// WriteHeader implements http.ResponseWriter: what is 101 over HTTP/1.1 is 200 here.
func (t *tunnel) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		status = http.StatusOK
		for _, name := range []string{"Connection", "Upgrade", "Sec-Websocket-Accept"} {
			t.Header().Del(name)
		}
	}
	t.ResponseWriter.WriteHeader(status)
}

// Hijack implements http.Hijacker. The stream ends when the handler returns.
func (t *tunnel) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if err := t.control.Flush(); err != nil {
		return nil, nil, err
	}
	c := &tunnelConn{t: t}
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}

// A tunnelConn is the stream as a connection.
type tunnelConn struct {
	net.Conn // nil: a library needs neither addresses nor deadlines, it closes
	t        *tunnel
}

func (c *tunnelConn) Read(p []byte) (int, error) { return c.t.body.Read(p) }

func (c *tunnelConn) Write(p []byte) (int, error) {
	t := c.t
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.closed.Load() {
		return 0, net.ErrClosed
	}
	n, err := t.ResponseWriter.Write(p)
	if err == nil {
		err = t.control.Flush()
	}
	return n, err
}

// Close ends a Read and a Write that wait. The stream ends when the handler returns: in order, unless
// a Write was cut.
func (c *tunnelConn) Close() error {
	t, past := c.t, time.Unix(1, 0)
	t.closed.Store(true)
	err := t.control.SetReadDeadline(past)
	if t.writing.TryLock() {
		t.writing.Unlock()
		return err
	}
	return t.control.SetWriteDeadline(past)
}
