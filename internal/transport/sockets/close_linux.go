package sockets

import (
	"slices"
	"syscall"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// finish closes a connection in order: after everything is sent, and in such a way that the
// peer receives it.
//
// A socket that is closed with unread input answers with a reset, which may overtake the
// last answer on its way to the peer's program. So, unless the peer has ended or everything
// is in order, only the writing side is shut, and further input is read and dropped for a
// while.
func (l *Loop) finish(h *lead.Hand, c *Conn) bool {
	l.submit(c)
	c.conclude()
	l.dropWakes(c)
	if c.Pending() > 0 {
		c.flags |= closing | unsent
		if c.deadline.Load() == 0 {
			c.deadline.Store(l.now + int64(drainTime))
		}
		l.schedule(c, c.deadline.Load())
		l.arm(c)
		return true
	}
	if c.flags&ended != 0 || c.own&linger == 0 && c.rest() == nil && !l.unread(c) {
		return l.drop(h, c, nil)
	}
	if sys.ShutWrite(int(c.fd)) != 0 {
		return l.drop(h, c, nil)
	}
	s := c.session
	c.session = nil
	c.flags = lingering
	c.deadline.Store(l.now + int64(lingerTime))
	l.schedule(c, c.deadline.Load())
	l.arm(c)
	l.yield(h, c)
	s.Closed(nil)
	return h.End()
}

// unread reports whether unread input has arrived.
func (l *Loop) unread(c *Conn) bool {
	if l.receiver == nil {
		return sys.Unread(int(c.fd)) > 0
	}
	return l.receiver.Unread(c)
}

// discard reads input from a connection that has been answered.
func (l *Loop) discard(h *lead.Hand, c *Conn) bool {
	in := h.Input()
	n, errno := l.recv(c, in)
	if errno == syscall.EAGAIN || errno == syscall.EINTR {
		l.arm(c)
		return true
	}
	if errno != 0 || n == 0 {
		return l.drop(h, c, nil)
	}
	c.need().dropped += n
	l.disarm(c)
	return true
}

// sated reports whether the maximum has been read and dropped: the peer has the rest of
// lingerTime to receive its answer, which a reset would destroy.
func (c *Conn) sated() bool {
	m := c.more()
	return m != nil && m.dropped >= lingerSize
}

// interrupt ends a connection that is being fed: Lost tells its session why, unless it has
// been told before, and before a goroutine that reads or writes finds out; waiting ones are
// told then; the rest follows when Feed has returned.
func (l *Loop) interrupt(c *Conn, why error) {
	c.flags |= closeNow
	if c.flags&(lost|making) == 0 { // otherwise the session knows, or does not exist yet
		c.flags |= lost
		c.session.Lost(why)
	}
	c.conclude()
	sys.ShutBoth(int(c.fd)) // if it fails, the socket is no longer connected
	l.dropWakes(c)
	l.endWaits(c, transport.ErrLost)
}

// conclude makes a connection a finished one, unless it is gone.
func (c *Conn) conclude() {
	if !c.closed.CompareAndSwap(open, finished) {
		c.closed.CompareAndSwap(severed, finished)
	}
}

// cut closes a connection on behalf of its session, but not in order. Input that has
// arrived is dropped first, up to the amount that is read from a lingering connection: if
// the socket were closed with unread input, it would answer with a reset, and the peer
// might lose what it has been sent.
func (l *Loop) cut(h *lead.Hand, c *Conn) bool {
	in := h.Input()
	for left := lingerSize; left > 0; {
		n, errno := l.recv(c, in[:min(len(in), left)])
		if n <= 0 && errno != syscall.EINTR {
			break
		}
		left -= n
	}
	return l.drop(h, c, nil)
}

// drop closes a connection at once. It must not be being fed.
func (l *Loop) drop(h *lead.Hand, c *Conn, err error) bool {
	l.remove(c)
	l.shut(c)
	s := c.session
	c.session = nil
	if s == nil {
		return true
	}
	l.yield(h, c)
	s.Closed(err)
	return h.End()
}

// remove takes a connection out of the loop.
func (l *Loop) remove(c *Conn) {
	l.submit(c)
	l.wheel.Remove(&c.timer)
	l.dropWakes(c)
	if l.conns[c.fd] == c {
		l.conns[c.fd] = nil
		l.count--
	}
	if c.flags&busy != 0 {
		l.feeds--
		l.forget(c)
	}
	if l.fed == c {
		l.fed = nil
	}
	l.t.left()
}

// shut closes the descriptor and releases all memory.
func (l *Loop) shut(c *Conn) {
	c.closed.Store(dead)
	l.release(c)
	c.free()
}

// free releases what the connection holds. Nothing may use it any more.
func (c *Conn) free() {
	if m := c.more(); m != nil {
		buf.Put(m.rest)
		m.rest, m.unread = nil, nil
		m.dropped = 0
		m.out.Reset()
		c.trim()
	}
}

func (l *Loop) dropWakes(c *Conn) {
	if !c.came() {
		return
	}
	list := c.meanwhile.came
	c.meanwhile.came = nil
	for _, m := range list {
		l.dismiss(m)
	}
}

// exited is called by a hand that ends within a session's code.
func (l *Loop) exited(h *lead.Hand) {
	l.publish(h)
	if h.Left.Load() {
		l.resting.Add(1)
		return
	}
	l.put(message{kind: exited, hand: h})
}

// fedBy returns the connection whose session a hand serves, nil if there is none.
func (l *Loop) fedBy(h *lead.Hand) *Conn {
	for _, c := range l.conns {
		if c != nil && c.hand == h && c.closed.Load() != dead {
			return c
		}
	}
	return nil
}

// exit closes the connection, if there is one, whose session will never return because a
// hand has ended in it. Goroutines
// with which the session has shared the connection may still use it, and find it closed: it
// keeps its hand, and its memory is left to the collector.
func (l *Loop) exit(h, ended *lead.Hand) bool {
	if ended.Left.Load() { // it was made to leave meanwhile
		l.resting.Add(1)
		return true
	}
	if j := l.running; j != nil && j.hand == ended {
		j.over = j.next != nil
		l.jobReturned(j)
		return true
	}
	c := l.fedBy(ended)
	if c == nil {
		return true
	}
	l.endWaits(c, transport.ErrLost)
	sys.Reset(int(c.fd))
	l.remove(c)
	c.closed.Store(dead)
	l.release(c)
	c.disown()
	s := c.session
	if s == nil {
		return true
	}
	l.yield(h, c)
	s.Closed(transport.ErrExited)
	return h.End()
}

// disown drops the output of the connection, and leaves the rest to goroutines with which
// the session has shared it. Output added from here on is dropped too: see pushHeld.
func (c *Conn) disown() {
	if m := c.more(); m != nil {
		m.mu.Lock()
		m.out.Release()
		m.mu.Unlock()
	}
}

// abandon closes a connection whose loop has ended while it was busy. free releases its memory.
// The session is told by a goroutine of its own: the caller may hold what it needs for that, or is
// the loop's last leader, from whom nobody takes over.
func (c *Conn) abandon(free func(*Conn)) {
	if c.closed.Swap(dead) == dead {
		return
	}
	c.socket.close()
	free(c)
	c.loop.t.left()
	if c.session != nil {
		go c.session.Closed(transport.ErrStopped)
	}
}

// quit ends the loop. Connections that are being fed are notified, and closed when Feed
// returns.
func (l *Loop) quit(h *lead.Hand) bool {
	if l.requests != nil && !l.stopped {
		l.stopped = true
		l.requests.Stop()
	}
	for l.swept < len(l.conns) {
		c := l.conns[l.swept]
		l.swept++
		if c == nil {
			continue
		}
		if c.flags&busy == 0 {
			if !l.drop(h, c, transport.ErrStopped) {
				return false
			}
			continue
		}
		l.interrupt(c, transport.ErrStopped)
	}
	return true
}

// stop is the end of the loop.
func (l *Loop) stop(h *lead.Hand) {
	l.closeListeners()
	if l.requests != nil {
		l.requests.Close()
	}
	// From here on no goroutine can reach the loop; feeders close what belongs to them.
	for _, m := range slices.Concat(l.stops, l.batch[l.at:], l.inbox.Close()) {
		l.dismiss(m)
	}
	l.batch, l.at = nil, 0
	l.walks, l.jobs = nil, agenda{}
	if err := l.bell.Close(); err != nil {
		l.t.log("close loop", err)
	}
	l.t.ended(l.failure)
	h.Done()
}
