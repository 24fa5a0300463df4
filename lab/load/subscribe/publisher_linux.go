package subscribe

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/wire"
)

// A publisher is one connection of publishers. An event whose outcome is unknown, because the
// connection failed, is not sent again: it might be published twice.
type publisher struct {
	wire.Conn
	of      *publishers
	parser  h1.Parser
	queue   []uint64 // numbers of the events that are due
	id, gen int32    // in the events of its socket
	fd      int      // -1: none
	phase   uint8    // of a line
	busy    bool     // an answer is outstanding
	failed  bool     // a write has failed
	sent    int64    // when the outstanding request was sent
	free    int64    // since when none was outstanding
	after   int64    // when it may connect again
}

// tend connects, publishes, or gives up. The error ends the run.
func (c *publisher) tend(now int64) error {
	timeout := c.of.loop.book.timeout
	switch {
	case c.phase == unused && now >= c.after:
		return c.dial(now)
	case c.phase == unused:
	case c.failed:
		c.fail(Reset, now)
	case (c.busy || c.phase != up) && c.of.loop.polled-c.sent > timeout:
		c.fail(Timeout, now)
	case c.phase == up && !c.busy && len(c.queue) > 0:
		c.publish()
	}
	return nil
}

func (c *publisher) dial(now int64) error {
	fd, refused, err := c.of.loop.connect(c.of.dialer, 0, c.id, c.gen)
	if err != nil {
		return err
	}
	c.fd, c.phase, c.sent = fd, dialing, now
	c.parser.Reset()
	if refused {
		c.fail(Connect, now)
	}
	return nil
}

// publish sends the next event.
func (c *publisher) publish() {
	p, b := c.of, c.of.loop.book
	n := c.queue[0]
	c.queue = c.queue[1:]
	p.waiting--
	at := time.Now()
	now, due := int64(at.Sub(p.loop.base)), p.dueAt(n)
	topic := n % p.topics
	b.published[topic]++
	c.busy, c.sent = true, now
	p.sent++
	tally.Record(p.lag, now-due, 1)
	tally.Record(p.own, now-max(due, c.free), 1)
	c.Send(p.request(topic, b.published[topic], at.UnixNano()-(now-due)))
}

// event handles an epoll event of the socket.
func (c *publisher) event(flags uint32) {
	now := c.of.loop.Now()
	if c.phase == dialing {
		if flags&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			c.fail(Connect, now)
			return
		}
		if flags&unix.EPOLLOUT == 0 {
			return
		}
		c.phase = handshaking
		if err := c.Begin(c.fd, now); err != nil {
			c.fail(TLS, now)
			return
		}
		if c.of.common.TLS == nil {
			c.phase, c.free = up, now
		}
	} else if flags&unix.EPOLLOUT != 0 {
		c.Unblock()
	}
	if flags&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.read()
	}
}

// maxReads bounds the reads of an answer in a row.
const maxReads = 1024

// read reads all that has arrived.
func (c *publisher) read() {
	l, gen := c.of.loop, c.gen
	for range maxReads {
		n, errno := wire.Receive(c.fd, l.buf)
		now := l.Now()
		switch {
		case errno == unix.EAGAIN:
			return
		case errno == unix.EINTR:
		case errno != 0:
			c.fail(Reset, now)
			return
		case n == 0:
			c.fail(Closed, now)
			return
		default:
			l.book.BytesIn += uint64(n)
			c.receive(l.buf[:n], now)
		}
		if c.gen != gen {
			return
		}
	}
	c.fail(Malformed, l.Now())
}

// receive handles bytes from the socket.
func (c *publisher) receive(in []byte, now int64) {
	plain, ready, err := c.Receive(in, now)
	if ready {
		c.phase, c.free = up, now
	}
	gen := c.gen
	c.answer(plain, now)
	switch {
	case err == nil || c.gen != gen:
	case err == io.EOF:
		c.fail(Closed, now)
	default:
		c.fail(TLS, now)
	}
}

// answer handles bytes of an answer.
func (c *publisher) answer(in []byte, now int64) {
	p := c.of
	for len(in) > 0 {
		n, v := c.parser.Feed(in)
		in = in[n:]
		switch {
		case v == h1.More:
			return
		case v.Broken() || !c.busy: // nothing was asked
			c.fail(Malformed, now)
			return
		}
		c.busy, c.free = false, now
		tally.Record(p.answer, now-c.sent, 1)
		if c.parser.Status/100 == 2 {
			p.accepted++
		} else {
			p.errors[Status]++
		}
		if c.parser.Close {
			c.close(now)
			return
		}
	}
}

// fail ends the connection after an error. A server may close one on which nothing is outstanding.
func (c *publisher) fail(k Kind, now int64) {
	if c.busy || c.phase != up || k == Malformed {
		c.of.errors[k]++
	}
	c.close(now + publishAgain)
}

// close closes the connection, until a time at which another may be opened.
func (c *publisher) close(after int64) {
	if c.fd < 0 {
		return
	}
	c.Close(c.phase == up)
	_ = unix.Close(c.fd) // frees the descriptor whatever it returns
	c.fd, c.phase, c.busy, c.failed, c.after = -1, unused, false, false, after
	c.gen++
}
