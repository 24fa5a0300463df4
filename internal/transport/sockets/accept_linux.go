package sockets

import (
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// acceptPause is how long a loop does not accept when the system has no free descriptors or
// memory.
const acceptPause = 100 * time.Millisecond

// A listener is a listening socket of a loop.
type Listener struct {
	timer clock.Entry // runs out when accepting is tried again
	fd    int         // -1 after it was closed
	addr  net.Addr
	tcp   bool
	given net.Listener // it has a duplicate of this one's socket, which others have too; nil if the socket is our own
	makes func(transport.Conn) transport.Session
	heard bool // the driver reports its connections
	full  bool // MaxConns connections are open

	// Port is for the driver.
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

// hold stops accepting, until the time until unless it is 0.
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
		if l.t.stopping.Load() {
			return true
		}
	}
	if !ln.heard || l.quitting {
		return true
	}
	l.unblock(ln)
	for range roundAccept {
		more, lead := l.acceptOne(h, ln)
		if !lead || !more {
			return lead
		}
	}
	return true
}

// unblock makes sure that accepting from a listener does not block, in case other holders
// of the socket have made it blocking.
func (l *Loop) unblock(ln *Listener) {
	if ln.given != nil {
		sys.Unblock(ln.fd)
	}
}

// acceptOne takes one connection. more reports that there may be others.
func (l *Loop) acceptOne(h *lead.Hand, ln *Listener) (more, lead bool) {
	if !l.t.enter() {
		// 1. full is announced, 2. the count is read again: a goroutine that closes a
		// connection first counts and then checks full.
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
		l.t.rate.giveBack()
		return l.refused(ln, errno), true
	}
	if ln.tcp && !addr.AddrPort().IsValid() {
		// It left before its address could be read. Code that decides by address whom to
		// serve would take it for a client of a Unix socket.
		sys.Close(fd)
		l.t.left()
		return true, true
	}
	l.counters.accepted.Add(1)
	return true, l.add(h, ln, fd, addr)
}

// refused handles an error of accept(2), and reports whether there may be other
// connections.
func (l *Loop) refused(ln *Listener, errno syscall.Errno) (more bool) {
	switch errno {
	case syscall.EAGAIN:
		return false
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		l.t.log("accept connection", errno)
		l.hold(ln, l.now+int64(acceptPause))
		return false
	case syscall.EINVAL, syscall.EBADF, syscall.ENOTSOCK:
		// Another holder of the socket has shut it down: this is permanent.
		l.closeListener(ln)
		l.t.lose(ln.addr, errno)
		return false
	}
	return true // the connection went away while it waited
}

// lose is called when a listener accepts no more, for a reason outside this process.
func (t *Transport) lose(addr net.Addr, errno syscall.Errno) {
	err := fmt.Errorf("accept on %s: %w", addr, os.NewSyscallError("accept4", errno))
	t.log("listener accepts no more", err)
	t.deafen(err)
}

// deafen makes Serve return err if there are no listeners any more.
func (t *Transport) deafen(err error) {
	if t.listening.Load() > 0 || t.stopping.Load() {
		return
	}
	select {
	case t.deaf <- err:
	default: // one error is enough
	}
}

// add creates a connection for a socket, and a session for it.
func (l *Loop) add(h *lead.Hand, ln *Listener, fd int, peer sys.Addr) bool {
	if l.gen++; l.gen == 0 {
		l.gen++ // 0 is not used
	}
	c := l.driver.NewConn()
	c.loop, c.fd, c.gen, c.peer = l, int32(fd), l.gen, peer
	for len(l.conns) <= fd {
		l.conns = append(l.conns, make([]*Conn, max(64, fd+1-len(l.conns)))...)
	}
	l.conns[fd] = c
	l.count++
	c.flags |= making
	l.begin(h, c)
	c.session = ln.makes(c)
	if s, ok := c.session.(transport.Leaver); ok {
		c.extra.Store(&extra{leaver: &leaver{session: s}})
	}
	return l.end(h, c, nil, 0, nil)
}

// stopListening takes one connection from the backlog, or closes a listening socket whose backlog
// is empty. Its message stays until none is left.
func (l *Loop) stopListening(h *lead.Hand, m message) bool {
	if len(l.listeners) == 0 {
		close(m.ends.done)
		return true
	}
	ln := l.listeners[0]
	if l.requests != nil && !l.requests.Deaf(ln) {
		l.stops = append(l.stops, m)
		return true
	}
	l.unblock(ln)
	l.keep(m)
	more, lead := l.acceptOne(h, ln)
	if lead && !more {
		l.closeListener(ln)
	}
	return lead
}

// dropListeners closes the sockets that duplicate one of a given listener.
func (l *Loop) dropListeners(m message) {
	for _, ln := range slices.Clone(l.listeners) {
		if ln.given != m.ends.of {
			continue
		}
		if l.requests != nil && !l.requests.Deaf(ln) {
			l.stops = append(l.stops, m)
			return
		}
		l.closeListener(ln)
	}
	close(m.ends.done)
}

// closeListener closes a listener, and removes it from the list. It has no effect if that
// has been done before.
func (l *Loop) closeListener(ln *Listener) {
	at := slices.Index(l.listeners, ln)
	if at < 0 {
		return
	}
	l.listeners = slices.Delete(l.listeners, at, at+1)
	l.t.listening.Add(-1)
	l.wheel.Remove(&ln.timer)
	if ln.heard {
		// Other processes may also hold the socket, which then stays open: closing the
		// descriptor does not end everything.
		ln.heard = false
		l.driver.Hold(ln)
	}
	if l.requests != nil {
		l.requests.Drop(ln)
	}
	sys.Close(ln.fd)
	ln.fd = -1
}

func (l *Loop) closeListeners() {
	for len(l.listeners) > 0 {
		l.closeListener(l.listeners[0])
	}
}

// A rate spaces accepted connections, with bursts of at most a tenth of a second's worth.
// It is the generic cell rate algorithm.
type rate struct {
	gap  int64 // minimum nanoseconds between two; 0 is no limit
	next atomicInt64
}

// take counts one connection, or returns how many nanoseconds it is too early.
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

// giveBack reverses the last take, if its connection did not arrive.
func (r *rate) giveBack() {
	if r.gap > 0 {
		r.next.Add(-r.gap)
	}
}

// burst is the time span whose connections may arrive at once.
const burst = int64(100 * time.Millisecond)

// adopt makes a listener of a descriptor, which then belongs to the loop. The loop starts
// to accept when it runs: before that, nothing is asked of the kernel that could concern
// another file if the descriptor is closed meanwhile.
func (l *Loop) adopt(fd int, addr net.Addr, given net.Listener, o transport.ListenOptions) {
	sys.NoDelay(fd)
	l.t.listening.Add(1)
	ln := &Listener{fd: fd, addr: addr, given: given, makes: o.NewSession}
	if ln.makes == nil {
		ln.makes = l.t.config.NewSession
	}
	own, _ := sys.LocalAddr(fd) // a given listener may report any address
	_, ln.tcp = own.(*net.TCPAddr)
	l.listeners = append(l.listeners, ln)
}
