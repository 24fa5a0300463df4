package sockets

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// acceptPause is how long a loop does not accept when the system has no
// descriptors or memory left.
const acceptPause = 100 * time.Millisecond

// A listener is a listening socket of a loop.
type Listener struct {
	timer clock.Entry // accepting is tried again
	fd    int
	addr  net.Addr
	heard bool // the driver reports its connections
	full  bool // MaxConns connections are open

	// Port is the driver's.
	Port any
}

// FD is the descriptor.
func (ln *Listener) FD() int { return ln.fd }

// listenerOf returns the listener of a timer, nil if it is a connection's.
func (l *Loop) listenerOf(e *clock.Entry) *Listener {
	for _, ln := range l.listeners {
		if e == &ln.timer {
			return ln
		}
	}
	return nil
}

// listen has the driver report a listener's connections.
func (l *Loop) listen(ln *Listener) {
	if ln.heard {
		return
	}
	if errno := l.driver.Listen(ln); errno != 0 {
		l.t.log("register listener", errno)
		l.wheel.Add(&ln.timer, l.now+int64(acceptPause), l.now)
		return
	}
	ln.heard = true
}

// hold stops accepting, until the time until if it is not 0.
func (l *Loop) hold(ln *Listener, until int64) {
	if ln.heard {
		ln.heard = false
		l.driver.Hold(ln)
	}
	l.counters.stopped.Add(1)
	if until > 0 {
		l.wheel.Add(&ln.timer, until, l.now)
	}
}

// resumeAccept accepts again after a connection has been closed.
func (l *Loop) resumeAccept() {
	for _, ln := range l.listeners {
		if ln.full {
			ln.full = false
			l.listen(ln)
		}
	}
}

// accept takes connections from the backlog of a listener.
func (l *Loop) accept(h *lead.Hand, ln *Listener) bool {
	if len(l.stops) > 0 {
		l.batch = append(l.batch, l.stops...)
		l.stops = l.stops[:0]
		return true
	}
	if !ln.heard || l.quitting {
		return true
	}
	for range roundAccept {
		more, lead := l.acceptOne(h, ln)
		if !lead || !more {
			return lead
		}
	}
	return true
}

// acceptOne takes one connection. more says that there may be others.
func (l *Loop) acceptOne(h *lead.Hand, ln *Listener) (more, lead bool) {
	if !l.t.enter() {
		// 1. full is announced, 2. the count is read again: whoever closes a
		// connection counts first and looks for full then.
		ln.full = true
		l.t.full.Store(true)
		if !l.t.enter() {
			l.hold(ln, 0)
			return false, true
		}
		ln.full = false
	}
	if wait := l.t.rate.take(l.now); wait > 0 {
		l.t.left()
		l.hold(ln, l.now+wait)
		return false, true
	}
	fd, addr, errno := l.driver.Accept(ln)
	if errno != 0 {
		l.t.left()
		switch errno {
		case syscall.EAGAIN:
			return false, true
		case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
			l.t.refusals.Log(l.t.config.Log, time.Now(), "accept connection", errno)
			l.hold(ln, l.now+int64(acceptPause))
			return false, true
		}
		return true, true // the connection went away while it waited
	}
	l.counters.accepted.Add(1)
	return true, l.add(h, fd, addr)
}

// add makes a connection of a socket, and a session for it.
func (l *Loop) add(h *lead.Hand, fd int, peer sys.Addr) bool {
	if l.gen++; l.gen == 0 {
		l.gen++ // 0 is none
	}
	c := l.driver.NewConn()
	c.loop, c.fd, c.gen, c.peer = l, int32(fd), l.gen, peer
	for len(l.conns) <= fd {
		l.conns = append(l.conns, make([]*Conn, max(64, fd+1-len(l.conns)))...)
	}
	l.conns[fd] = c
	l.count++
	l.begin(h, c)
	c.session = l.t.config.NewSession(c)
	return l.end(h, c, nil, 0, nil)
}

// stopListening closes the listening sockets when their backlog is empty.
func (l *Loop) stopListening(h *lead.Hand, m message) bool {
	for len(l.listeners) > 0 {
		ln := l.listeners[0]
		if !l.driver.Deaf(ln) {
			l.stops = append(l.stops, m)
			return true
		}
		more, lead := l.acceptOne(h, ln)
		if !lead {
			// The next leader starts over.
			l.put(m)
			return false
		}
		if !more {
			l.closeListener(ln)
			l.listeners = l.listeners[1:]
		}
	}
	close(m.done)
	return true
}

func (l *Loop) closeListener(ln *Listener) {
	l.wheel.Remove(&ln.timer)
	if ln.heard {
		// The socket may be somebody else's too, and stay open: closing the
		// descriptor does not end everything.
		ln.heard = false
		l.driver.Hold(ln)
	}
	l.driver.Drop(ln)
	sys.Close(ln.fd)
}

// A rate spaces accepted connections out: at most a tenth of a second's worth of
// them at once. It is the generic cell rate algorithm.
type rate struct {
	gap  int64 // nanoseconds between two; 0 is no limit
	next atomicInt64
}

// take counts one connection, or returns how long it is too early, in
// nanoseconds.
func (r *rate) take(now int64) (wait int64) {
	if r.gap == 0 {
		return 0
	}
	for {
		next := r.next.Load()
		due := max(next, now-burst) + r.gap
		if due > now+r.gap {
			return due - r.gap - now
		}
		if r.next.CompareAndSwap(next, due) {
			return 0
		}
	}
}

// burst is the time whose connections may come at once.
const burst = int64(100 * time.Millisecond)

// adopt makes listeners for a loop, of descriptors that become the loop's.
func (l *Loop) adopt(fd int, addr net.Addr) error {
	sys.NoDelay(fd)
	ln := &Listener{fd: fd, addr: addr}
	l.listeners = append(l.listeners, ln)
	if l.listen(ln); !ln.heard {
		return fmt.Errorf("listen on %s: %w", addr, transport.ErrStopped)
	}
	return nil
}
