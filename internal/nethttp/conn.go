package nethttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// A Conn is what is kept for a connection while it lives. To the hooks of a
// server it is the net.Conn, the same one each time: it has addresses and can be
// closed; reading and writing are the server's.
type Conn struct {
	cfg    *Config
	host   exchange.Session
	remote string          // of its requests; empty until the first
	ctx    context.Context // of its requests
}

// remoteAddr is the address of the client in the form that requests have it. It is
// asked for by the first of them, as it may wait for what the client sends: that of a
// proxy, or a handshake. It is for the session's goroutine.
func (c *Conn) remoteAddr() string {
	if c.remote == "" {
		if addr := c.host.RemoteAddr(); addr != nil {
			c.remote = addr.String()
		}
	}
	return c.remote
}

// Conn returns the record of h's connection.
func (cfg *Config) Conn(h exchange.Session) *Conn {
	slot := h.Slot()
	if c, ok := (*slot).(*Conn); ok {
		return c
	}
	c := &Conn{cfg: cfg, host: h, ctx: cfg.Base}
	*slot = c
	if cfg.ConnContext == nil {
		return c
	}
	ctx := context.WithValue(cfg.Base, http.ServerContextKey, cfg.Server)
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, h.LocalAddr())
	if c.ctx = cfg.ConnContext(ctx, c); c.ctx == nil {
		panic("ConnContext returned nil")
	}
	return c
}

// errWatched tells a hook that it may only look at a connection.
var errWatched = errors.New("the connection is the server's: hijack it to read and write")

func (c *Conn) refuse(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: errWatched}
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.host.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.host.RemoteAddr() }

// Close implements net.Conn. A request in progress loses its client: its context
// ends, and what waits for the client fails.
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
