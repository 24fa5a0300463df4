package sockets

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// A Conn is one connection. It is small, because most connections are idle; state that only
// a few need is in more.
type Conn struct {
	timer     clock.Entry // must be first: the wheel's entries are cast back
	loop      *Loop
	session   transport.Session // nil after Closed was called
	hand      *lead.Hand        // runs the session's code; nil if none does
	side      atomic.Pointer[more]
	meanwhile *meanwhile
	extra     atomic.Pointer[extra] // only for a leaver, and for a hijacked connection
	deadline  atomic.Int64          // on the clock's scale; 0 is never
	roomBy    atomic.Int64          // the same, for waits for room
	socket
	peer   sys.Addr
	gen    uint32 // distinguishes the connections that had this descriptor
	closed atomic.Uint32
	flags  flags
	fedAt  uint16 // when a Feed last returned off the loop, in ticks; belongs to the feeder
	own    own

	// Batched means that the driver has something to send. It belongs to the driver.
	Batched bool

	// Watched is the set of events that the driver reports, including Hup and Err if its
	// kernel reports them until it is told to forget the connection.
	Watched uint16
}

// meanwhile is what the leader stores for a connection that is being fed: nil for most.
type meanwhile struct {
	came []message // to be handled when it is no longer busy
	stay *stay     // requested by the feeder, until it returns the connection
}

// extra is what only a few connections need at all. It does not change, but may be replaced.
type extra struct {
	leaver *leaver  // nil if the session is none
	local  net.Addr // of a hijacked connection
}

// leaver returns what the connection has for a session that is a leaver, nil otherwise.
func (c *Conn) leaver() *leaver {
	if e := c.extra.Load(); e != nil {
		return e.leaver
	}
	return nil
}

func (c *Conn) aside() *meanwhile {
	if c.meanwhile == nil {
		c.meanwhile = new(meanwhile)
	}
	return c.meanwhile
}

// stay returns how the feeder keeps the connection, nil if it does not.
func (c *Conn) stay() *stay {
	if c.meanwhile == nil {
		return nil
	}
	return c.meanwhile.stay
}

// came reports whether messages wait until the connection is no longer busy.
func (c *Conn) came() bool { return c.meanwhile != nil && len(c.meanwhile.came) > 0 }

// flags belong to the leader.
type flags uint16

const (
	busy       flags = 1 << iota // the session's code runs: own and more.rest belong to the feeder
	ended                        // the session has been told EOF
	lost                         // the session has been told Lost, or need not be
	waitRead                     // the feeder waits for input
	waitWrite                    // the feeder waits for room
	unsent                       // more.out may have bytes that the loop has to send
	held                         // too much unsent output: not read
	closing                      // to be closed after everything is sent
	lingering                    // further input is read and dropped
	closeAfter                   // Close was called while busy
	closeNow                     // the same, but not in order
	again                        // the session is fed its rest again when everything is sent
	due                          // a feedRest is pending
	making                       // the session does not exist yet
	leaving                      // hijacked, and not yet released by the driver
	asks                         // the feeder waits for permission to stay
)

// own are the flags that belong to the feeder.
type own uint8

const (
	paused     own = 1 << iota
	resumed        // Resume or Unread was called: the session is fed its rest again
	hijacked       // the connection has left the transport
	broken         // a write has failed
	linger         // the session has closed with an error
	awaits         // a goroutine waits for input
	awaitsRoom     // a goroutine waits for room
	lagged         // a Flush of this Feed has left output, which may be sent by now
)

// The values of closed.
const (
	open     = iota
	severed  // the same after Close(Abrupt), which a Feed that runs may have called: it sends nothing more
	finished // only Expired and Closed are still called
	dead     // no longer belongs to the transport
)

// more is what a connection needs while it is neither simply idle nor served.
type more struct {
	mu      sync.Mutex
	out     buf.Queue // accepted for sending, not yet by the kernel; under mu
	rest    []byte    // not consumed by Feed
	unread  []byte    // returned by Unread
	dropped int       // bytes dropped while lingering
}

var mores = sync.Pool{New: func() any { return new(more) }}

// more returns the connection's more, nil if it has none.
func (c *Conn) more() *more { return c.side.Load() }

// need returns the connection's more, which the feeder may create.
func (c *Conn) need() *more {
	m := c.more()
	if m == nil {
		m = mores.Get().(*more)
		c.side.Store(m)
	}
	return m
}

// trim releases more if it is empty. The connection must not be being fed.
func (c *Conn) trim() {
	m := c.more()
	if m == nil || m.rest != nil || m.unread != nil || m.out.Len() > 0 {
		return
	}
	c.side.Store(nil)
	m.out.Release()
	mores.Put(m)
}

// rest is the input that the session has not consumed.
func (c *Conn) rest() []byte {
	if m := c.more(); m != nil {
		return m.rest
	}
	return nil
}

// keep stores what remains of in after n bytes were consumed. in is either the
// kept rest itself, or a hand's scratch.
func (c *Conn) keep(in []byte, n int) {
	kept := c.rest()
	switch {
	case len(in) == 0: // it was not fed
	case kept != nil && n == len(in):
		c.more().rest = nil
		buf.Put(kept)
	case kept != nil:
		c.more().rest = kept[:copy(kept, in[n:])]
	case n < len(in):
		c.need().rest = append(buf.Get(len(in)-n), in[n:]...)
	}
	if m := c.more(); m != nil && m.unread != nil {
		m.rest = append(buf.Grow(m.rest, len(m.unread)), m.unread...)
		m.unread = nil
		c.own |= resumed
	}
}

// Wake implements [transport.Conn].
func (c *Conn) Wake(f func(out *buf.Queue) error) bool {
	return c.closed.Load() == open && c.loop.put(message{kind: wake, c: c, f: f})
}

// Detach implements [transport.Conn].
func (c *Conn) Detach() {
	if h := c.hand; h != nil {
		h.Waits = true
		c.detach()
	}
}

// detach is Detach for a short wait: for the client.
func (c *Conn) detach() {
	if h := c.hand; h.Detach() {
		unpin(h)
	}
}

// Detached implements [transport.Conn].
func (c *Conn) Detached() bool {
	if v := c.leaver(); v != nil {
		return !c.loop.role.Within(v.call.Load()) // the connection may be gone
	}
	return c.hand != nil && !c.hand.Leading()
}

// Watch implements [transport.Conn].
func (c *Conn) Watch(w *transport.Watch) *transport.Watch { return c.hand.Watch(w) }

// Release implements [transport.Conn].
func (c *Conn) Release() {
	if m := c.more(); m != nil && m.rest != nil {
		buf.Put(m.rest)
		m.rest = nil
	}
	c.hand.Release()
}

// Unread implements [transport.Conn].
func (c *Conn) Unread(p []byte) {
	if len(p) > 0 {
		m := c.need()
		m.unread = append(m.unread, p...)
	}
}

// SetTimeout implements [transport.Conn].
func (c *Conn) SetTimeout(d time.Duration) {
	c.deadline.Store(after(d))
	if c.own&awaits != 0 {
		c.retime()
	}
}

// SetWriteTimeout implements [transport.Conn].
func (c *Conn) SetWriteTimeout(d time.Duration) {
	c.roomBy.Store(after(d))
	if c.own&awaitsRoom != 0 {
		c.retime()
	}
}

// after is the deadline for a timeout.
func after(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return clock.After(d)
}

// retime tells the loop that the deadline of a wait has changed. Otherwise the loop checks
// at the old deadline.
func (c *Conn) retime() { c.loop.put(message{kind: retime, c: c}) }

// passed reports whether a deadline has passed.
func passed(deadline *atomic.Int64, now int64) bool {
	d := deadline.Load()
	return d != 0 && d <= now
}

// Pause implements [transport.Conn].
func (c *Conn) Pause(on bool) {
	if on {
		c.own |= paused
	} else if c.own&paused != 0 {
		c.own = c.own&^paused | resumed
	}
}

// Pending implements [transport.Conn].
func (c *Conn) Pending() int {
	if m := c.more(); m != nil {
		return m.pending()
	}
	return 0
}

// Untaken implements [transport.Conn].
func (c *Conn) Untaken() int {
	n := c.Pending()
	if fd, ok := c.hold(); ok {
		n += sys.Untaken(fd)
		c.letGo(fd)
	}
	return n
}

// SetAckTimeout implements [transport.Acked].
func (c *Conn) SetAckTimeout(d time.Duration) {
	if fd, ok := c.hold(); ok {
		sys.SetAckTimeout(fd, d)
		c.letGo(fd)
	}
}

func (m *more) pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Len()
}

// Close implements [transport.Conn].
func (c *Conn) Close(how transport.Closing) {
	if how == transport.Abrupt {
		c.closed.CompareAndSwap(open, severed)
	}
	if c.closed.Load() != dead {
		c.loop.put(message{kind: closeConn, c: c, how: how}) // a loop that has ended has closed it
	}
}

// RemoteAddr implements [transport.Conn].
func (c *Conn) RemoteAddr() net.Addr { return c.peer.Net() }

// LocalAddr implements [transport.Conn]. For a closed connection it returns an address on
// which the transport listens.
func (c *Conn) LocalAddr() net.Addr {
	if fd, ok := c.hold(); ok {
		defer c.letGo(fd)
		if a, errno := sys.LocalAddr(fd); errno == 0 {
			return a
		}
	} else if e := c.extra.Load(); e != nil && e.local != nil {
		return e.local
	}
	return c.loop.t.addr()
}
