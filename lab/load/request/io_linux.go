package request

// What differs between epoll and io_uring stands here: how the loop waits, and how the
// bytes of a connection come and go. A ring is told what to send and tells what came of
// it; of the protocol it knows nothing, and nothing of the protocol stands twice.

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/ring"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// sendsPerEnter is from how many sends on they are handed to the kernel in the middle
// of a turn. It takes them one after the other, some microseconds each: an arrival is
// late by those before it, and a latency has them in it.
const sendsPerEnter, arrivalsPerEnter = 32, 8

// newIO makes what the loop waits with.
func (l *loop) newIO() (err error) {
	if l.spec.IO != spec.URing {
		l.poll, err = sock.NewPoller(eventsPerPoll)
		return err
	}
	if l.ring, err = ring.New(l.spec.Connections); err != nil {
		return fmt.Errorf("%w; write --io epoll", err)
	}
	return nil
}

// Spun is the time that was polled for nothing, in nanoseconds.
func (l *loop) Spun() int64 {
	if l.ring != nil {
		return l.ring.Spun
	}
	return l.poll.Spun
}

// closeIO frees it.
func (l *loop) closeIO() {
	switch {
	case l.ring != nil:
		l.ring.Close()
	case l.poll != nil:
		_ = l.poll.Close() // nothing to be done about an error
	}
}

// watch has the end of c's connect told, and what comes after it.
func (l *loop) watch(c *conn) error {
	if l.ring != nil {
		l.ring.AwaitRoom(l.index(c))
		return nil
	}
	// Edge-triggered, for everything, once: EPOLLOUT comes only when a write
	// found the buffer full before, and no epoll_ctl follows.
	return l.poll.Add(c.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP, int32(l.index(c)), c.gen)
}

// wait waits until a time, and works through what there is.
func (l *loop) wait(now, t int64) error {
	if l.ring != nil {
		return l.waitRing(now, t)
	}
	return l.waitEpoll(now, t)
}

func (l *loop) waitEpoll(now, t int64) error {
	if _, _, err := l.poll.Wait(now, t, len(l.again) > 0); err != nil {
		return err
	}
	if len(l.poll.Events) > 0 {
		now = l.Now()
	}
	for i := range l.poll.Events {
		ev := &l.poll.Events[i]
		c := &l.conns[ev.Fd]
		if c.gen == ev.Pad && c.phase != waiting {
			l.event(c, ev.Events, now)
			if l.open != nil {
				l.dispatch(l.Now())
			}
		}
	}
	l.turn, l.again = l.again, l.turn[:0]
	for _, a := range l.turn {
		if a.c.gen == a.gen && a.c.phase >= handshaking {
			l.readable(a.c, a.flags)
		}
	}
	return nil
}

func (l *loop) waitRing(now, t int64) error {
	if err := l.ring.Wait(now, t); err != nil {
		return err
	}
	l.settleSends()
	most := sendsPerEnter
	if l.open != nil {
		most = arrivalsPerEnter
	}
	for ev, ok := l.ring.Next(); ok; ev, ok = l.ring.Next() {
		c := &l.conns[ev.Place]
		switch {
		case !ev.Room:
			l.received(c, ev.Data, ev.Errno)
		case ev.Errno != 0:
			return wrap("wait for socket", ev.Errno)
		default:
			l.event(c, unix.EPOLLOUT, l.Now())
		}
		if l.open != nil {
			l.dispatch(l.Now())
		}
		if l.ring.Waiting() >= most {
			if err := l.submit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// submit hands what waits for it to the kernel, if there is a ring.
func (l *loop) submit() error {
	if l.ring == nil {
		return nil
	}
	if err := l.ring.Submit(); err != nil {
		return err
	}
	l.settleSends()
	return nil
}

// settleSends takes what became of the sends of an enter. Of the arrivals among them
// it is known now that they left, and not when: all of them count as sent at its end,
// which is too late rather than too early.
func (l *loop) settleSends() {
	sent := l.ring.Sent()
	if len(sent) == 0 && len(l.posted) == 0 {
		return
	}
	now := l.Now()
	if l.ring.Waiting() == 0 {
		for _, a := range l.posted {
			l.open.Left(a, now)
		}
		l.posted = l.posted[:0]
	}
	for _, s := range sent {
		if c := &l.conns[s.Place]; l.sent(c, s.N, s.Errno) {
			l.flush(c)
			l.proceed(c, now)
		}
	}
}

// post notes that an arrival is on its way. Its service time begins now, also where a
// ring sends it a moment later: that is too long rather than too short.
func (l *loop) post(a arrive.Arrival, now int64) tally.Arrival {
	if l.ring == nil {
		return l.open.Send(a, now)
	}
	l.posted = append(l.posted, a)
	return tally.Begin(a, now)
}

// blocked is called when the socket takes no more. Epoll tells by itself when it does.
func (l *loop) blocked(c *conn) {
	if l.ring != nil {
		l.ring.AwaitRoom(l.index(c))
	}
}

// closeSocket closes the socket of c.
func (l *loop) closeSocket(c *conn) {
	if l.ring != nil {
		l.ring.CloseSocket(l.index(c))
		return
	}
	// close(2) on a socket frees the descriptor whatever it returns.
	_ = unix.Close(c.fd)
}
