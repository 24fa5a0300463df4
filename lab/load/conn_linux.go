package load

import (
	"golang.org/x/sys/unix"
)

// phase is where a connection stands.
type phase uint8

const (
	waiting    phase = iota // has no socket; in loop.retry unless draining
	connecting              // connect is under way
	open
)

// conn is one connection, or its place while it has none. Nothing is
// outstanding when done and off are both at their ends.
type conn struct {
	fd      int
	gen     int32 // tells events of this socket from those of its predecessors
	phase   phase
	broken  bool    // a write said that the peer is gone: read what it left
	held    bool    // answered once, and not asked again: Spec.Idle
	sent    int64   // time when the batch, or the connect, began
	off     int     // bytes of the batch that are written
	done    int     // answers of the batch that came
	arrival arrival // of an open loop
	parser  parser
}

// readsPerTurn bounds what one connection reads before the others have theirs.
const readsPerTurn = 8

// dial opens a socket for c and begins to connect.
func (l *loop) dial(c *conn, now int64) error {
	fd, err := l.dialer.socket(l.index(c))
	if err != nil {
		return err // of this process or of the Spec: trying again is no use
	}
	c.fd, c.phase, c.sent, c.broken = fd, connecting, now, false
	c.off, c.done = len(l.batch), l.spec.Pipeline
	c.parser.reset()
	l.connecting++
	err = unix.Connect(fd, l.dialer.to)
	if err != nil && err != unix.EINPROGRESS {
		l.connectFailed(c, err, now)
		return nil
	}
	// Edge-triggered, for everything, once: EPOLLOUT comes only when a write
	// found the buffer full before, and no epoll_ctl follows.
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(l.index(c)), Pad: c.gen,
	}
	if ctlErr := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, fd, &ev); ctlErr != nil {
		return wrap("watch socket", ctlErr)
	}
	if err == nil {
		l.connected(c, now)
	}
	return nil
}

// connected is called when the handshake is done.
func (l *loop) connected(c *conn, now int64) {
	l.connecting--
	l.standing++
	l.refusedSince = 0
	c.phase = open
	if !l.started {
		l.lastRight = now
		return
	}
	l.next(c, now)
}

func (l *loop) connectFailed(c *conn, err error, now int64) {
	if l.refusedSince == 0 {
		l.refusedSince = now
	}
	l.cause = wrap("connect "+l.spec.Addr, err)
	l.fail(c, kindConnect, now+retryRefused)
}

// event handles what epoll says about c.
func (l *loop) event(c *conn, flags uint32, now int64) {
	if c.phase == connecting {
		code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		if err != nil {
			l.connectFailed(c, err, now)
			return
		}
		if flags&unix.EPOLLOUT == 0 {
			return
		}
		l.connected(c, now)
	} else if flags&unix.EPOLLOUT != 0 && c.off < len(l.batch) {
		l.flush(c)
		l.proceed(c, l.now())
	}
	if flags&^unix.EPOLLOUT != 0 && c.phase == open {
		l.readable(c, flags)
	}
}

// begin sends a new batch.
func (l *loop) begin(c *conn, now int64) {
	if l.draining {
		return
	}
	c.sent, c.off, c.done = now, 0, 0
	l.flush(c)
}

// proceed goes on when the last batch is written and answered.
func (l *loop) proceed(c *conn, now int64) {
	if c.done == l.spec.Pipeline && c.off == len(l.batch) {
		l.next(c, now)
	}
}

// flush writes what the socket takes. When the peer is gone, what it said
// before is still to be read: an early refusal, perhaps.
func (l *loop) flush(c *conn) {
	for c.off < len(l.batch) && !c.broken {
		n, errno := send(c.fd, l.batch[c.off:])
		switch errno {
		case 0:
			c.off += n
			l.rec.bytesOut += uint64(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			c.broken = true
			l.later(c, unix.EPOLLRDHUP)
			return
		}
	}
	if c.off == len(l.batch) {
		l.rec.sent += uint64(l.spec.Pipeline)
	}
}

// requests is how many requests of the batch the server saw some byte of.
func (l *loop) requests(c *conn) int {
	if c.off == len(l.batch) {
		return l.spec.Pipeline
	}
	size := len(l.spec.Request)
	return (c.off + size - 1) / size
}

// readable reads what is there. A read that does not fill the buffer emptied the
// socket, and whatever comes later raises a new edge; but an end of the
// connection that was already reported raises none.
func (l *loop) readable(c *conn, flags uint32) {
	for range readsPerTurn {
		n, errno := receive(c.fd, l.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			l.cause = wrap("read answer", errno)
			l.fail(c, kindReset, l.now()+retryFailed)
			return
		case n == 0:
			l.ended(c, l.now())
			return
		}
		l.rec.bytesIn += uint64(n)
		now := l.now()
		if l.spec.Stream {
			l.consumeStream(c, l.buf[:n], now)
		} else {
			l.consume(c, l.buf[:n], now)
		}
		if c.phase != open || n < len(l.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.later(c, flags)
}

// consume takes answers.
func (l *loop) consume(c *conn, in []byte, now int64) {
	limit := l.requests(c)
	if !c.parser.begun() {
		if n := l.template.match(in, limit-c.done); n > 0 {
			in = in[n*len(l.template.answer):]
			c.done += n
			c.parser.count += uint32(n)
			l.right(c, n, now)
		}
	}
	for len(in) > 0 {
		if c.done >= limit {
			l.cause = errUnasked
			l.fail(c, kindUnasked, now+retryFailed)
			return
		}
		whole := !c.parser.begun()
		n, v := c.parser.feed(in)
		switch v {
		case more:
			return
		case malformed:
			l.cause = errMalformed
			l.fail(c, kindMalformed, now+retryFailed)
			return
		}
		if v == right && whole && !c.parser.close && (c.parser.check || l.rules.anyBody) {
			l.template.learn(in[:n])
		}
		in = in[n:]
		l.answer(c, v, now)
		if c.parser.close {
			l.leave(c, now)
			return
		}
	}
	l.proceed(c, now)
}

// consumeStream takes events.
func (l *loop) consumeStream(c *conn, in []byte, now int64) {
	if c.off == 0 || c.off == len(l.batch) && c.done == l.spec.Pipeline {
		l.cause = errUnasked
		l.fail(c, kindUnasked, now+retryFailed)
		return
	}
	l.sink.wall = l.wall()
	before := l.sink.total
	_, v := c.parser.feed(in)
	if l.sink.total != before {
		c.sent, l.lastRight = now, now
	}
	if v == more && (c.parser.state == inHead || c.parser.status == l.spec.Expect.Status) {
		return
	}
	l.rec.answered++
	switch {
	case v == malformed:
		l.rec.answered--
		l.cause = errMalformed
		l.fail(c, kindMalformed, now+retryFailed)
	case c.parser.wrong == badStatus:
		l.cause = &statusError{got: c.parser.status, want: l.spec.Expect.Status}
		l.fail(c, kindStatus, now+retryFailed)
	default:
		l.cause = errClosed
		l.fail(c, kindClosed, now+retryFailed)
	}
}

// answer counts a complete answer.
func (l *loop) answer(c *conn, v verdict, now int64) {
	c.done++
	switch v {
	case right:
		l.right(c, 1, now)
		return
	case badStatus:
		l.rec.errors[kindStatus]++
		l.cause = &statusError{got: c.parser.status, want: l.spec.Expect.Status}
	case badLength:
		l.rec.errors[kindLength]++
		l.cause = errLength
	default:
		l.rec.errors[kindBody]++
		l.cause = errBody
	}
	l.rec.answered++
	if l.open != nil {
		l.open.failed(&c.arrival)
	}
}

// right counts answers that were.
func (l *loop) right(c *conn, n int, now int64) {
	l.rec.requests += uint64(n)
	l.rec.answered += uint64(n)
	l.lastRight = now
	if l.open != nil {
		l.open.right(&c.arrival, now)
		return
	}
	l.rec.latency(now-c.sent, n)
}

// ended is called when the peer closed its side.
func (l *loop) ended(c *conn, now int64) {
	streaming := l.spec.Stream && c.parser.state != inHead
	if streaming {
		l.rec.answered++
	} else if v := c.parser.eof(); v != more {
		l.answer(c, v, now)
		l.leave(c, now)
		return
	}
	k := kindClosed
	switch {
	case streaming:
		l.cause = errClosed
	case c.parser.begun():
		l.cause, k = errShort, kindShort
	case c.broken:
		l.cause, k = errReset, kindReset
	default:
		l.cause = errClosed
	}
	l.fail(c, k, now+retryFailed)
}

// leave replaces a connection that the server wanted to end after an answer.
// That is no error unless requests are left behind.
func (l *loop) leave(c *conn, now int64) {
	if c.done < l.requests(c) {
		l.cause = errClosed
		l.fail(c, kindClosed, now)
		return
	}
	l.drop(c, now)
}

// fail counts an error of a connection and replaces it when due.
func (l *loop) fail(c *conn, k kind, due int64) {
	l.rec.errors[k]++
	l.drop(c, due)
}

// drop closes a connection and puts its place up for another.
func (l *loop) drop(c *conn, due int64) {
	if c.phase == connecting {
		l.connecting--
	} else {
		l.standing--
		if c.off < len(l.batch) {
			l.rec.sent += uint64(c.off / len(l.spec.Request))
		}
		l.lost(c)
	}
	// close(2) on a socket frees the descriptor whatever it returns.
	_ = unix.Close(c.fd)
	c.fd, c.phase = -1, waiting
	c.gen++
	c.off, c.done = len(l.batch), l.spec.Pipeline
	l.retry = append(l.retry, later{c: c, due: due})
}
