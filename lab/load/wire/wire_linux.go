package wire

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

const (
	// PieceSize is the number of bytes of a request's content in one write. Pieces is the
	// maximum of such writes in one Flush, so that other connections get their turn.
	PieceSize = 256 << 10
	Pieces    = 8
)

// Common is the state shared by the connections of one loop. It belongs to the thread of
// that loop.
type Common struct {
	TLS        *tlsclient.Client // nil: in clear
	HTTP2      *h2.Client        // nil: HTTP/1.1
	Handshakes tally.Handshakes  // completed TLS handshakes
	BytesOut   *uint64           // counts the bytes that sockets accepted
	MaxOwed    int               // maximum of pending bytes that TLS sends in reply to a server that does not read; more is tlsclient.ErrOwed

	// The capacities in bytes up to which a connection keeps its empty buffers.
	KeepFrames, KeepPending int

	plain  []byte // decrypted input of the current read
	cipher []byte // encrypted output of the current write
}

// Conn is one connection. It can be reused: Begin begins a connection and Close ends it.
type Conn struct {
	HTTP2 *h2.Conn // nil: HTTP/1.1, or the TLS handshake is not done

	common  *Common
	handler h2.Handler
	gone    func()
	fd      int
	began   int64
	tls     *tlsclient.Filter // nil: in clear
	frames  []byte            // of HTTP/2, not sent yet
	pending []byte            // output that the socket did not accept
	owed    int               // bytes of pending that TLS sends in reply to the server
	ready   bool              // the TLS handshake is done
	broken  bool              // a write has failed
}

// New returns a Conn without a connection. handler receives the answers of HTTP/2. gone is
// called once per connection, when a write has failed; earlier input from the peer can
// still be read.
func New(common *Common, handler h2.Handler, gone func()) Conn {
	return Conn{common: common, handler: handler, gone: gone}
}

// Begin begins the handshakes on a socket that was connected at now, in nanoseconds.
// The caller keeps ownership of the socket.
func (c *Conn) Begin(fd int, now int64) (err error) {
	c.fd, c.began, c.ready, c.broken, c.owed = fd, now, false, false, 0
	s := c.common
	if s.TLS == nil {
		return c.beginHTTP2()
	}
	if c.tls, s.cipher, err = s.TLS.Start(s.cipher[:0]); err == nil {
		c.deliver(s.cipher)
	}
	return err
}

// beginHTTP2 begins HTTP/2, if the connections have it. The connection is established when the server's settings have
// arrived.
func (c *Conn) beginHTTP2() error {
	if c.common.HTTP2 == nil {
		return nil
	}
	c.HTTP2 = c.common.HTTP2.New(c.handler)
	_, err := c.Flush()
	return err
}

// Receive handles bytes from the socket and returns the decrypted bytes, which are valid
// until the next Receive of any connection. ready reports that the TLS handshake is done
// and HTTP/1.1 may begin; HTTP/2 begins automatically. Bytes returned with an error precede
// it and are valid. The error is io.EOF after close_notify, otherwise one of package tlsclient.
func (c *Conn) Receive(in []byte, now int64) (plain []byte, ready bool, err error) {
	if c.tls == nil {
		return in, false, nil
	}
	s := c.common
	s.plain, s.cipher, err = c.tls.Feed(in, s.plain[:0], s.cipher[:0])
	if len(s.cipher) > 0 {
		c.deliver(s.cipher)
		if c.owed += len(s.cipher); len(c.pending) == 0 {
			c.owed = 0
		}
		if c.owed > s.MaxOwed {
			return nil, false, tlsclient.ErrOwed
		}
	}
	if !c.ready && c.tls.Ready() {
		c.ready = true
		state := c.tls.State()
		if s.HTTP2 != nil && state.Protocol != "h2" {
			return nil, false, tlsclient.ErrNoHTTP2
		}
		s.Handshakes.Note(state, now-c.began)
		if ready = s.HTTP2 == nil; !ready {
			if err := c.beginHTTP2(); err != nil {
				return nil, false, err
			}
		}
	}
	return s.plain, ready, err
}

// Send sends b after the pending output, encrypted if TLS is used. It does not retain b. It
// returns false if TLS has failed: the next read returns the error.
func (c *Conn) Send(b []byte) bool {
	if c.tls != nil {
		s := c.common
		var err error
		if s.cipher, err = c.tls.Write(s.cipher[:0], b); err != nil {
			c.lost()
			return false
		}
		b = s.cipher
	}
	c.deliver(b)
	return true
}

// deliver sends b after the pending output. It does not retain b.
func (c *Conn) deliver(b []byte) {
	if len(c.pending) == 0 {
		b = b[c.sendSome(b):]
	}
	c.pending = append(c.pending, b...)
}

// sendSome sends as much of b as the socket accepts.
func (c *Conn) sendSome(b []byte) (n int) {
	for n < len(b) && !c.broken {
		k, errno := Send(c.fd, b[n:])
		switch errno {
		case 0:
			n += k
			*c.common.BytesOut += uint64(k)
		case unix.EINTR:
		case unix.EAGAIN:
			return n
		default:
			c.lost()
		}
	}
	return n
}

// lost records that a write has failed.
func (c *Conn) lost() {
	if !c.broken {
		c.broken = true
		c.gone()
	}
}

// Broken reports whether a write has failed.
func (c *Conn) Broken() bool { return c.broken }

// Pending returns how many bytes wait for the socket, and how many of them TLS sends in
// reply to the server.
func (c *Conn) Pending() (bytes, owed int) { return len(c.pending), c.owed }

// Kept returns the capacity of the connection's buffers in bytes.
func (c *Conn) Kept() int { return cap(c.frames) + cap(c.pending) }

// Unblock sends the pending output, and reports whether all of it is sent. The caller calls
// it when the socket is writable again.
func (c *Conn) Unblock() bool {
	if len(c.pending) == 0 {
		return true
	}
	n := c.sendSome(c.pending)
	if n < len(c.pending) {
		c.pending = append(c.pending[:0], c.pending[n:]...)
		return false
	}
	c.pending, c.owed = empty(c.pending, c.common.KeepPending), 0
	return true
}

// Request opens a stream of HTTP/2 for a request, which the next Flush sends. The slot is
// -1 if the server accepts no further stream.
func (c *Conn) Request(r *h2.Request) (slot int) {
	slot, c.frames = c.HTTP2.AppendRequest(c.frames, r)
	return slot
}

// Unsent reports whether requests of HTTP/2 wait for a Flush.
func (c *Conn) Unsent() bool { return len(c.frames) > 0 }

// Flush sends the pending output and the frames of HTTP/2, if it has begun, as far as the
// socket accepts them, in one write per PieceSize bytes of content. more reports that Flush
// should be called again although the socket may be writable. The error is that of reading
// a request's content.
func (c *Conn) Flush() (more bool, err error) {
	for left := Pieces; c.Unblock() && !c.broken && c.HTTP2 != nil; left-- {
		c.frames = c.HTTP2.AppendPending(c.frames, PieceSize)
		if err := c.HTTP2.ContentErr(); err != nil {
			return false, err
		}
		if len(c.frames) == 0 {
			return false, nil
		}
		if left == 0 {
			return true, nil
		}
		if !c.Send(c.frames) {
			return false, nil
		}
		c.frames = empty(c.frames, c.common.KeepFrames)
	}
	return false, nil
}

// Truncated reports whether the peer closed the connection without close_notify of TLS:
// content may have been cut off.
func (c *Conn) Truncated() bool { return c.tls != nil && c.tls.End() != nil }

// Failed returns the kind and the explanation of an error that ended a connection before it
// was established. Without TLS, or after the TLS handshake, the connection was waiting for
// the server's HTTP/2 settings. Errors are as for tlsclient.Explain.
func (c *Conn) Failed(err error) (tally.Kind, error) {
	errno, is := errors.AsType[unix.Errno](err)
	switch {
	case c.tls != nil && !c.tls.Ready(), errors.Is(err, tlsclient.ErrNoHTTP2):
	case errno == unix.ETIMEDOUT:
		return tally.KindTimeout, errors.New("HTTP/2: no settings from the server in time")
	case is:
		return tally.KindReset, fmt.Errorf("begin HTTP/2: %w", err)
	case errors.Is(err, tlsclient.ErrClosed):
		return tally.KindClosed, errors.New("HTTP/2: the server closed the connection at once; it may not support HTTP/2")
	}
	return tally.KindTLS, tlsclient.Explain(err)
}

// Close ends the connection and frees the TLS state. If the connection was established, it
// sends GOAWAY and close_notify, as far as the socket accepts them. It does not close the
// socket.
func (c *Conn) Close(established bool) {
	s := c.common
	tell := established && !c.broken && len(c.pending) == 0
	b := s.cipher[:0]
	if c.HTTP2 != nil && tell {
		c.HTTP2.Leave()
		c.frames = c.HTTP2.AppendPending(c.frames[:0], 0)
		if b = append(b, c.frames...); c.tls != nil {
			// If encryption fails, GOAWAY is not sent.
			b, _ = c.tls.Write(b[:0], c.frames)
		}
	}
	if c.tls != nil {
		b = c.tls.Close(b)
	}
	s.cipher = b
	if tell && len(b) > 0 {
		_, _ = Send(c.fd, b) // best effort: the caller closes the socket
	}
	c.HTTP2, c.tls, c.owed = nil, nil, 0
	c.frames, c.pending = empty(c.frames, s.KeepFrames), empty(c.pending, s.KeepPending)
}

// empty returns b without content, or nil if its capacity exceeds keep.
func empty(b []byte, keep int) []byte {
	if cap(b) > keep {
		return nil
	}
	return b[:0]
}
