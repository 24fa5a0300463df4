package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"
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

// maxOwed bounds what waits for a server that has TLS answered, key updates say, and
// does not read the answers.
const maxOwed = 64 << 10

var (
	errOwed      = errors.New("TLS: the server asks for more than it reads")
	errShake     = errors.New("TLS handshake: the server closed the connection")
	errNoHTTP2   = errors.New("TLS handshake: the server does not offer HTTP/2 (by ALPN)")
	errTruncated = errors.New("TLS connection closed within an answer, without a word: content may be cut off")
)

// handshakes is what is known of the handshakes of a run.
type handshakes struct {
	state   tlsc.State // of the last one
	done    uint64
	resumed uint64
}

// result is what they came to; nil without any.
func (h *handshakes) result(took *hdrhistogram.Histogram) (r *TLSDone, err error) {
	if h.done == 0 {
		return nil, nil
	}
	r = &TLSDone{
		Handshakes: h.done, Resumed: h.resumed, Protocol: h.state.Protocol, Curve: h.state.Curve.String(),
		Version: tls.VersionName(h.state.Version), Cipher: tls.CipherSuiteName(h.state.Cipher),
	}
	r.Histogram, err = tally.Encode(took)
	return r, err
}

// newTLS prepares what the connections have in common.
func newTLS(spec *Spec) (*tlsc.Client, error) {
	s := tlsc.Settings{ServerName: spec.TLS.ServerName, Insecure: spec.TLS.Insecure, Resume: spec.TLS.Resume, Protocols: []string{"http/1.1"}}
	if spec.HTTP2 {
		s.Protocols = []string{"h2"}
	}
	var err error
	if s.Roots, err = spec.TLS.Pool(); err != nil {
		return nil, err
	}
	return tlsc.NewClient(s)
}

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
		l.shakeFailed(c, errNoHTTP2, now)
		return
	}
	l.handshakes.state = s
	l.handshakes.done++
	if s.Resumed {
		l.handshakes.resumed++
	}
	tally.Record(l.rec.TLS, now-c.sent, 1)
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
	k := tally.KindTLS
	if tls := c.wire.tls; tls == nil || tls.Ready() && err != errNoHTTP2 {
		k, err = greetFailed(err)
	} else {
		err = tlsWords(err)
	}
	l.cause = err
	l.fail(c, k, now+retryRefused)
}

// greetFailed is what the end of a connection counts as that waits for HTTP/2 to
// begin.
func greetFailed(err error) (tally.Kind, error) {
	switch {
	case err == unix.ETIMEDOUT:
		return tally.KindTimeout, errors.New("HTTP/2: no settings of the server in time")
	case err == errShake:
		return tally.KindClosed, errors.New("HTTP/2: the server closed the connection at once; it may not know it")
	}
	if _, is := errors.AsType[unix.Errno](err); is {
		return tally.KindReset, wrap("begin HTTP/2", err)
	}
	return tally.KindTLS, tlsWords(err)
}

// tlsWords says what an error of TLS means.
func tlsWords(err error) error {
	if err == unix.ETIMEDOUT {
		return errors.New("TLS handshake: not done in time")
	}
	if errno, is := errors.AsType[unix.Errno](err); is {
		return fmt.Errorf("TLS handshake: %w", errno)
	}
	e, is := errors.AsType[*tlsc.Error](err)
	if !is {
		return err
	}
	switch e.Kind {
	case tlsc.Certificate:
		if c, is := errors.AsType[*tls.CertificateVerificationError](err); is {
			err = c.Err
		}
		return fmt.Errorf("the server's certificate is not trusted: %w", err)
	case tlsc.NotTLS:
		return errors.New("TLS handshake: the server does not answer in TLS")
	case tlsc.Alert:
		return fmt.Errorf("the server ended TLS: %w", err)
	case tlsc.Record:
		return fmt.Errorf("TLS: what the server sent is broken: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
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
			l.wake(c, l.now(), wakeWrite)
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
		if w.owed > maxOwed {
			l.cause = errOwed
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
		l.cause = tlsWords(err)
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
		l.shakeFailed(c, errShake, now)
	case c.mux != nil:
		l.endedMux(c, now)
	case w.tls.End() != nil && c.parser.Begun():
		l.cause = errTruncated
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
