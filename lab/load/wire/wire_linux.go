package wire

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
)

const (
	// PieceSize is how many bytes of a request's content are sent at once, and Pieces
	// how many of these before the other connections have their turn.
	PieceSize = 256 << 10
	Pieces    = 8
)

// Common is what the connections of one loop have in common. It belongs to the
// thread of that loop.
type Common struct {
	TLS        *tlsc.Client     // nil: in clear
	HTTP2      *h2.Client       // nil: HTTP/1.1
	Handshakes tally.Handshakes // of TLS, those that were completed
	BytesOut   *uint64          // counts the bytes that sockets took
	MaxOwed    int              // bytes that wait for a server which has TLS answered, and does not read; more is tlsc.ErrOwed

	// The capacities up to which a connection keeps its buffers when they are empty,
	// in bytes.
	KeepFrames, KeepPending int

	plain  []byte // of the present read, decrypted
	cipher []byte // of the present write, encrypted
}

// Conn is one connection, or the place for one after the other: Begin begins it and
// Close ends it.
type Conn struct {
	HTTP2 *h2.Conn // nil: HTTP/1.1, or the TLS handshake is not done

	common  *Common
	handler h2.Handler
	gone    func()
	fd      int
	began   int64
	tls     *tlsc.Conn // nil: in clear
	frames  []byte     // of HTTP/2 that were not handed on
	pending []byte     // what the socket did not take
	owed    int        // bytes of it that the server asked for
	ready   bool       // the TLS handshake is done
	broken  bool       // a write said that the peer is gone
}

// New makes a place for a connection. handler takes the answers of HTTP/2. gone is
// called, once a connection, when a write says that the peer is gone: what it said
// before is still to be read.
func New(common *Common, handler h2.Handler, gone func()) Conn {
	return Conn{common: common, handler: handler, gone: gone}
}

// Begin begins the handshakes on a socket that was connected at now, in nanoseconds.
// The socket stays the caller's.
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

// beginHTTP2 begins HTTP/2. The connection is established when the server's settings
// are there.
func (c *Conn) beginHTTP2() error {
	c.HTTP2 = c.common.HTTP2.New(c.handler)
	_, err := c.Flush()
	return err
}

// Receive takes bytes from the socket, and returns what they say to the protocol,
// which is valid until the next Receive of any connection. ready says that the TLS
// handshake is done and HTTP/1.1 may begin; HTTP/2 has begun by itself then. What
// came with an error is of use as well, and precedes it. The error is io.EOF after
// the end that TLS announces, otherwise one of package tlsc.
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
			return nil, false, tlsc.ErrOwed
		}
	}
	if !c.ready && c.tls.Ready() {
		c.ready = true
		state := c.tls.State()
		if s.HTTP2 != nil && state.Protocol != "h2" {
			return nil, false, tlsc.ErrNoHTTP2
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

// Send encrypts b, if it is to be, and sends it behind what is pending. b is not kept.
// It reports false when TLS is broken: then reading says why.
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

// deliver sends b, which is not kept, behind what is pending.
func (c *Conn) deliver(b []byte) {
	if len(c.pending) == 0 {
		b = b[c.sendSome(b):]
	}
	c.pending = append(c.pending, b...)
}

// sendSome sends as much of b as the socket takes.
func (c *Conn) sendSome(b []byte) (n int) {
	for n < len(b) && !c.broken {
		k, errno := sock.Send(c.fd, b[n:])
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

// lost takes note that the peer is gone.
func (c *Conn) lost() {
	if !c.broken {
		c.broken = true
		c.gone()
	}
}

// Broken reports whether a write said that the peer is gone.
func (c *Conn) Broken() bool { return c.broken }

// Pending is how many bytes wait for the socket, and how many of them the server
// asked for.
func (c *Conn) Pending() (bytes, owed int) { return len(c.pending), c.owed }

// Kept is how many bytes of memory the buffers of the connection have.
func (c *Conn) Kept() int { return cap(c.frames) + cap(c.pending) }

// Unblock sends what is pending, and reports whether all of it is sent. It is to be
// called when the socket takes bytes again.
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

// Request opens a stream of HTTP/2 for a request, which leaves with the next Flush.
// The slot is -1 if the server takes none.
func (c *Conn) Request(r *h2.Request) (slot int) {
	slot, c.frames = c.HTTP2.AppendRequest(c.frames, r)
	return slot
}

// Unsent reports whether requests of HTTP/2 wait for a Flush.
func (c *Conn) Unsent() bool { return len(c.frames) > 0 }

// Flush sends what is pending and what HTTP/2 has to say, if it has begun, as far as
// the socket takes it, in one write unless it is much. more says that there is
// something left which the socket may take. The error is that of a request's content
// which could not be read.
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

// Truncated reports whether the peer, which has closed the connection, did so without
// the end that TLS wants: content may have been cut off.
func (c *Conn) Truncated() bool { return c.tls != nil && c.tls.End() != nil }

// Failed says what a connection counts as that ended before it was established, and
// what the error means. Without TLS, or when its handshake is done, the server's
// settings of HTTP/2 were waited for. Errors are as for tlsc.Explain.
func (c *Conn) Failed(err error) (tally.Kind, error) {
	errno, is := errors.AsType[unix.Errno](err)
	switch {
	case c.tls != nil && !c.tls.Ready(), errors.Is(err, tlsc.ErrNoHTTP2):
	case errno == unix.ETIMEDOUT:
		return tally.KindTimeout, errors.New("HTTP/2: no settings of the server in time")
	case is:
		return tally.KindReset, fmt.Errorf("begin HTTP/2: %w", err)
	case errors.Is(err, tlsc.ErrClosed):
		return tally.KindClosed, errors.New("HTTP/2: the server closed the connection at once; it may not support HTTP/2")
	}
	return tally.KindTLS, tlsc.Explain(err)
}

// Close ends the connection, and frees what TLS holds. The server is told if the
// connection was established, as far as the socket takes it. The socket stays open.
func (c *Conn) Close(established bool) {
	s := c.common
	tell := established && !c.broken && len(c.pending) == 0
	b := s.cipher[:0]
	if c.HTTP2 != nil && tell {
		c.HTTP2.Leave()
		c.frames = c.HTTP2.AppendPending(c.frames[:0], 0)
		if b = append(b, c.frames...); c.tls != nil {
			// What cannot be encrypted is not missed.
			b, _ = c.tls.Write(b[:0], c.frames)
		}
	}
	if c.tls != nil {
		b = c.tls.Close(b)
	}
	s.cipher = b
	if tell && len(b) > 0 {
		_, _ = sock.Send(c.fd, b) // who does not take it will see the end anyway
	}
	c.HTTP2, c.tls, c.owed = nil, nil, 0
	c.frames, c.pending = empty(c.frames, s.KeepFrames), empty(c.pending, s.KeepPending)
}

// empty is b without content, or nil if its capacity is more than what is kept.
func empty(b []byte, keep int) []byte {
	if cap(b) > keep {
		return nil
	}
	return b[:0]
}
