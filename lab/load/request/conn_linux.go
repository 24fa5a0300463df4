package request

import (
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/wire"
)

// phase is the state of a connection.
type phase uint8

const (
	waiting     phase = iota // has no socket; in loop.retry unless draining
	connecting               // connect is under way
	handshaking              // connected; TLS, or HTTP/2's settings, are under way
	open
)

// conn is one connection, or its place while it has none. Nothing is
// outstanding when all of its batch is written and answered.
type conn struct {
	// Fields that every request uses, on two cache lines.

	fd        int
	gen       int32 // distinguishes events of this socket from those of earlier ones
	phase     phase
	broken    bool             // a write failed: read what the peer has sent
	held      bool             // idle after one answer: Spec.Idle
	early     bool             // the answer began before the batch was written
	detour    bool             // it does not take the short path: it is slow, or secure
	resting   bool             // a slow reader between two reads
	trickling bool             // between two writes of a slow writer, or of a long body
	flags     uint32           // events received while resting
	exchange                   // the one under way; sent is when the batch began
	out       []byte           // the batch
	off       int              // bytes of it written
	asked     int              // requests of the batch
	done      int              // answers received of it
	body      *scenario.Stream // follows out; nil: none, or it is written
	wire      *wire.Conn       // nil: HTTP/1.1 in clear
	mux       *mux             // HTTP/2, which has exchanges of its own; nil: HTTP/1.1

	parser h1.Parser
	until  int64 // end of the user's think time; 0: it does not think
	at     int64 // bytes of body written

	from   int // first request of the batch in the reel
	follow int // first request of the next batch

	covers int // bytes of the batch that are pending on wire

	attempt attempt
	dialed  int64 // time when the connect, or the handshake, began
}

// writing reports whether some of the batch is still to be written.
func (c *conn) writing() bool { return c.off < len(c.out) || c.body != nil }

// busy reports whether something is outstanding.
func (c *conn) busy() bool { return c.done < c.asked || c.writing() }

// waits is busy for any protocol.
func (c *conn) waits() bool { return c.busy() || c.mux != nil && c.mux.busy() }

// settle forgets the batch, unless it waits for another connection.
func (c *conn) settle() {
	c.off, c.body = len(c.out), nil
	if c.attempt != attemptHeld {
		c.done = c.asked
	}
	c.resting, c.trickling, c.flags, c.first, c.until = false, false, 0, 0, 0
}

// readsPerTurn is how often one connection reads before the others do.
const readsPerTurn = 8

// dial opens a socket for c and begins to connect.
func (l *loop) dial(c *conn, now int64) error {
	fd, err := l.dialer.Socket(l.index(c))
	if err != nil {
		return err // of this process or of the Spec: a retry would fail too
	}
	c.fd, c.phase, c.dialed, c.broken = fd, connecting, now, false
	c.settle()
	c.parser.Reset()
	l.connecting++
	err = unix.Connect(fd, l.dialer.To)
	if err == unix.EAGAIN { // of a Unix socket: the server's listen queue is full
		l.queueFull(c, now)
		return nil
	}
	if err != nil && err != unix.EINPROGRESS {
		l.connectFailed(c, err, now)
		return nil
	}
	// Edge-triggered, for all events, once: EPOLLOUT is reported only after a write found
	// the buffer full, and no other epoll_ctl is needed.
	if watchErr := l.poll.Add(c.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP, int32(l.index(c)), c.gen); watchErr != nil {
		return watchErr
	}
	if err == nil {
		l.connected(c, l.Now())
	}
	return nil
}

// connected is called when connect(2) has succeeded.
func (l *loop) connected(c *conn, now int64) {
	l.rec.Connects++
	tally.Record(l.rec.Connect, now-c.dialed, 1)
	if c.wire != nil {
		l.handshake(c, now)
		return
	}
	l.established(c, now)
}

// established is called when a connection is ready for its first request.
func (l *loop) established(c *conn, now int64) {
	l.connecting--
	l.standing++
	l.refusedSince = 0
	c.phase = open
	if !l.started {
		if l.standing > l.most { // replacing lost connections is no progress
			l.most, l.lastRight = l.standing, now
		}
		return
	}
	l.enter(c, now)
}

// enter lets an established connection send requests.
func (l *loop) enter(c *conn, now int64) {
	if c.mux != nil {
		c.mux.enter(now)
		return
	}
	if c.owes() {
		l.resend(c)
		return
	}
	l.ready(c, now)
}

// queueFull schedules another connect. It is no error unless the queue stays full.
func (l *loop) queueFull(c *conn, now int64) {
	if l.refusedSince == 0 {
		l.refusedSince = now
	}
	l.cause = wrap("connect "+l.spec.Addr, unix.EAGAIN)
	l.drop(c, now+retryFailed)
}

func (l *loop) connectFailed(c *conn, err error, now int64) {
	if l.refusedSince == 0 {
		l.refusedSince = now
	}
	l.cause = wrap("connect "+l.spec.Addr, err)
	l.fail(c, tally.KindConnect, now+retryRefused)
}

// event handles what epoll reports about c.
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
	} else if flags&unix.EPOLLOUT != 0 {
		switch {
		case c.writing():
			l.flush(c)
			l.proceed(c, l.Now())
		case c.wire != nil:
			l.writable(c)
		}
	}
	if flags&^unix.EPOLLOUT != 0 && c.phase >= handshaking {
		l.readable(c, flags)
	}
}

// begin sends a new batch.
func (l *loop) begin(c *conn, now int64) {
	if l.draining {
		return
	}
	c.sent, c.off, c.done, c.early, c.attempt = now, 0, 0, false, attemptFirst
	if l.reel.varied() {
		c.from = c.follow
		c.out, c.follow = l.reel.batch(c.from)
	}
	if l.quota.on {
		l.shorten(c)
	}
	l.flight.Add(c.asked, now)
	l.flush(c)
}

// proceed calls next when the last batch is written and answered.
func (l *loop) proceed(c *conn, now int64) {
	if !c.busy() {
		l.next(c, now)
	}
}

// flush writes as much as the socket accepts.
func (l *loop) flush(c *conn) {
	if c.detour || c.body != nil {
		if !l.push(c) {
			return
		}
	}
	for c.off < len(c.out) {
		if c.broken {
			return
		}
		n, errno := wire.Send(c.fd, c.out[c.off:])
		switch errno {
		case 0:
			c.off += n
			l.rec.BytesOut += uint64(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return // EPOLLOUT follows
		default:
			l.gone(c)
			return
		}
	}
	l.rec.Sent += uint64(c.asked)
}

// requests returns of how many requests of the batch the server has received any byte.
func (l *loop) requests(c *conn) (n int) {
	off := c.off
	if c.wire != nil {
		off += c.covers // some of it may have arrived
	}
	switch {
	case !c.writing():
		return c.asked
	case c.turn == nil:
		return l.reel.begun(c.from, off)
	}
	for begin := 0; n < c.asked && begin < off; n++ {
		begin = c.turn.ends[n]
	}
	return n
}

// written returns how many requests of the batch are completely written.
func (l *loop) written(c *conn) (n int) {
	if c.turn == nil {
		return l.reel.whole(c.from, c.off)
	}
	for n < c.asked && c.turn.ends[n] <= c.off && (n < c.asked-1 || c.body == nil) {
		n++
	}
	return n
}

// readable reads the socket. A read that does not fill the buffer has emptied the
// socket, and later data raises a new edge; an end of the
// connection that was already reported raises none.
func (l *loop) readable(c *conn, flags uint32) {
	if c.detour && l.spec.Slow.Read > 0 {
		l.sip(c, flags)
		return
	}
	for range readsPerTurn {
		n, errno := wire.Receive(c.fd, l.buf)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return
		}
		l.received(c, l.buf[:max(n, 0)], errno)
		if c.phase < handshaking || n < len(l.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.later(c, flags)
}

// received handles the result of a read: bytes, the end (no bytes), or an error.
func (l *loop) received(c *conn, in []byte, errno unix.Errno) {
	now := l.Now()
	switch {
	case errno != 0 && c.phase == handshaking:
		l.handshakeFailed(c, errno, now)
	case errno != 0 && l.started && !c.waits() && !c.held:
		l.dropped(c, now)
	case errno != 0:
		l.cut(c, tally.KindReset, wrap("read answer", errno), now)
	case len(in) == 0 && c.wire != nil:
		l.endedWire(c, now)
	case len(in) == 0:
		l.ended(c, now)
	default:
		l.rec.BytesIn += uint64(len(in))
		if c.wire != nil {
			l.receivedWire(c, in, now)
		} else {
			l.consume(c, in, now)
		}
	}
}

// ended is called when the peer closed its side.
func (l *loop) ended(c *conn, now int64) {
	if v := c.parser.EOF(); v != h1.More {
		l.answered(c, v, l.judge(c, v), now)
		l.leave(c, now)
		return
	}
	switch {
	case c.parser.Begun():
		l.cut(c, tally.KindShort, errShort, now)
	case c.broken:
		l.cut(c, tally.KindReset, errReset, now)
	case l.started && !c.busy() && !c.held:
		l.dropped(c, now)
	default:
		l.cut(c, tally.KindClosed, errClosed, now)
	}
}

// dropped replaces a connection that the server closed while no request was outstanding,
// as servers do after an idle timeout.
func (l *loop) dropped(c *conn, now int64) {
	l.rec.Dropped++
	l.drop(c, max(c.until, now))
}

// fail counts an error of a connection and schedules its replacement.
func (l *loop) fail(c *conn, k tally.Kind, due int64) {
	if c.mux != nil && (c.phase == open || c.owes()) {
		c.mux.failStreams(k)
		l.drop(c, due)
		return
	}
	var target *scenario.Target
	lost := 0
	if c.phase == open || c.owes() {
		lost = c.asked - c.done
	}
	if l.play != nil && lost > 0 {
		target = c.turn.targets[c.done]
		l.lostExchange(&c.exchange, target)
	}
	l.rec.Errors[k] += l.quota.errors(lost, target)
	l.forgo(c)
	l.drop(c, due)
}

// drop closes a connection and schedules the connect of another in its place.
func (l *loop) drop(c *conn, due int64) {
	if c.phase != open {
		l.connecting--
	} else {
		l.standing--
		if c.writing() {
			l.rec.Sent += uint64(l.written(c))
		}
		l.lost(c)
	}
	if c.wire != nil {
		l.hangUp(c)
	}
	_ = unix.Close(c.fd) // as in Close
	c.fd, c.phase = -1, waiting
	c.gen++
	c.settle()
	l.retry = append(l.retry, later{c: c, due: due})
}
