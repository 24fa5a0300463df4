package request

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/wire"
)

// What a timer is for.
const (
	wakeThink uint8 = iota
	wakeRead
	wakeWrite
	wakeStream // of a requester: the timer's ID is its place
)

const (
	stepsASec  = 100     // pieces a second of a slow connection, unless its rate is lower
	slowBuffer = 8 << 10 // minimum receive buffer of a slow reader
)

// receiveBuffer returns the kernel's receive buffer for a slow reader: a quarter of a
// second of data. With the kernel's default, megabytes, the server would not notice for
// minutes that the client reads slowly.
func receiveBuffer(s *spec.Slow) int {
	if s.Read == 0 {
		return 0
	}
	return int(min(max(s.Read/4, slowBuffer), 256<<10))
}

// step returns how many bytes one call moves at a rate.
func step(rate int64) int { return int(min(max(rate/stepsASec, 1), wire.PieceSize)) }

// pause returns how many nanoseconds a slow connection rests after n bytes.
func pause(n int, rate int64) int64 { return int64(float64(n) / float64(rate) * float64(time.Second)) }

// wake sets a timer for c.
func (l *loop) wake(c *conn, due int64, what uint8) {
	l.wakeAt(run.Timer{Due: due, ID: int32(l.index(c)), Generation: c.gen, What: what})
}

// wakeRequester sets a timer for a requester of HTTP/2.
func (l *loop) wakeRequester(m *mux, i int, due int64) {
	l.wakeAt(run.Timer{Due: due, ID: int32(m.place(i)), Generation: m.c.gen, What: wakeStream})
}

func (l *loop) wakeAt(e run.Timer) {
	// Timers of closed connections remain. A connection has at most three, and
	// one for each of its streams.
	if l.timers.Len() >= 4*l.spec.Places() {
		l.timers.Keep(func(e run.Timer) bool { return l.waker(e).gen == e.Generation })
	}
	l.timers.Add(e)
}

// waker returns the connection that a timer is for.
func (l *loop) waker(e run.Timer) *conn {
	if e.What == wakeStream {
		return &l.conns[int(e.ID)/l.spec.Streams]
	}
	return &l.conns[e.ID]
}

// fire runs the timers that are due.
func (l *loop) fire(now int64) {
	for {
		e, ok := l.timers.Take(now)
		if !ok {
			return
		}
		c := l.waker(e)
		if c.gen != e.Generation || c.phase != open {
			continue
		}
		switch e.What {
		case wakeThink:
			c.until = 0
			l.ready(c, now)
		case wakeRead:
			c.resting = false
			l.readable(c, c.flags)
		case wakeWrite:
			c.trickling = false
			if c.mux != nil {
				l.flushFrames(c)
				continue
			}
			l.flush(c)
			l.proceed(c, l.Now())
		case wakeStream:
			c.mux.resume(int(e.ID)%l.spec.Streams, now)
		}
	}
}

// rest returns at most limit of the next bytes of c's batch: of its buffer, or of the
// streamed body that follows. A piece that the socket does not accept is generated again
// later, so that no connection holds one.
func (l *loop) rest(c *conn, limit int) ([]byte, error) {
	if c.off < len(c.out) {
		return c.out[c.off:min(len(c.out), c.off+limit)], nil
	}
	var err error
	l.piece, err = c.body.AppendAt(l.piece[:0], c.at, limit)
	return l.piece, err
}

// advance records that n of these bytes are written.
func (c *conn) advance(n int) {
	if c.off < len(c.out) {
		c.off += n
		return
	}
	if c.at += int64(n); c.at >= c.body.Size() {
		c.body = nil
	}
}

// push writes batches that are streamed, slow, or encrypted. It reports whether all
// is written.
func (l *loop) push(c *conn) bool {
	if c.wire != nil {
		return l.pushSecure(c)
	}
	limit, slow := wire.PieceSize, c.detour && l.spec.Slow.Write > 0
	if slow {
		limit = step(l.spec.Slow.Write)
	}
	for left := wire.Pieces; c.writing() && !c.broken && !c.trickling; {
		b, err := l.rest(c, limit)
		if err != nil {
			l.broken = wrap("read body to send", err)
			return false
		}
		n, errno := wire.Send(c.fd, b)
		switch errno {
		case 0:
			c.advance(n)
			l.rec.BytesOut += uint64(n)
			left--
			switch {
			case !c.writing():
			case slow:
				c.trickling = true
				l.wake(c, l.Now()+pause(n, l.spec.Slow.Write), wakeWrite)
			case left == 0:
				c.trickling = true
				l.wake(c, l.Now(), wakeWrite)
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return false // EPOLLOUT follows
		default:
			l.gone(c)
		}
	}
	return !c.writing()
}

// gone records that the peer accepts no more bytes. What it has sent, an early refusal
// perhaps, is still read.
func (l *loop) gone(c *conn) {
	c.broken = true
	l.later(c, unix.EPOLLRDHUP)
}

// sip is readable for a slow reader.
func (l *loop) sip(c *conn, flags uint32) {
	c.flags |= flags
	if c.resting {
		return
	}
	n, errno := wire.Receive(c.fd, l.buf[:step(l.spec.Slow.Read)])
	switch {
	case errno == unix.EINTR:
		l.later(c, c.flags)
		return
	case errno == unix.EAGAIN:
		c.flags = 0
		return
	}
	gen := c.gen
	l.received(c, l.buf[:max(n, 0)], errno)
	if c.gen == gen && c.phase == open {
		c.resting = true
		l.wake(c, l.Now()+pause(max(n, 1), l.spec.Slow.Read), wakeRead)
	}
}

// scan fails what has timed out, and gives up a run without progress.
func (l *loop) scan(now int64) error {
	if l.ramp != nil {
		l.adjust(now)
	}
	timeout := int64(l.spec.Timeout)
	if l.idle(now) {
		l.lastRight = now
	}
	for i := range l.conns {
		c := &l.conns[i]
		if c.mux != nil && c.phase == open {
			l.scanStreams(c, now)
			continue
		}
		since := c.sent
		if c.phase != open {
			since = c.dialed
		}
		if now-since <= timeout {
			continue
		}
		switch {
		case c.phase == connecting:
			l.connectFailed(c, unix.ETIMEDOUT, now)
		case c.phase == handshaking:
			l.handshakeFailed(c, unix.ETIMEDOUT, now)
		case c.phase == open && c.busy():
			l.cause = errTimeout
			l.timedOutBatch(c, now)
			l.fail(c, tally.KindTimeout, now+retryFailed)
		}
	}
	if l.spec.Persist && l.started || l.resigned {
		return nil
	}
	if l.refusedSince != 0 && !l.quota.spent() && now-l.refusedSince > refusedFor {
		return run.Hopeless{Err: l.cause}
	}
	// 1.5 times the timeout, so that a connection that replaced a stalled one can
	// still be answered.
	if !l.draining && now-l.lastRight > timeout+timeout/2 {
		cause := l.cause
		if cause == nil {
			cause = errTimeout
		}
		return run.Hopeless{Err: fmt.Errorf("no right answer for %v: %w", time.Duration(now-l.lastRight).Round(time.Millisecond), cause)}
	}
	return nil
}
