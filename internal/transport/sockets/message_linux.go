package sockets

import (
	"net"
	"sync/atomic"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// A message is from another goroutine, or an earlier round, to a loop.
type message struct {
	kind kind
	how  transport.Closing // for closeConn
	at   int32             // for visitAll: the next descriptor
	c    *Conn
	f    func(out *buf.Queue) error // for wake
	each *each                      // for visitAll, and for its visits by wake
	stay *stay                      // for askStay
	ends *ends                      // for stopListening and dropListeners
	err  error                      // for back
	hand *lead.Hand                 // for exited
	job  *job                       // for walkAll, jobReturned and runLater
}

type kind uint8

const (
	wake          kind = iota // run f
	turn                      // let the session take a turn
	back                      // the session has returned on a goroutine that does not lead
	readWait                  // the feeder waits for input
	writeWait                 // the feeder waits for room
	retime                    // the feeder waits, and has changed its timeout
	askStay                   // the feeder wants to stay
	sendRest                  // the feeder has left output to send
	feedRest                  // feed what is kept
	closeConn                 // Close
	exited                    // the feeder has ended within the session's code
	hijack                    // the feeder takes the connection out
	visitAll                  // run each's function for all connections
	walkAll                   // let sessions take turns
	jobReturned               // the hand that ran the function of a job has returned without the lead
	runLater                  // keep a function until it is due
	listenAll                 // accept connections, from here on
	resumeAccept              // there is room for connections again
	stopListening             // close the listening sockets
	dropListeners             // close those that were made of a given listener
	quitLoop                  // close everything
)

// An ends is a request to close listening sockets.
type ends struct {
	of   net.Listener  // for dropListeners: the listener whose socket they duplicate
	done chan struct{} // closed when it is done
}

// An each is one call of Transport.Each.
type each struct {
	f    func(s transport.Session, out *buf.Queue) error
	stop <-chan struct{}
	left atomic.Int64 // loops that have not finished, and sessions that are being visited
	done chan struct{}
}

// finish counts one loop or session as done.
func (e *each) finish() {
	if e.left.Add(-1) == 0 {
		close(e.done)
	}
}

// visit runs the function for one session.
func (e *each) visit(s transport.Session, out *buf.Queue) error {
	defer e.finish()
	if e.stopped() {
		return nil
	}
	return e.f(s, out)
}

func (e *each) stopped() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// deliver handles one message.
func (l *Loop) deliver(h *lead.Hand, m message) bool {
	switch m.kind {
	case visitAll:
		return l.visitNext(h, m)
	case listenAll:
		for _, ln := range l.listeners {
			l.listen(ln)
		}
		return true
	case resumeAccept:
		l.resumeAccept()
		return true
	case stopListening:
		return l.stopListening(h, m)
	case dropListeners:
		l.dropListeners(m)
		return true
	case quitLoop:
		l.quitting = true
		return true
	case exited:
		return l.exit(h, m.hand)
	case walkAll:
		l.walks = append(l.walks, m.job)
		return true
	case jobReturned:
		l.jobReturned(m.job)
		return true
	case runLater:
		l.jobs.add(m.job)
		return true
	}
	if m.c.closed.Load() == dead {
		l.dismiss(m)
		return true
	}
	return l.deliverTo(h, m.c, m)
}

// deliverTo handles a message that is about a connection.
func (l *Loop) deliverTo(h *lead.Hand, c *Conn, m message) bool {
	switch m.kind {
	case back:
		// Its interest may have been removed meanwhile: there is no short cut.
		l.feeds--
		c.hand = nil
		if m := c.meanwhile; m != nil {
			m.stay = nil
		}
		c.flags &^= busy | waitRead | waitWrite | asks
		return l.resolve(h, c, m.err)
	case readWait, writeWait:
		l.await(c, m.kind)
	case retime:
		l.waits(c)
	case askStay:
		l.askStay(c, m.stay)
	case sendRest:
		if c.flags&busy != 0 {
			c.flags |= unsent
			l.arm(c)
		}
	case hijack:
		if c.flags&closeNow != 0 {
			l.dismiss(m)
			return true
		}
		l.remove(c)
		c.closed.Store(dead) // for this transport; the feeder has a duplicate
		c.flags |= leaving
		l.release(c)
	case closeConn:
		return l.close(h, c, m.how)
	case feedRest:
		ready := c.flags&(busy|held|ended|closing|lingering) == 0 && c.own&paused == 0
		if ready && c.flags&due != 0 && c.rest() != nil {
			c.flags &^= due
			return l.feedRest(h, c)
		}
	case wake:
		return l.wake(h, c, m)
	case turn:
		return l.turn(h, c)
	}
	return true
}

// dismiss discards a message that cannot be delivered, to a loop that has ended or to a connection
// that is gone: who waits for what it would have done is told, and what it gives back is closed.
func (l *Loop) dismiss(m message) {
	switch m.kind {
	case back:
		m.c.abandon((*Conn).free)
	case exited: // the loop has ended: its table does not change any more
		if c := l.fedBy(m.hand); c != nil {
			c.abandon((*Conn).disown)
		}
	case visitAll:
		m.each.finish()
	case wake:
		if m.each != nil {
			m.each.finish()
		}
	case stopListening, dropListeners:
		close(m.ends.done)
	case readWait, askStay:
		m.c.hand.Readable.Send(transport.ErrLost)
	case writeWait, hijack:
		m.c.hand.Writable.Send(transport.ErrLost)
	}
}

// await notes that the feeder waits, and notifies it at once if waiting is pointless.
func (l *Loop) await(c *Conn, k kind) {
	if k == readWait {
		c.flags |= waitRead
	} else {
		c.flags |= waitWrite
	}
	if c.flags&closeNow != 0 {
		l.endWaits(c, transport.ErrLost)
		return
	}
	l.waits(c)
	l.arm(c)
}

// waits ends the feeder's waits whose time is over, and schedules the timer for those that
// continue.
func (l *Loop) waits(c *Conn) {
	next := int64(0)
	if c.flags&waitRead != 0 {
		if passed(&c.deadline, l.now) {
			l.endReadWait(c, transport.ErrDeadline)
		} else {
			next = c.deadline.Load()
		}
	}
	if c.flags&waitWrite != 0 {
		if passed(&c.roomBy, l.now) {
			l.endWriteWait(c, transport.ErrDeadline)
		} else if d := c.roomBy.Load(); next == 0 || d != 0 && d < next {
			next = d
		}
	}
	l.schedule(c, next)
}

// endReadWait ends the feeder's wait for input, endWriteWait that for room, and endWaits
// both, if it waits.
func (l *Loop) endReadWait(c *Conn, err error) {
	c.flags &^= waitRead
	c.hand.Readable.Send(err)
}

func (l *Loop) endWriteWait(c *Conn, err error) {
	c.flags &^= waitWrite
	c.hand.Writable.Send(err)
}

func (l *Loop) endWaits(c *Conn, err error) {
	if c.flags&waitRead != 0 {
		l.endReadWait(c, err)
	}
	if c.flags&waitWrite != 0 {
		l.endWriteWait(c, err)
	}
	l.recall(c)
}

// wake runs a function for a connection, now or when its Feed has returned.
func (l *Loop) wake(h *lead.Hand, c *Conn, m message) bool {
	if c.closed.Load() != open {
		l.dismiss(m)
		return true
	}
	if c.flags&busy != 0 {
		c.later(m)
		l.recall(c)
		return true
	}
	l.begin(h, c)
	return l.end(h, c, nil, 0, m.f(&h.Out))
}

// later stores a message until the connection is no longer busy.
func (c *Conn) later(m message) {
	aside := c.aside()
	aside.came = append(aside.came, m)
}

// keep leaves the message that is being delivered in place: it is delivered again, to the next
// leader if this one loses the lead in foreign code. So it takes no memory, and is not lost.
func (l *Loop) keep(m message) {
	l.at--
	l.batch[l.at] = m
}

// visitNext visits the next connection that is not being fed, and keeps the message for the
// rest.
func (l *Loop) visitNext(h *lead.Hand, m message) bool {
	for ; int(m.at) < len(l.conns) && !m.each.stopped(); m.at++ {
		c := l.conns[m.at]
		if c == nil || c.closed.Load() != open {
			continue
		}
		if c.flags&busy != 0 {
			l.visitLater(c, m.each)
			continue
		}
		m.at++
		m.each.left.Add(1)
		l.keep(m)
		l.begin(h, c)
		return l.end(h, c, nil, 0, m.each.visit(c.session, &h.Out))
	}
	m.each.finish()
	return true
}

// visitLater visits an idle connection whose feeder stays and waits for input, after the
// feeder has returned it.
func (l *Loop) visitLater(c *Conn, e *each) {
	s := c.stay()
	if s == nil || s.called.Load() {
		return
	}
	if l.recall(c); s.feeds.Load() {
		return
	}
	e.left.Add(1)
	c.later(message{kind: wake, c: c, each: e, f: func(out *buf.Queue) error { return e.visit(c.session, out) }})
}

// close is Conn.Close on the loop.
func (l *Loop) close(h *lead.Hand, c *Conn, how transport.Closing) bool {
	l.submit(c)
	fed := c.flags&busy != 0
	switch {
	case how == transport.Reset && fed:
		// The descriptor stays open until the feeder no longer uses it. The session need
		// not be told that the peer has gone from here on.
		c.flags |= closeNow | lost
		c.conclude()
		sys.Reset(int(c.fd))
		l.endWaits(c, transport.ErrLost)
	case how == transport.Reset:
		sys.Reset(int(c.fd))
		return l.drop(h, c, nil)
	case how == transport.Abrupt && fed:
		l.interrupt(c, transport.ErrLost)
	case how == transport.Abrupt:
		return l.cut(h, c)
	case fed:
		c.flags |= closeAfter
		l.recall(c)
	case c.flags&(closing|lingering) == 0:
		return l.finish(h, c)
	}
	return true
}
