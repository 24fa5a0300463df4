package transport

import (
	"errors"
	"net"
)

// A Hijacked is a connection that has left its transport, of which some bytes had
// been read before: it delivers them first.
type Hijacked struct {
	net.Conn
	unread []byte
}

// NewHijacked returns nc with the bytes in front that were read from it, or nc
// itself when there are none. unread becomes the connection's.
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

// Buffered is the number of bytes that Read returns without asking the connection
// underneath: who has read as many can go on with NetConn.
func (h *Hijacked) Buffered() int { return len(h.unread) }

// NetConn returns the connection underneath. What it reads comes after the
// Buffered bytes.
func (h *Hijacked) NetConn() net.Conn { return h.Conn }

// CloseWrite shuts down the writing side, where the connection knows how to.
func (h *Hijacked) CloseWrite() error {
	if c, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}
