package epoll

import (
	"syscall"

	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// roundEvents is how many events are fetched at once.
const roundEvents = 128

// A Transport uses epoll to learn what its sockets are ready for.
type Transport = sockets.Transport

// New returns a transport on epoll without listeners. Close frees what it holds, even if it
// never served.
func New(config transport.Config) (*Transport, error) {
	return sockets.New(config, func(l *sockets.Loop) (sockets.Driver, error) {
		poll, err := sys.NewEpoll()
		if err != nil {
			return nil, err
		}
		return &driver{loop: l, poll: poll}, nil
	})
}

// CheckCPUs returns an error that names the CPUs that the process may not use.
func CheckCPUs(cpus []int) error { return sys.CheckCPUs(cpus) }

// A driver is one epoll instance. Unread input waits in the kernel, no operations are
// pending there, and closing a descriptor ends everything. So it is a [sockets.Registry],
// and nothing else.
type driver struct {
	loop   *sockets.Loop
	poll   sys.Epoll
	events [roundEvents]sys.Event
	n, at  int // events[at:n] are not handled yet
}

// NewConn implements [sockets.Driver], as do the methods that follow.
func (d *driver) NewConn() *sockets.Conn { return new(sockets.Conn) }

func (d *driver) Descriptor() int { return int(d.poll) }

func (d *driver) Fetch() bool {
	if d.at < d.n {
		return true // a leader has been deposed
	}
	n, errno := d.poll.Wait(d.events[:])
	if errno != 0 {
		n = 0 // EINTR: the next round asks again
	}
	d.n, d.at = n, 0
	return n > 0
}

func (d *driver) Next() (sockets.Event, bool) {
	for d.at < d.n {
		e := &d.events[d.at]
		d.at++
		if e.Gen() == 0 {
			if ln := d.loop.Listener(int(e.Fd)); ln != nil {
				return sockets.Event{Listener: ln}, true
			}
		} else if c := d.loop.Conn(e.Fd, e.Gen()); c != nil {
			return sockets.Event{Conn: c, Events: e.Events}, true
		}
		// The event concerns something that is gone.
	}
	return sockets.Event{}, false
}

func (d *driver) Watch(c *sockets.Conn, want uint32) {
	known := c.Watched != 0
	c.Watched = uint16(want | sys.Hup | sys.Err)
	if known {
		if errno := d.poll.Mod(c.FD(), want, c.Gen()); errno != 0 {
			d.loop.Log("change interest in a connection", errno)
		}
		return
	}
	if errno := d.poll.Add(c.FD(), want, c.Gen()); errno != 0 {
		d.loop.Log("register connection", errno)
		c.Close(transport.Reset)
	}
}

// Forget implements [sockets.Registry]. It unregisters the connection: otherwise Hup and
// Err would be reported again and again.
func (d *driver) Forget(c *sockets.Conn) {
	if c.Watched != 0 {
		c.Watched = 0
		d.poll.Del(c.FD()) // it was registered, so this cannot fail
	}
}

func (d *driver) Listen(ln *sockets.Listener) syscall.Errno {
	return d.poll.Add(ln.FD(), sys.In|sys.Exclusive, 0)
}

func (d *driver) Hold(ln *sockets.Listener) { d.poll.Del(ln.FD()) } // it is registered, so this cannot fail

func (d *driver) Accept(ln *sockets.Listener) (int, sys.Addr, syscall.Errno) {
	return sys.Accept(ln.FD())
}
