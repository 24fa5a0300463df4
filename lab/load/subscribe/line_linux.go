package subscribe

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// The phases of a line.
const (
	unused   uint8 = iota // it has no socket
	dialing               //
	shaking               // hands, for TLS
	greeting              // the server's settings of HTTP/2 are waited for
	up                    // requests may be sent
)

// line is one connection, or a place for one.
type line struct {
	lines   *lines
	id, gen int32 // that its events carry
	group   int32
	fd      int // -1: none
	phase   uint8
	dirty   bool  // stands in lines.dirty
	broken  bool  // a write said that the peer is gone: read what it left
	feeding bool  // with frames
	left    bool  // takes nobody else
	scolded bool  // a GOAWAY with an error was counted
	began   int64 // when it was connected
	heard   int64 // time of its last bytes
	tls     *tlsc.Conn
	http2   *h2.Conn
	waits   []int32 // subscribers that have not asked
	owner   []int32 // subscribers by stream; the only one of HTTP/1.1
	out     []byte  // frames that were not handed on
	pending []byte  // what the socket did not take
	owed    int     // bytes of it that the server asked for
}

// keptOut is the capacity up to which a line keeps its buffer of frames.
const keptOut = 4 << 10

// event takes what the kernel says of a socket.
func (l *lines) event(id, gen int32, flags uint32) {
	c := l.all[id]
	if c.gen != gen || c.fd < 0 {
		return
	}
	if c.phase == dialing {
		if flags&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			l.fail(c, Connect, "", l.loop.Now())
			return
		}
		if flags&unix.EPOLLOUT == 0 {
			return
		}
		l.book.Connects++
		c.shake(l.loop.Now())
	} else if flags&unix.EPOLLOUT != 0 {
		c.flush()
	}
	if c.gen == gen && flags&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.readable(c, flags, l.loop.empty)
	}
}

// readAgain reads from a socket that was left before it was empty.
func (l *lines) readAgain(a again) {
	if c := l.all[a.index]; c.gen == a.gen && c.fd >= 0 {
		l.readable(c, a.flags, a.since)
	}
}

// readable is Loop.readable for a line.
func (l *lines) readable(c *line, flags uint32, since int64) {
	n, errno := sock.Receive(c.fd, l.loop.buf)
	at := time.Now()
	l.now, l.wall = int64(at.Sub(l.loop.base)), at.UnixNano()
	switch {
	case errno == unix.EAGAIN && !c.broken:
		return
	case errno == unix.EINTR:
	case errno != 0:
		c.reset(errno)
		return
	case n == 0:
		c.eof()
		return
	default:
		gen := c.gen
		c.heard = l.now
		l.book.BytesIn += uint64(n)
		l.book.rec.Lag(time.Duration(l.now - since))
		c.receive(l.loop.buf[:n])
		if c.gen != gen || n < len(l.loop.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.loop.again = append(l.loop.again, again{c.id, c.gen, flags, since})
}

// shake begins what has to be said before the first request.
func (c *line) shake(now int64) {
	c.began = now
	if c.lines.tls == nil {
		c.greet()
		return
	}
	c.phase = shaking
	l := c.lines
	var err error
	if c.tls, l.cipher, err = l.tls.Start(l.cipher[:0]); err != nil {
		l.now = now
		c.failed(err)
		return
	}
	c.deliver(l.cipher)
}

// shaken is called when the TLS handshake is done.
func (c *line) shaken() {
	l, s := c.lines, c.tls.State()
	if l.http2 != nil && s.Protocol != "h2" {
		c.failed(tlsc.ErrNoHTTP2)
		return
	}
	l.shakes.Note(s, l.now-c.began)
	if l.http2 != nil {
		c.greet()
		return
	}
	c.phase = up
	c.ask()
}

// failed is the end of a line before its first request.
func (c *line) failed(err error) {
	k, err := tally.HandshakeFailed(c.tls, err)
	c.lines.fail(c, ofGreeting(k), err.Error(), c.lines.now)
}

// ask sends the request of HTTP/1.1. Its subscriber is there: the line is its own.
func (c *line) ask() {
	l, i := c.lines, c.waits[0]
	c.owner, c.waits = c.waits, nil
	l.seats[i].slot = 0
	l.book.asks(i)
	c.send(l.book.unsent(i))
}

// receive takes bytes from the socket.
func (c *line) receive(in []byte) {
	if c.tls == nil {
		c.feed(in)
		return
	}
	l, gen := c.lines, c.gen
	var err error
	l.plain, l.cipher, err = c.tls.Feed(in, l.plain[:0], l.cipher[:0])
	if len(l.cipher) > 0 {
		c.owed += len(l.cipher)
		if c.deliver(l.cipher); len(c.pending) == 0 {
			c.owed = 0
		}
		if c.owed > tlsc.MaxOwed {
			l.fail(c, TLS, tlsc.ErrOwed.Error(), l.now)
			return
		}
	}
	if c.phase == shaking && c.tls.Ready() {
		c.shaken()
	}
	if len(l.plain) > 0 && c.gen == gen {
		c.feed(l.plain)
	}
	switch {
	case err == nil || c.gen != gen:
	case err == io.EOF:
		c.eof()
	case c.phase == shaking:
		c.failed(err)
	default:
		l.fail(c, TLS, tlsc.Explain(err).Error(), l.now)
	}
}

// feed takes bytes of the protocol.
func (c *line) feed(in []byte) {
	if c.http2 != nil {
		c.consume(in)
	} else {
		c.lines.book.read(c.owner[0], in, c.lines.now, c.lines.wall)
	}
}

// eof is the end of a line by the peer. TLS tells the end of what it had to say from
// one that somebody in between made.
func (c *line) eof() {
	l := c.lines
	switch {
	case c.phase != up:
		c.failed(tlsc.ErrClosed)
	case c.http2 != nil:
		l.fail(c, Closed, "", l.now)
	case c.tls.End() != nil && l.book.subs[c.owner[0]].parser.Begun():
		l.fail(c, Short, tlsc.ErrTruncated.Error(), l.now)
	default:
		l.book.eof(c.owner[0], l.now)
	}
}

// reset is the end of a line by an error of its socket. One that a write met alone has
// none to read.
func (c *line) reset(errno unix.Errno) {
	if errno == unix.EAGAIN {
		errno = unix.ECONNRESET
	}
	if c.phase != up {
		c.failed(errno)
		return
	}
	c.lines.fail(c, Reset, "", c.lines.now)
}

// send encrypts b, if it is to be, and delivers it.
func (c *line) send(b []byte) {
	if c.tls != nil {
		l := c.lines
		var err error
		if l.cipher, err = c.tls.Write(l.cipher[:0], b); err != nil {
			c.gone() // reading says why
			return
		}
		b = l.cipher
	}
	c.deliver(b)
}

// deliver sends b, which is not kept, behind what is pending.
func (c *line) deliver(b []byte) {
	if len(c.pending) == 0 {
		b = b[c.sendSome(b):]
	}
	c.pending = append(c.pending, b...)
}

// sendSome sends as much of b as the socket takes.
func (c *line) sendSome(b []byte) (n int) {
	for n < len(b) && !c.broken {
		k, errno := sock.Send(c.fd, b[n:])
		switch errno {
		case 0:
			n += k
			c.lines.book.BytesOut += uint64(k)
		case unix.EINTR:
		case unix.EAGAIN:
			return n
		default:
			c.gone()
		}
	}
	return n
}

// gone takes note that the peer is: what it left is to be read.
func (c *line) gone() {
	c.broken = true
	l := c.lines.loop
	l.again = append(l.again, again{c.id, c.gen, unix.EPOLLHUP, l.Now()})
}

// unblock sends what is pending, and reports whether all of it is sent.
func (c *line) unblock() bool {
	if len(c.pending) == 0 {
		return true
	}
	n := c.sendSome(c.pending)
	if n < len(c.pending) {
		c.pending = append(c.pending[:0], c.pending[n:]...)
		return false
	}
	c.pending, c.owed = nil, 0
	return true
}

// flush sends what there is to say, as far as the socket takes it.
func (c *line) flush() {
	for c.unblock() && !c.broken && c.http2 != nil {
		if c.out = c.http2.AppendPending(c.out, 0); len(c.out) == 0 {
			return
		}
		c.send(c.out)
		if c.out = c.out[:0]; cap(c.out) > keptOut {
			c.out = nil
		}
	}
}

// goodbye tells the server, as far as the socket takes it, and frees what TLS holds.
func (c *line) goodbye() {
	l := c.lines
	b := l.cipher[:0]
	if c.http2 != nil && c.phase == up {
		c.http2.Leave()
		c.out = c.http2.AppendPending(c.out, 0)
		if b = append(b, c.out...); c.tls != nil {
			// What cannot be encrypted is not missed.
			b, _ = c.tls.Write(b[:0], c.out)
		}
	}
	if c.tls != nil {
		b = c.tls.Close(b)
	}
	l.cipher = b
	if len(b) > 0 && len(c.pending) == 0 && !c.broken && c.phase == up {
		_, _ = sock.Send(c.fd, b) // who does not take it will see the end anyway
	}
}
