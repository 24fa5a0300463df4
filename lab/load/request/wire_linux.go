package request

import (
	"io"

	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

// keptPending and keptFrames are the capacities up to which a connection keeps its
// buffers, see wire.Common.
const keptPending, keptFrames = 16 << 10, 32 << 10

// newWire gives a connection's place its wire, and its mux for HTTP/2.
func (l *loop) newWire(c *conn, index int) {
	c.detour, c.wire = true, new(wire.Conn)
	if l.common.HTTP2 != nil {
		c.mux = l.newMux(c, index)
	}
	*c.wire = wire.New(&l.common, c.mux, func() { l.gone(c) })
}

// handshake begins the handshakes before the first request.
func (l *loop) handshake(c *conn, now int64) {
	c.phase, c.dialed, c.covers = handshaking, now, 0
	if c.mux != nil {
		c.mux.asked, c.mux.answers, c.mux.scolded, c.mux.heard = 0, 0, false, now
	}
	if err := c.wire.Begin(c.fd, now); err != nil {
		l.handshakeFailed(c, err, now)
	}
}

// handshakeFailed counts a connection that failed after connect(2). It is treated as a
// failed connect.
func (l *loop) handshakeFailed(c *conn, err error, now int64) {
	if l.refusedSince == 0 {
		l.refusedSince = now
	}
	k, err := c.wire.Failed(err)
	l.cause = err
	l.fail(c, k, now+retryRefused)
}

// unblock sends what is pending, and reports whether all of it is sent.
func (l *loop) unblock(c *conn) bool {
	if !c.wire.Unblock() {
		return false
	}
	if c.covers > 0 {
		c.advance(c.covers)
		c.covers = 0
	}
	return true
}

// pushSecure is push over TLS. The batch is encrypted piece by piece, as the socket
// accepts it: a piece counts as written when all of its records are.
func (l *loop) pushSecure(c *conn) bool {
	for left := wire.Pieces; !c.broken && !c.trickling; left-- {
		if !l.unblock(c) {
			return false
		}
		if !c.writing() {
			return true
		}
		if left == 0 {
			c.trickling = true
			l.wake(c, l.Now(), wakeWrite)
			return false
		}
		b, err := l.rest(c, wire.PieceSize)
		if err != nil {
			l.broken = wrap("read body to send", err)
			return false
		}
		if !c.wire.Send(b) {
			return false
		}
		if n, _ := c.wire.Pending(); n > 0 {
			c.covers = len(b)
			return false
		}
		c.advance(len(b))
	}
	return false
}

// receivedWire handles bytes of a connection that has a wire.
func (l *loop) receivedWire(c *conn, in []byte, now int64) {
	gen := c.gen
	plain, ready, err := c.wire.Receive(in, now)
	if ready {
		l.established(c, now)
	}
	if len(plain) > 0 && c.gen == gen {
		l.feed(c, plain, now)
	}
	switch {
	case err == nil || c.gen != gen:
	case err == io.EOF:
		l.endedWire(c, now)
	case c.phase == handshaking && err != tlsclient.ErrOwed:
		l.handshakeFailed(c, err, now)
	default:
		l.cause = tlsclient.Explain(err)
		l.fail(c, tally.KindTLS, now+retryFailed)
	}
}

// feed handles bytes of a connection's protocol.
func (l *loop) feed(c *conn, in []byte, now int64) {
	if c.mux != nil {
		l.consumeFrames(c, in, now)
	} else {
		l.consume(c, in, now)
	}
}

// endedWire is ended for a connection that has a wire: TLS distinguishes the end of the
// server's data from a truncation by a third party.
func (l *loop) endedWire(c *conn, now int64) {
	switch {
	case c.phase == handshaking:
		l.handshakeFailed(c, tlsclient.ErrClosed, now)
	case c.mux != nil:
		l.endedMux(c, now)
	case c.wire.Truncated() && c.parser.Begun():
		l.cause = tlsclient.ErrTruncated
		l.fail(c, tally.KindShort, now+retryFailed)
	default:
		l.ended(c, now)
	}
}

// hangUp sends the closing messages, as far as the socket accepts them, and frees the
// buffers of the wire.
func (l *loop) hangUp(c *conn) {
	c.wire.Close(c.phase == open)
	if c.mux != nil {
		c.mux.unsent = 0
	}
}
