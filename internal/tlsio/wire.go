package tlsio

import (
	"errors"
	"net"
	"time"

	"github.com/redline-go/redline/internal/buf"
)

const recordHeader = 5 // bytes: type, version, length (RFC 8446, 5.1)

// A wire is the connection that a *tls.Conn reads from and writes to. It belongs to, in this
// order: the goroutine of the handshake; the session; the caller of Hijack.
type wire struct {
	s    *Session
	hs   *handshake // until the handshake has ended
	in   []byte     // ciphertext that crypto/tls has not read yet
	own  []byte     // the memory of in, if it belongs to the wire
	out  *buf.Queue // takes records during a call of the session
	nc   net.Conn   // after Hijack
	head [recordHeader]byte
	n    int // bytes of head that have passed
	left int // bytes of the record that have not passed
}

// errDry reports that there is no more ciphertext. For crypto/tls it is temporary.
var errDry net.Error = dry{}

type dry struct{}

func (dry) Error() string   { return "no more ciphertext" }
func (dry) Timeout() bool   { return false }
func (dry) Temporary() bool { return true }

// Read implements net.Conn. It never reads beyond the end of a record: crypto/tls holds at
// most one, and when nothing is left here, it has nothing more to deliver.
func (w *wire) Read(p []byte) (int, error) {
	switch {
	case w.hs != nil:
		return w.hs.read(p)
	case len(w.in) > 0:
		n := w.next(p, w.in)
		if w.in = w.in[n:]; len(w.in) == 0 {
			w.free()
		}
		return n, nil
	case w.nc != nil:
		return w.nc.Read(p)
	}
	return 0, errDry
}

// next copies ciphertext to p, up to the end of a record, and returns its length.
func (w *wire) next(p, in []byte) (n int) {
	if w.left == 0 {
		n = copy(p, in[:min(len(in), recordHeader-w.n)])
		copy(w.head[w.n:], in[:n])
		if w.n += n; w.n < recordHeader {
			return n
		}
		w.n, w.left = 0, int(w.head[3])<<8|int(w.head[4])
	}
	k := copy(p[n:], in[n:min(len(in), n+w.left)])
	w.left -= k
	return n + k
}

// free releases the memory of input that has been read.
func (w *wire) free() {
	if w.in = nil; w.own != nil {
		buf.Put(w.own)
		w.own = nil
	}
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	switch {
	case w.hs != nil:
		return w.hs.write(p)
	case w.out != nil:
		return w.out.Write(p)
	case w.nc != nil:
		return w.nc.Write(p)
	}
	return 0, errClosed
}

var errClosed = errors.New("write outside of a call of the session")

// Close implements net.Conn. crypto/tls calls it when the context of a handshake ends.
func (w *wire) Close() error {
	switch {
	case w.hs != nil:
		w.hs.abort(net.ErrClosed)
	case w.nc != nil:
		return w.nc.Close()
	}
	return nil
}

// NetConn returns the connection underneath, nil before Hijack.
func (w *wire) NetConn() net.Conn { return w.nc }

// LocalAddr implements net.Conn.
func (w *wire) LocalAddr() net.Addr {
	if w.nc != nil {
		return w.nc.LocalAddr()
	}
	return w.s.conn.LocalAddr()
}

// RemoteAddr implements net.Conn.
func (w *wire) RemoteAddr() net.Addr {
	if w.nc != nil {
		return w.nc.RemoteAddr()
	}
	return w.s.conn.RemoteAddr()
}

// SetDeadline implements net.Conn. Before Hijack it has no effect.
func (w *wire) SetDeadline(t time.Time) error {
	if w.nc != nil {
		return w.nc.SetDeadline(t)
	}
	return nil
}

// SetReadDeadline implements net.Conn. Before Hijack it has no effect.
func (w *wire) SetReadDeadline(t time.Time) error {
	if w.nc != nil {
		return w.nc.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline implements net.Conn. Before Hijack it has no effect.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.nc != nil {
		return w.nc.SetWriteDeadline(t)
	}
	return nil
}
