package sockets

import (
	"syscall"

	"github.com/redline-go/redline/internal/sys"
)

// The events of a connection. Hup and Err are reported whether they are watched
// or not.
const (
	In    = sys.In
	Out   = sys.Out
	RdHup = sys.RdHup
	Hup   = sys.Hup
	Err   = sys.Err

	// usual is what an idle connection has watched.
	usual = In | RdHup
)

// A Driver tells a loop what its sockets are ready for. It speaks of readiness,
// level-triggered: what is watched and true is reported, at once or again.
//
// This is what every driver does. What only some can, or need, is a [Receiver], a
// [Batcher], [Requests] or a [Registry]; the loop asks once, when it is created.
//
// All but Receiver.Read belongs to the loop's leader, and is whole whenever it has
// returned: the next call may be another goroutine's.
type Driver interface {
	// Descriptor is readable when there are events; nil ones may come. The loop
	// closes it, after Requests.Close.
	Descriptor() int
	// Fetch looks for events without waiting, and reports whether Next has any.
	Fetch() bool
	// Next returns the next event that Fetch has found. It is taken for good.
	Next() (Event, bool)

	// NewConn returns memory for a connection; the loop fills it in.
	NewConn() *Conn
	// Watch reports the events want of a connection from now on; others may still
	// come. It sets Conn.Watched to what is.
	Watch(c *Conn, want uint32)

	// Listen reports connections that wait to be accepted.
	Listen(ln *Listener) syscall.Errno
	// Hold does not, until Listen is called again.
	Hold(ln *Listener)
	// Accept takes a connection from the backlog. The zero address stands for one
	// that the kernel does not tell.
	Accept(ln *Listener) (fd int, peer sys.Addr, errno syscall.Errno)
}

// A Registry is a driver whose kernel reports some events whether they are watched or
// not, again and again.
type Registry interface {
	// Forget reports nothing of a connection until Watch is called.
	Forget(c *Conn)
}

// A Receiver is a driver to which the kernel gives bytes, not readiness. It keeps
// them. Without one a loop reads from its sockets.
type Receiver interface {
	// Recv reads what has arrived, as recv(2) does.
	Recv(c *Conn, p []byte) (int, syscall.Errno)
	// Read is Recv for the goroutines that feed the connection, while they may not
	// lead. EAGAIN means that the loop is to be asked for In.
	Read(c *Conn, p []byte) (int, syscall.Errno)
	// Direct ends what is under way to receive for a connection that is being fed,
	// and reports whether nothing is. Otherwise Loop.Directed is called when it is
	// so. From then on, until it is not fed any more, Read reads from the socket.
	Direct(c *Conn) bool
	// Unread reports whether something has arrived that nobody has read.
	Unread(c *Conn) bool
	// Early takes what the driver has received and nobody has read, of a connection
	// that is released.
	Early(c *Conn) []byte
}

// A Batcher is a driver that sends the answers of several connections at once. Without
// one a loop sends them one by one.
type Batcher interface {
	// Begin is called before any code of a connection's session. It submits what
	// this connection has in the batch, and all of it when it has waited for long.
	Begin(c *Conn)
	// Send takes b, of MaxBatch bytes at most, to be sent soon, with what others
	// send, and sets Conn.Batched until it is; or it refuses. What the socket does
	// not take comes back by Loop.Unsent.
	Send(c *Conn, b []byte) bool
	// Submit sends all that Send has taken.
	Submit()
}

// Requests are a driver's that go on in the kernel until they have completed, or were
// cancelled: a descriptor, and the driver's memory, are in use for as long.
type Requests interface {
	// Stuck reports that the kernel has refused something for now: Fetch is to be
	// called again soon, events or not.
	Stuck() bool
	// Release ends everything that is under way for a connection, and reports
	// whether nothing is left. Otherwise Loop.Released is called when it is so.
	// Recv and Read still find what had arrived.
	Release(c *Conn) bool
	// Deaf holds a listener, and reports whether nothing is under way any more:
	// Accept then answers for the kernel's backlog. Otherwise there is an event when
	// it is so.
	Deaf(ln *Listener) bool
	// Drop closes what Accept has not taken, before the listener is closed.
	Drop(ln *Listener)
	// Stop ends everything that is under way. Drained reports whether it has.
	Stop()
	Drained() bool
	// Close frees all but Descriptor.
	Close()
}

// An Event is about a connection, or about a listener.
type Event struct {
	Conn     *Conn
	Listener *Listener
	Events   uint32
}

// MaxBatch is how many bytes Send takes at once.
const MaxBatch = 16 << 10

// A NewDriver makes the driver of a loop.
type NewDriver func(l *Loop) (Driver, error)

// FD is the descriptor.
func (c *Conn) FD() int { return int(c.fd) }

// Gen tells apart the connections that had this descriptor. It is never 0.
func (c *Conn) Gen() uint32 { return c.gen }

// Usual reports whether the connection is fed at once with what it receives, by
// the next Recv.
func (c *Conn) Usual() bool { return c.flags == 0 && c.own == 0 && c.more() == nil }

// Busy reports whether the session's code runs, so that only Read is of use.
func (c *Conn) Busy() bool { return c.flags&busy != 0 }

// Released is called by the driver when nothing is under way for a connection any
// more whose Release has said otherwise.
func (l *Loop) Released(c *Conn) {
	c.socket.close()
	if c.flags&leaving != 0 {
		c.flags &^= leaving
		c.hand.Writable.Send(nil)
	}
}

// Unsent is called by the driver, within Submit or Fetch, with what is left of a
// Send. The socket is full, or has failed: who tries again finds out.
func (l *Loop) Unsent(c *Conn, left []byte) {
	m := c.need()
	m.mu.Lock()
	_, _ = m.out.Write(left) // it never fails
	m.mu.Unlock()
	l.owed += len(left)
	c.flags |= unsent
	l.arm(c)
}

// submit sends what the driver has taken to send for a connection, before
// anything else is done with its socket.
func (l *Loop) submit(c *Conn) {
	if c.Batched {
		l.batcher.Submit()
	}
}

// forget has the driver report nothing about a connection any more.
func (l *Loop) forget(c *Conn) {
	if l.registry != nil {
		l.registry.Forget(c)
	}
}

// release closes the descriptor, and tells the feeder if it has hijacked the
// connection, when nothing is under way for it any more.
func (l *Loop) release(c *Conn) {
	if l.requests == nil || l.requests.Release(c) {
		l.Released(c)
	}
}

// Fail ends the loop, and the transport, because of an error.
func (l *Loop) Fail(err error) {
	if l.failure == nil {
		l.failure = err
	}
	l.quitting = true
}

// Failed reports whether Fail was called.
func (l *Loop) Failed() bool { return l.failure != nil }

// Log reports an error that does not end the loop.
func (l *Loop) Log(msg string, err error) { l.t.log(msg, err) }
