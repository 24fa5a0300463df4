package subscribe

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

// The phases of a line.
const (
	unused      uint8 = iota // no socket
	dialing                  //
	handshaking              // TLS, then the settings of HTTP/2
	up                       // requests may be sent
)

// line is one connection. Lines are reused for later connections.
type line struct {
	wire.Conn
	lines         *lines
	id, gen       int32 // in the events of its socket
	group         int32
	fd            int // -1: none
	phase         uint8
	dirty         bool    // is in lines.dirty
	feeding       bool    // within HTTP2.Feed
	draining      bool    // takes no further subscribers
	goawayCounted bool    // a GOAWAY with an error was counted
	heard         int64   // time of the last read
	waits         []int32 // subscribers whose request is not sent
	owner         []int32 // subscribers by stream; one with HTTP/1.1
}

// keptFrames is the capacity in bytes up to which a line keeps its buffer of frames.
const keptFrames = 4 << 10

// newLine returns an unused line.
func (l *lines) newLine() *line {
	c := &line{lines: l, id: int32(len(l.all)), fd: -1}
	c.Conn = wire.New(&l.common, c, func() {
		l.loop.again = append(l.loop.again, again{c.id, c.gen, unix.EPOLLHUP, l.loop.Now()})
	})
	return c
}

// event handles an epoll event of a socket.
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
		c.handshake(l.loop.Now())
	} else if flags&unix.EPOLLOUT != 0 {
		c.flush()
	}
	if c.gen == gen && flags&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.readable(c, flags, l.loop.empty)
	}
}

// readAgain continues to read from a socket that may hold more.
func (l *lines) readAgain(a again) {
	if c := l.all[a.index]; c.gen == a.gen && c.fd >= 0 {
		l.readable(c, a.flags, a.since)
	}
}

// readable is Loop.readable for a line.
func (l *lines) readable(c *line, flags uint32, since int64) {
	n, errno := wire.Receive(c.fd, l.loop.buf)
	at := time.Now()
	l.now, l.wall = int64(at.Sub(l.loop.base)), at.UnixNano()
	l.loop.awake(l.now)
	switch {
	case errno == unix.EAGAIN && !c.Broken():
		return
	case errno == unix.EINTR:
	case errno != 0:
		c.reset(errno)
		return
	case n == 0:
		c.eof()
		return
	default:
		gen, events := c.gen, l.book.Events
		c.heard = l.now
		l.book.BytesIn += uint64(n)
		c.receive(l.loop.buf[:n])
		l.book.lag(time.Duration(l.now-since), events)
		if c.gen != gen || n < len(l.loop.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.loop.again = append(l.loop.again, again{c.id, c.gen, flags, since})
}

// handshake begins the handshakes of TLS and HTTP/2.
func (c *line) handshake(now int64) {
	c.phase = handshaking
	if err := c.Begin(c.fd, now); err != nil {
		c.lines.now = now
		c.failed(err)
	}
}

// failed handles the failure of a line before its first request.
func (c *line) failed(err error) {
	k, err := c.Failed(err)
	c.lines.fail(c, ofHandshake(k), err.Error(), c.lines.now)
}

// ask sends the request of HTTP/1.1. The line has exactly one subscriber.
func (c *line) ask() {
	l, i := c.lines, c.waits[0]
	c.phase = up
	c.owner, c.waits = c.waits, nil
	l.places[i].slot = 0
	l.book.asks(i)
	c.Send(l.book.unsent(i))
}

// receive handles bytes from the socket.
func (c *line) receive(in []byte) {
	l, gen := c.lines, c.gen
	plain, ready, err := c.Receive(in, l.now)
	if ready {
		c.ask()
	}
	if len(plain) > 0 && c.gen == gen {
		c.feed(plain)
	}
	switch {
	case err == nil || c.gen != gen:
	case err == io.EOF:
		c.eof()
	case c.phase != up && err != tlsclient.ErrOwed:
		c.failed(err)
	default:
		l.fail(c, TLS, tlsclient.Explain(err).Error(), l.now)
	}
}

// feed handles decrypted bytes.
func (c *line) feed(in []byte) {
	if c.HTTP2 != nil {
		c.consume(in)
	} else {
		c.lines.book.read(c.owner[0], in, c.lines.now, c.lines.wall)
	}
}

// eof handles the end of a line by the peer. TLS distinguishes a regular end from a
// truncation.
func (c *line) eof() {
	l := c.lines
	switch {
	case c.phase != up:
		c.failed(tlsclient.ErrClosed)
	case c.HTTP2 != nil:
		l.fail(c, Closed, "", l.now)
	case c.Truncated() && l.book.subs[c.owner[0]].parser.Begun():
		l.fail(c, Short, tlsclient.ErrTruncated.Error(), l.now)
	default:
		l.book.eof(c.owner[0], l.now)
	}
}

// reset handles an error of the line's socket. EAGAIN means that only a write has reported
// the error.
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

// flush sends pending output, as far as the socket accepts it.
func (c *line) flush() {
	more, err := c.Flush()
	if err != nil {
		c.lines.loop.broken = fmt.Errorf("read body to send: %w", err)
	}
	if more {
		c.lines.touch(c)
	}
}
