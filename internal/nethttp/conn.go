package nethttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// A Conn is the record of a connection while it lives. Hooks of a server receive it as the
// net.Conn, the same one each time: it has addresses and can be closed; only the server
// reads and writes.
type Conn struct {
	cfg    *Config
	host   exchange.Conn
	remote atomic.Pointer[string] // for its requests; nil until the first
	begun  sync.Once              // sets ctx
	ctx    context.Context        // for its requests
}

// remoteAddr is the address of the client in the form used in requests. The first request
// asks for it, because it may wait for data from the client: a PROXY header, or a
// handshake.
func (c *Conn) remoteAddr() string {
	if known := c.remote.Load(); known != nil {
		return *known
	}
	text := ""
	if addr := c.host.RemoteAddr(); addr != nil {
		text = addr.String()
		c.remote.Store(&text)
	}
	return text
}

// Conn returns the record of a connection. Requests that begin at the same time get the same
// one, and ConnContext is called once.
func (cfg *Config) Conn(h exchange.Conn) *Conn {
	slot := h.Slot()
	c, ok := slot.Load().(*Conn)
	if !ok {
		slot.CompareAndSwap(nil, &Conn{cfg: cfg, host: h, ctx: cfg.Base})
		c = slot.Load().(*Conn)
	}
	if cfg.ConnContext != nil {
		c.begun.Do(c.begin)
	}
	return c
}

// begin calls ConnContext.
func (c *Conn) begin() {
	ctx := context.WithValue(c.cfg.Base, http.ServerContextKey, c.cfg.Server)
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, c.host.LocalAddr())
	if ctx = c.cfg.ConnContext(ctx, c); ctx == nil {
		panic("ConnContext returned nil")
	}
	c.ctx = ctx
}

// errWatched tells a hook that it cannot read or write a connection.
var errWatched = errors.New("the connection belongs to the server: hijack it to read and write")

func (c *Conn) refuse(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: errWatched}
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.host.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.host.RemoteAddr() }

// Close implements net.Conn. A request in progress loses its client: its context ends, and
// waits for the client fail.
func (c *Conn) Close() error {
	c.host.CloseConn()
	return nil
}

// Read implements net.Conn: it fails.
func (c *Conn) Read([]byte) (int, error) { return 0, c.refuse("read") }

// Write implements net.Conn: it fails.
func (c *Conn) Write([]byte) (int, error) { return 0, c.refuse("write") }

// SetDeadline implements net.Conn: it fails.
func (c *Conn) SetDeadline(time.Time) error { return c.refuse("set") }

// SetReadDeadline implements net.Conn: it fails.
func (c *Conn) SetReadDeadline(time.Time) error { return c.refuse("set") }

// SetWriteDeadline implements net.Conn: it fails.
func (c *Conn) SetWriteDeadline(time.Time) error { return c.refuse("set") }
