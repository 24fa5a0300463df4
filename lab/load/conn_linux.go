package load

import (
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/sock"
)

// phase is where a connection stands.
type phase uint8

const (
	waiting    phase = iota // has no socket; in loop.retry unless draining
	connecting              // connect is under way
	open
)

// conn is one connection, or its place while it has none. Nothing is
// outstanding when all of its batch is written and answered.
type conn struct {
	// What every request touches, on two cache lines.

	fd        int
	gen       int32 // tells events of this socket from those of its predecessors
	phase     phase
	broken    bool             // a write said that the peer is gone: read what it left
	held      bool             // answered once, and not asked again: Spec.Idle
	early     bool             // the answer began before the batch was written
	slow      bool             // Spec.Slow applies
	resting   bool             // a slow reader between two reads
	trickling bool             // between two writes of a slow writer, or of a long body
	flags     uint32           // events that came while resting
	sent      int64            // time when the batch, or the connect, began
	out       []byte           // the batch
	off       int              // bytes of it that are written
	asked     int              // requests of the batch
	done      int              // answers of it that came
	body      *scenario.Stream // that follows out; nil: none, or it is written
	turn      *turn            // of a scenario
	first     int64            // time of the first byte of an answer that comes in pieces; 0: none does
	arrival   arrival          // of an open loop

	parser h1.Parser
	until  int64 // end of the user's think time; 0: it does not think
	at     int64 // bytes of body that are written
}

// writing reports whether some of the batch is still to be written.
func (c *conn) writing() bool { return c.off < len(c.out) || c.body != nil }

// busy reports whether something is outstanding.
func (c *conn) busy() bool { return c.done < c.asked || c.writing() }

// settle forgets the batch.
func (c *conn) settle() {
	c.off, c.done, c.body = len(c.out), c.asked, nil
	c.resting, c.trickling, c.flags, c.first, c.until = false, false, 0, 0, 0
}

// readsPerTurn bounds what one connection reads before the others have theirs.
const readsPerTurn = 8

// dial opens a socket for c and begins to connect.
func (l *loop) dial(c *conn, now int64) error {
	fd, err := l.dialer.Socket(l.index(c))
	if err != nil {
		return err // of this process or of the Spec: trying again is no use
	}
	c.fd, c.phase, c.sent, c.broken = fd, connecting, now, false
	c.settle()
	c.parser.Reset()
	l.connecting++
	err = unix.Connect(fd, l.dialer.To)
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
		l.connected(c, l.now())
	}
	return nil
}

// connected is called when the handshake is done.
func (l *loop) connected(c *conn, now int64) {
	l.connecting--
	l.standing++
	l.refusedSince = 0
	c.phase = open
	l.rec.connects++
	record(l.rec.connect, now-c.sent, 1)
	if !l.started {
		l.lastRight = now
		return
	}
	l.ready(c, now)
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
	} else if flags&unix.EPOLLOUT != 0 && c.writing() {
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
	c.sent, c.off, c.done, c.early = now, 0, 0, false
	l.flush(c)
}

// proceed goes on when the last batch is written and answered.
func (l *loop) proceed(c *conn, now int64) {
	if !c.busy() {
		l.next(c, now)
	}
}

// flush writes what the socket takes.
func (l *loop) flush(c *conn) {
	if c.slow || c.body != nil {
		if !l.push(c) {
			return
		}
	}
	for c.off < len(c.out) {
		if c.broken {
			return
		}
		n, errno := sock.Send(c.fd, c.out[c.off:])
		switch errno {
		case 0:
			c.off += n
			l.rec.bytesOut += uint64(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			l.gone(c)
			return
		}
	}
	l.rec.sent += uint64(c.asked)
}

// requests is how many requests of the batch the server saw some byte of.
func (l *loop) requests(c *conn) (n int) {
	switch {
	case !c.writing():
		return c.asked
	case c.turn == nil:
		size := len(l.spec.Request)
		return (c.off + size - 1) / size
	}
	for begin := 0; n < c.asked && begin < c.off; n++ {
		begin = c.turn.ends[n]
	}
	return n
}

// written is how many requests of the batch are written to the end.
func (l *loop) written(c *conn) (n int) {
	if c.turn == nil {
		return c.off / len(l.spec.Request)
	}
	for n < c.asked && c.turn.ends[n] <= c.off && (n < c.asked-1 || c.body == nil) {
		n++
	}
	return n
}

// readable reads what is there. A read that does not fill the buffer emptied the
// socket, and whatever comes later raises a new edge; but an end of the
// connection that was already reported raises none.
func (l *loop) readable(c *conn, flags uint32) {
	if c.slow && l.spec.Slow.Read > 0 {
		l.sip(c, flags)
		return
	}
	for range readsPerTurn {
		n, errno := sock.Receive(c.fd, l.buf)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return
		}
		l.received(c, n, errno)
		if c.phase != open || n < len(l.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.later(c, flags)
}

// received takes what a read brought: n bytes in the loop's buffer, the end, or an
// error.
func (l *loop) received(c *conn, n int, errno unix.Errno) {
	now := l.now()
	switch {
	case errno != 0 && l.started && !c.busy() && !c.held:
		l.dropped(c, now)
	case errno != 0:
		l.cause = wrap("read answer", errno)
		l.fail(c, kindReset, now+retryFailed)
	case n == 0:
		l.ended(c, now)
	default:
		l.rec.bytesIn += uint64(n)
		if l.spec.Stream {
			l.consumeStream(c, l.buf[:n], now)
		} else {
			l.consume(c, l.buf[:n], now)
		}
	}
}

// ended is called when the peer closed its side.
func (l *loop) ended(c *conn, now int64) {
	streaming := l.spec.Stream && c.parser.InBody()
	if streaming {
		l.rec.answered++
	} else if v := c.parser.EOF(); v != h1.More {
		l.answer(c, v, l.judge(c, v), now)
		l.leave(c, now)
		return
	}
	k := kindClosed
	switch {
	case streaming:
		l.cause = errClosed
	case c.parser.Begun():
		l.cause, k = errShort, kindShort
	case c.broken:
		l.cause, k = errReset, kindReset
	case l.started && !c.busy() && !c.held:
		l.dropped(c, now)
		return
	default:
		l.cause = errClosed
	}
	l.fail(c, k, now+retryFailed)
}

// dropped replaces a connection that the server ended while nothing was asked of
// it, as servers do with those that wait for long.
func (l *loop) dropped(c *conn, now int64) {
	l.rec.dropped++
	l.drop(c, max(c.until, now))
}

// leave replaces a connection that the server wanted to end after an answer.
// That is no error unless requests are left behind.
func (l *loop) leave(c *conn, now int64) {
	if c.done < l.requests(c) {
		l.cause = errClosed
		l.fail(c, kindClosed, now)
		return
	}
	l.drop(c, now+l.think(c))
}

// fail counts an error of a connection and replaces it when due.
func (l *loop) fail(c *conn, k kind, due int64) {
	l.rec.errors[k]++
	if l.play != nil && c.phase == open && c.done < c.asked {
		if target := c.turn.targets[c.done]; l.counted(c, target) {
			l.play.counts[target.Index()].errors++
		}
	}
	l.drop(c, due)
}

// drop closes a connection and puts its place up for another.
func (l *loop) drop(c *conn, due int64) {
	if c.phase == connecting {
		l.connecting--
	} else {
		l.standing--
		if c.writing() {
			l.rec.sent += uint64(l.written(c))
		}
		l.lost(c)
	}
	// close(2) on a socket frees the descriptor whatever it returns.
	_ = unix.Close(c.fd)
	c.fd, c.phase = -1, waiting
	c.gen++
	c.settle()
	l.retry = append(l.retry, later{c: c, due: due})
}
