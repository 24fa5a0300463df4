package sockets

import (
	"syscall"

	"github.com/redline-go/redline/internal/sys"
)

// The events of a connection. Hup and Err are always reported, watched or not.
const (
	In    = sys.In
	Out   = sys.Out
	RdHup = sys.RdHup
	Hup   = sys.Hup
	Err   = sys.Err

	// usual is the set of events that an idle connection watches.
	usual = In | RdHup
)

// A Driver tells a loop what its sockets are ready for. It reports readiness,
// level-triggered: a watched event is reported, possibly repeatedly, while it is true.
//
// Every driver implements this interface. Features that only some have, or need, are a
// [Receiver], a [Batcher], [Requests] or a [Registry]; the loop looks them up once, when it
// is created.
//
// All methods except Receiver.Read belong to the loop's leader. The driver is consistent
// whenever a method has returned: another goroutine may make the next call.
type Driver interface {
	// Descriptor is readable when there are events; events may be nil. The loop closes it,
	// after Requests.Close.
	Descriptor() int
	// Fetch looks for events without waiting, and reports whether Next has any.
	Fetch() bool
	// Next returns the next event that Fetch has found, and removes it.
	Next() (Event, bool)

	// NewConn returns memory for a connection; the loop fills it in.
	NewConn() *Conn
	// Watch makes the driver report the events want of a connection from now on; others may
	// still be reported. It updates Conn.Watched.
	Watch(c *Conn, want uint32)

	// Listen reports connections that wait to be accepted.
	Listen(ln *Listener) syscall.Errno
	// Hold stops that, until Listen is called again.
	Hold(ln *Listener)
	// Accept takes a connection from the backlog. The zero address represents a peer whose
	// address the kernel does not report.
	Accept(ln *Listener) (fd int, peer sys.Addr, errno syscall.Errno)
}

// A Registry is a driver whose kernel repeatedly reports some events, watched or not.
type Registry interface {
	// Forget stops all reports about a connection until Watch is called.
	Forget(c *Conn)
}

// A Receiver is a driver to which the kernel delivers bytes, not readiness. The driver
// stores them. Without a Receiver, a loop reads from its sockets.
type Receiver interface {
	// Recv reads what has arrived, as recv(2) does.
	Recv(c *Conn, p []byte) (int, syscall.Errno)
	// Read is Recv for the goroutines that feed the connection, which may not lead. EAGAIN
	// means that the loop has to be asked for In.
	Read(c *Conn, p []byte) (int, syscall.Errno)
	// Direct ends pending receives for a connection that is being fed, and reports whether
	// none is left. Otherwise Loop.Directed is called when that is the case. From then on,
	// until the connection is no longer being fed, Read reads from the socket.
	Direct(c *Conn) bool
	// Unread reports whether unread input has arrived.
	Unread(c *Conn) bool
	// Early takes the input that the driver has received and that has not been read, for a
	// connection that is released.
	Early(c *Conn) []byte
}

// A Batcher is a driver that sends the answers of several connections at once. Without a
// Batcher, a loop sends them one by one.
type Batcher interface {
	// Begin is called before any code of a connection's session. It submits the part of the
	// batch that belongs to this connection, and the whole batch if it has waited for long.
	Begin(c *Conn)
	// Send takes b, at most MaxBatch bytes, to be sent soon together with the output of
	// others, and sets Conn.Batched until it is sent; or it refuses. What the socket does
	// not accept is returned by Loop.Unsent.
	Send(c *Conn, b []byte) bool
	// Submit sends everything that Send has taken.
	Submit()
}

// Requests is implemented by a driver whose operations run in the kernel until they have
// completed or were cancelled: until then a descriptor and the driver's memory are in use.
type Requests interface {
	// Stuck reports that the kernel has refused something temporarily: Fetch has to be
	// called again soon, with or without events.
	Stuck() bool
	// Release ends all pending operations of a connection, and reports whether none is
	// left. Otherwise Loop.Released is called when that is the case. Recv and Read still
	// return input that had arrived.
	Release(c *Conn) bool
	// Deaf holds a listener, and reports whether no operation is pending any more: Accept
	// then reflects the kernel's backlog. Otherwise there is an event when that is the
	// case.
	Deaf(ln *Listener) bool
	// Drop closes connections that Accept has not taken, before the listener is closed.
	Drop(ln *Listener)
	// Stop ends all pending operations. Drained reports whether they have ended.
	Stop()
	Drained() bool
	// Close frees everything except Descriptor.
	Close()
}

// An Event is about a connection, or about a listener.
type Event struct {
	Conn     *Conn
	Listener *Listener
	Events   uint32
}

// MaxBatch is the maximum number of bytes that Send takes at once.
const MaxBatch = 16 << 10

// A NewDriver creates the driver of a loop.
type NewDriver func(l *Loop) (Driver, error)

// FD is the descriptor.
func (c *Conn) FD() int { return int(c.fd) }

// Gen distinguishes the connections that had this descriptor. It is never 0.
func (c *Conn) Gen() uint32 { return c.gen }

// Usual reports whether the connection is fed at once with the result of the next Recv.
func (c *Conn) Usual() bool { return c.flags == 0 && c.own == 0 && c.more() == nil }

// Busy reports whether the session's code runs, so that only Read is useful.
func (c *Conn) Busy() bool { return c.flags&busy != 0 }

// Released is called by the driver when nothing is pending any more for a connection for
// which Release reported otherwise.
func (l *Loop) Released(c *Conn) {
	c.socket.close()
	if c.flags&leaving != 0 {
		c.flags &^= leaving
		c.hand.Writable.Send(nil)
	}
}

// Unsent is called by the driver, within Submit or Fetch, with the remainder of a Send. The
// socket is full, or has failed: the next attempt to send finds out.
func (l *Loop) Unsent(c *Conn, left []byte) {
	m := c.need()
	m.mu.Lock()
	_, _ = m.out.Write(left) // never fails
	m.mu.Unlock()
	l.owed += len(left)
	c.flags |= unsent
	l.arm(c)
}

// submit sends what the driver has taken for a connection, before anything else is done
// with its socket.
func (l *Loop) submit(c *Conn) {
	if c.Batched {
		l.batcher.Submit()
	}
}

// forget makes the driver report nothing more about a connection.
func (l *Loop) forget(c *Conn) {
	if l.registry != nil {
		l.registry.Forget(c)
	}
}

// release closes the descriptor, and notifies the feeder if it has hijacked the connection,
// when nothing is pending for it any more.
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
