package transport

import (
	"errors"
	"net"
)

// A Hijacked is a connection that has left its transport after some of its bytes were read:
// it delivers these bytes first.
type Hijacked struct {
	net.Conn
	unread []byte
}

// NewHijacked returns nc preceded by the bytes that were read from it, or nc itself if
// there are none. unread then belongs to the connection.
func NewHijacked(nc net.Conn, unread []byte) net.Conn {
	if len(unread) == 0 {
		return nc
	}
	return &Hijacked{Conn: nc, unread: unread}
}

// Read implements [net.Conn].
func (h *Hijacked) Read(p []byte) (int, error) {
	if len(h.unread) == 0 {
		return h.Conn.Read(p)
	}
	n := copy(p, h.unread)
	if h.unread = h.unread[n:]; len(h.unread) == 0 {
		h.unread = nil
	}
	return n, nil
}

// Buffered is the number of bytes that Read returns without asking the underlying
// connection: after reading that many, a caller can continue with NetConn.
func (h *Hijacked) Buffered() int { return len(h.unread) }

// NetConn returns the underlying connection. What it reads comes after the Buffered bytes.
func (h *Hijacked) NetConn() net.Conn { return h.Conn }

// CloseWrite shuts down the writing side, if the connection supports it.
func (h *Hijacked) CloseWrite() error {
	if c, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}
