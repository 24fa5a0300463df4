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

// A conn is one connection. It is small, as most of them are idle; what only a
// few need is in more.
type Conn struct {
	timer     clock.Entry // first: the wheel's entries are cast back
	loop      *Loop
	session   transport.Session // nil when it has been told Closed
	hand      *lead.Hand        // who runs the session's code; nil when nobody does
	side      atomic.Pointer[more]
	meanwhile *meanwhile
	local     atomic.Pointer[net.Addr] // its own, of one that was hijacked
	deadline  atomic.Int64             // on the clock's scale; 0 is never
	roomBy    atomic.Int64             // the same, for waits for room
	socket
	peer   sys.Addr
	gen    uint32 // tells apart the connections that had this descriptor
	closed atomic.Uint32
	flags  flags
	fedAt  uint16 // when a Feed last returned off the loop, in ticks; the feeder's
	own    own

	// Batched says that the driver has something to send. It is the driver's.
	Batched bool

	// Watched is the set of events that the driver reports, with Hup and Err if its
	// kernel does so until it is told to forget the connection. It is the driver's.
	Watched uint16
}

// meanwhile is what the leader keeps of a connection that is being fed: nil for most.
type meanwhile struct {
	came []message // for when it is not busy any more
	stay *stay     // that the feeder has asked for, until it gives the connection back
}

func (c *Conn) aside() *meanwhile {
	if c.meanwhile == nil {
		c.meanwhile = new(meanwhile)
	}
	return c.meanwhile
}

// stay is how the feeder keeps the connection, nil if it does not.
func (c *Conn) stay() *stay {
	if c.meanwhile == nil {
		return nil
	}
	return c.meanwhile.stay
}

// came reports whether messages wait until the connection is not busy any more.
func (c *Conn) came() bool { return c.meanwhile != nil && len(c.meanwhile.came) > 0 }

// flags are the leader's.
type flags uint16

const (
	busy       flags = 1 << iota // the session's code runs: own and more.rest are the feeder's
	ended                        // the session has been told EOF
	lost                         // the session has been told Lost, or need not be
	waitRead                     // the feeder waits for input
	waitWrite                    // the feeder waits for room
	unsent                       // more.out may have bytes that the loop is to send
	held                         // too much unsent: not read
	closing                      // to be closed when everything is sent
	lingering                    // what still comes is read and dropped
	closeAfter                   // Close was called while busy
	closeNow                     // the same, and not in good order
	again                        // the session gets its rest again when everything is sent
	due                          // a feedRest is on its way
	making                       // session is not there yet
	leaving                      // hijacked, and not released by the driver yet
	asks                         // the feeder waits to be told that it may stay
)

// own are the flags of the feeder.
type own uint8

const (
	paused     own = 1 << iota
	resumed        // Resume or Unread was called: the session gets its rest again
	hijacked       // the connection has left the transport
	broken         // a write has failed
	linger         // the session has closed with an error
	awaits         // somebody waits for input
	awaitsRoom     // somebody waits for room
	lagged         // a Flush of this Feed has left something, which may be sent by now
)

// The values of closed.
const (
	open     = iota
	finished // the session gets no more calls but Expired and Closed
	dead     // it is not the transport's any more
)

// more is what a connection needs while it is not simply idle or served.
type more struct {
	mu      sync.Mutex
	out     buf.Queue // accepted for sending, not taken by the kernel yet; under mu
	rest    []byte    // what Feed has not consumed
	unread  []byte    // what it has given back
	dropped int       // bytes, while lingering
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

// trim lets go of more if nothing is in it. Nobody may be feeding.
func (c *Conn) trim() {
	m := c.more()
	if m == nil || m.rest != nil || m.unread != nil || m.out.Len() > 0 {
		return
	}
	c.side.Store(nil)
	m.out.Release()
	mores.Put(m)
}

// rest is what the session has not consumed.
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

// detach is Detach by who will not wait for long: for the client.
func (c *Conn) detach() {
	if h := c.hand; h.Detach() {
		unpin(h)
	}
}

// Detached implements [transport.Conn].
func (c *Conn) Detached() bool { return c.hand != nil && !c.hand.Leading() }

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

// retime tells the loop that the deadline of a wait has been changed. Otherwise it
// looks when it has to. A loop that has ended has ended the wait.
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

func (m *more) pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Len()
}

// Close implements [transport.Conn].
func (c *Conn) Close(how transport.Closing) {
	if c.closed.Load() != dead {
		c.loop.put(message{kind: closeConn, c: c, how: how}) // a loop that has ended has closed it
	}
}

// RemoteAddr implements [transport.Conn].
func (c *Conn) RemoteAddr() net.Addr { return c.peer.Net() }

// LocalAddr implements [transport.Conn]. Of one that is closed it is an address that
// the transport listens on.
func (c *Conn) LocalAddr() net.Addr {
	if fd, ok := c.hold(); ok {
		defer c.letGo(fd)
		if a, errno := sys.LocalAddr(fd); errno == 0 {
			return a
		}
	} else if a := c.local.Load(); a != nil {
		return *a
	}
	return c.loop.t.addr()
}
