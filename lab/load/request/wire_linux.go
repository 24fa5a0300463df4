package request

import (
	"io"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// wire is what lies between a connection's socket and its protocol when that is
// not HTTP/1.1 in clear, which needs nothing there.
//
//	batch, frames ──▶ tls ──▶ pending ──▶ socket
//	      answers ◀── tls ◀── the loop's buffer ◀── socket
type wire struct {
	tls     *tlsc.Conn // nil: in clear
	pending []byte     // what the socket did not take yet
	covers  int        // bytes of the batch that end with it
	owed    int        // bytes of it that the server asked for
	met     bool       // the TLS handshake is done
}

// keptPending is the capacity up to which a connection keeps a buffer of what its
// socket did not take.
const keptPending = 16 << 10

// shake begins what has to be said before the first request.
func (l *loop) shake(c *conn, now int64) {
	c.phase, c.sent = shaking, now
	w := c.wire
	w.pending, w.covers, w.owed = w.pending[:0], 0, 0
	if l.tls == nil {
		l.greet(c)
		return
	}
	var err error
	w.tls, l.cipher, err = l.tls.Start(l.cipher[:0])
	if err != nil {
		l.shakeFailed(c, err, now)
		return
	}
	l.deliver(c, l.cipher)
}

// shaken is called when the TLS handshake is done.
func (l *loop) shaken(c *conn, now int64) {
	s := c.wire.tls.State()
	if l.spec.HTTP2 && s.Protocol != "h2" {
		l.shakeFailed(c, tlsc.ErrNoHTTP2, now)
		return
	}
	l.handshakes.Note(s, now-c.sent)
	if c.mux != nil {
		l.greet(c)
		return
	}
	l.stand(c, now)
}

// shakeFailed counts a connection that came to nothing after connect(2). A server
// that cannot be talked to is one that cannot be connected to.
func (l *loop) shakeFailed(c *conn, err error, now int64) {
	if l.refusedSince == 0 {
		l.refusedSince = now
	}
	k, err := tally.HandshakeFailed(c.wire.tls, err)
	l.cause = err
	l.fail(c, k, now+retryRefused)
}

// deliver sends b, which is not kept, behind what is pending.
func (l *loop) deliver(c *conn, b []byte) {
	if len(c.wire.pending) > 0 {
		c.wire.pending = append(c.wire.pending, b...)
		return
	}
	n := l.sendSome(c, b)
	if n < len(b) {
		c.wire.pending = append(c.wire.pending, b[n:]...)
	}
}

// sendSome sends as much of b as the socket takes.
func (l *loop) sendSome(c *conn, b []byte) (n int) {
	for n < len(b) && !c.broken {
		k, errno := sock.Send(c.fd, b[n:])
		switch errno {
		case 0:
			n += k
			l.rec.BytesOut += uint64(k)
		case unix.EINTR:
		case unix.EAGAIN:
			return n
		default:
			l.gone(c)
		}
	}
	return n
}

// unblock sends what is pending, and reports whether all of it is sent.
func (l *loop) unblock(c *conn) bool {
	w := c.wire
	if len(w.pending) == 0 {
		return true
	}
	n := l.sendSome(c, w.pending)
	if n < len(w.pending) {
		w.pending = append(w.pending[:0], w.pending[n:]...)
		return false
	}
	if w.pending = w.pending[:0]; cap(w.pending) > keptPending {
		w.pending = nil
	}
	w.owed = 0
	if w.covers > 0 {
		c.advance(w.covers)
		w.covers = 0
	}
	return true
}

// pushSecure is push over TLS. The batch is encrypted piece by piece, as the socket
// takes it: a piece counts as written when all of its records are.
func (l *loop) pushSecure(c *conn) bool {
	for left := pushes; !c.broken && !c.trickling; left-- {
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
		b, err := l.rest(c, pieceSize)
		if err != nil {
			l.broken = wrap("read body to send", err)
			return false
		}
		if l.cipher, err = c.wire.tls.Write(l.cipher[:0], b); err != nil {
			l.gone(c) // reading says why
			return false
		}
		l.deliver(c, l.cipher)
		if len(c.wire.pending) > 0 {
			c.wire.covers = len(b)
			return false
		}
		c.advance(len(b))
	}
	return false
}

// receivedWire takes bytes of a connection that has a wire.
func (l *loop) receivedWire(c *conn, in []byte, now int64) {
	w, gen := c.wire, c.gen
	if w.tls == nil {
		l.feed(c, in, now)
		return
	}
	var err error
	l.plain, l.cipher, err = w.tls.Feed(in, l.plain[:0], l.cipher[:0])
	if len(l.cipher) > 0 {
		l.deliver(c, l.cipher)
		if w.owed += len(l.cipher); len(w.pending) == 0 {
			w.owed = 0
		}
		if w.owed > tlsc.MaxOwed {
			l.cause = tlsc.ErrOwed
			l.fail(c, tally.KindTLS, now+retryFailed)
			return
		}
	}
	if c.phase == shaking && w.tls.Ready() && !w.met {
		w.met = true
		l.shaken(c, now)
	}
	if len(l.plain) > 0 && c.gen == gen {
		l.feed(c, l.plain, now)
	}
	switch {
	case err == nil || c.gen != gen:
	case err == io.EOF:
		l.endedWire(c, now)
	case c.phase == shaking:
		l.shakeFailed(c, err, now)
	default:
		l.cause = tlsc.Explain(err)
		l.fail(c, tally.KindTLS, now+retryFailed)
	}
}

// feed takes bytes of a connection's protocol.
func (l *loop) feed(c *conn, in []byte, now int64) {
	if c.mux != nil {
		l.consumeFrames(c, in, now)
	} else {
		l.consume(c, in, now)
	}
}

// endedWire is ended for a connection that has a wire: TLS tells the end of what
// the server had to say from one that somebody in between made.
func (l *loop) endedWire(c *conn, now int64) {
	w := c.wire
	switch {
	case c.phase == shaking:
		l.shakeFailed(c, tlsc.ErrClosed, now)
	case c.mux != nil:
		l.endedMux(c, now)
	case w.tls.End() != nil && c.parser.Begun():
		l.cause = tlsc.ErrTruncated
		l.fail(c, tally.KindShort, now+retryFailed)
	default:
		l.ended(c, now)
	}
}

// hangUp says goodbye, as far as the socket takes it, and frees what the wire
// holds.
func (l *loop) hangUp(c *conn) {
	w := c.wire
	l.cipher = l.cipher[:0]
	if c.mux != nil {
		l.leaveMux(c)
	}
	if w.tls != nil {
		l.cipher = w.tls.Close(l.cipher)
		w.tls = nil
	}
	if len(l.cipher) > 0 && len(w.pending) == 0 && !c.broken && c.phase == open {
		_, _ = sock.Send(c.fd, l.cipher) // who does not take it will see the end anyway
	}
	w.met = false
	if w.pending = w.pending[:0]; cap(w.pending) > keptPending {
		w.pending = nil
	}
}
