package uring

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// A port is a connection with the driver's state for it.
type port struct {
	conn  sockets.Conn // must be first: ports are cast back
	state state
	once  uint8                 // number of further recvs that are for one piece; see recv
	after atomic.Uint32         // what follows early: an errno, or one of the constants below
	early atomic.Pointer[early] // bytes that arrived while they were not wanted; nil if there are none
}

// What follows the early bytes. The last two are larger than all errnos; what is an end remains.
const (
	nothing     = 0       // yet: a recv is in flight
	endOfStream = 1 << 16 // the peer sends no more
	theSocket   = 1 << 17 // no recv is in flight: readers read from the socket
)

// direct makes readers read from the socket, or not, unless there is an end.
func (p *port) direct(on bool) {
	if on {
		p.after.CompareAndSwap(nothing, theSocket)
	} else {
		p.after.CompareAndSwap(theSocket, nothing)
	}
}

// state belongs to the leader.
type state uint8

const (
	receiving state = 1 << iota // the recv is in flight
	ending                      // and being cancelled
	pollIn                      // polls in flight
	pollOut
	pollGone
	queued   // in the driver's list of ready ports
	released // to be released when nothing is in flight

	inFlight = receiving | pollIn | pollOut | pollGone
)

// polls are the states of the polls' kinds.
var polls = [...]state{kindPollIn: pollIn, kindPollOut: pollOut, kindPollGone: pollGone}

// early bytes wait in memory from the pool.
type early struct {
	mu    sync.Mutex
	bytes []byte // nil after all are taken
	at    int    // bytes[:at] are taken
}

func portOf(c *sockets.Conn) *port { return (*port)(unsafe.Pointer(c)) }

// NewConn implements [sockets.Driver].
func (d *driver) NewConn() *sockets.Conn {
	p := &port{once: 1}
	p.direct(true)
	return &p.conn
}

// keep appends to the early bytes.
func (p *port) keep(b []byte) {
	e := p.early.Load()
	if e == nil {
		e = new(early)
		p.early.Store(e)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bytes == nil {
		e.bytes, e.at = buf.Get(len(b)), 0
	}
	e.bytes = append(buf.Grow(e.bytes, len(b)), b...)
}

// take takes early bytes, and reports whether there are more.
func (e *early) take(b []byte) (n int, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n = copy(b, e.bytes[e.at:])
	if e.at += n; e.at < len(e.bytes) {
		return n, true
	}
	buf.Put(e.bytes)
	e.bytes, e.at = nil, 0
	return n, false
}

// has reports whether there are early bytes.
func (p *port) has() bool {
	e := p.early.Load()
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bytes != nil
}

// waiting is the set of events for the early bytes and the end.
func (p *port) waiting() (events uint32) {
	switch p.after.Load() {
	case nothing, theSocket:
	case endOfStream:
		events = sockets.In | sockets.RdHup
	default:
		events = sockets.In | sockets.Hup | sockets.Err
	}
	if p.has() {
		events |= sockets.In
	}
	return events
}

// watched updates the loop's record of what is watched.
func (p *port) watched() {
	w := uint32(0)
	if p.state&receiving != 0 && p.state&ending == 0 {
		// The recv does not report early bytes: the loop has to ask for them.
		if w = sockets.RdHup; !p.has() {
			w |= sockets.In
		}
	}
	if p.state&queued != 0 {
		w |= p.waiting()
	}
	if p.state&pollIn != 0 {
		w |= sockets.In
	}
	if p.state&pollOut != 0 {
		w |= sockets.Out
	}
	if p.state&pollGone != 0 {
		w |= sockets.RdHup
	}
	p.conn.Watched = uint16(w)
}

// Watch implements [sockets.Driver].
func (d *driver) Watch(c *sockets.Conn, want uint32) {
	p := portOf(c)
	if d.stopped || p.state&released != 0 {
		return
	}
	for len(d.ports) <= c.FD() {
		d.ports = append(d.ports, make([]*port, max(64, c.FD()+1-len(d.ports)))...)
	}
	d.ports[c.FD()] = p
	here := p.waiting()
	if here&(want|sockets.Hup|sockets.Err) != 0 && p.state&queued == 0 {
		p.state |= queued
		d.ready = append(d.ready, p)
	}
	if want&sockets.In != 0 && here&sockets.In == 0 {
		switch {
		case p.state&receiving == 0 && (c.Busy() || d.bare):
			d.poll(p, kindPollIn, sockets.In|sockets.RdHup)
		case p.state&receiving == 0:
			d.recv(p)
		case c.Busy():
			d.endRecv(p)
		}
	}
	if want&sockets.Out != 0 {
		d.poll(p, kindPollOut, sockets.Out)
	}
	// A recv in flight notices a reset and the end, but not after unread bytes of its own.
	if p.state&(receiving|queued) == 0 {
		d.poll(p, kindPollGone, want&sockets.RdHup) // Hup and Err are implied
	}
	p.watched()
}

// earlyMost is the total number of bytes that a multishot recv accepts: as many may wait
// for a connection that is not being fed, in addition to what is in the kernel.
const earlyMost = 64 << 10

// bulk is how many recvs of a connection are for one piece, after a goroutine has read from
// its socket.
const bulk = 8

// recv starts the recv: multishot, except for a connection that is new, has recently sent a
// lot, or has sent input that was not wanted. In these cases a large body or a flood may
// follow, which the kernel would put into the ring's buffers before the handler asks for a
// byte. The kernel continues until the loop looks, which may be megabytes: so all recvs are
// for one piece if the kernel does not support a limit.
func (d *driver) recv(p *port) {
	p.direct(false)
	if p.early.Load() != nil {
		p.once = bulk
		p.early.Store(nil)
	}
	p.state |= receiving
	e := sys.SQE{
		Op: sys.OpRecv, FD: int32(p.conn.FD()), Flags: sys.SQESelectBuffer,
		Group: bufferGroup, Data: data(kindRecv, p.conn.FD(), p.conn.Gen()),
	}
	if p.once > 0 {
		p.once--
	} else if d.limits {
		e.Ioprio, e.Limit = sys.RecvMultishot, earlyMost
	}
	d.start(&e)
}

// endRecv ends it. What it has received until then is still delivered.
func (d *driver) endRecv(p *port) {
	if p.state&(receiving|ending) == receiving {
		p.state |= ending
		d.cancel(data(kindRecv, p.conn.FD(), p.conn.Gen()), 0)
	}
}

// poll waits for one of some events, unless it already does.
func (d *driver) poll(p *port, k kind, events uint32) {
	if p.state&polls[k] == 0 {
		p.state |= polls[k]
		d.start(&sys.SQE{Op: sys.OpPollAdd, FD: int32(p.conn.FD()), Arg: sys.PollArg(events), Data: data(k, p.conn.FD(), p.conn.Gen())})
	}
}

// Recv implements [sockets.Receiver]. If a whole buffer of the ring has arrived, more is
// probably in the socket: it is read at once, and the next recvs are for one piece, so that
// this is possible again.
func (d *driver) Recv(c *sockets.Conn, b []byte) (int, syscall.Errno) {
	p := portOf(c)
	n, errno := 0, syscall.Errno(0)
	if d.piece != nil {
		if n = copy(b, d.piece); n < len(d.piece) {
			p.keep(d.piece[n:])
		}
		d.piece = nil
		d.buffers.Recycle(d.bid)
	} else if p.early.Load() == nil {
		return d.Read(c, b)
	} else {
		n, errno = d.Read(c, b)
	}
	switch {
	case n <= 0:
	case p.has():
		if p.state&(queued|released) == 0 {
			p.state |= queued
			d.ready = append(d.ready, p)
		}
	case n >= bufferSize:
		p.once = bulk
		if n < len(b) && p.after.Load() == theSocket {
			n += d.rest(p, b[n:])
		}
	}
	return n, errno
}

// rest reads what is in the socket. The end and errors are kept for the next Recv.
func (d *driver) rest(p *port, b []byte) int {
	n, errno := sys.Recv(p.conn.FD(), b)
	switch {
	case n > 0:
		return n
	case errno == 0:
		p.after.Store(endOfStream)
	case errno != syscall.EAGAIN && errno != syscall.EINTR:
		p.after.Store(uint32(errno))
	}
	return 0
}

// Read implements [sockets.Receiver]. The order of its steps is described in the package
// comment.
func (d *driver) Read(c *sockets.Conn, b []byte) (int, syscall.Errno) {
	p := portOf(c)
	after := p.after.Load()
	if e := p.early.Load(); e != nil {
		if n, _ := e.take(b); n > 0 {
			return n, 0
		}
	}
	switch after {
	case nothing:
		return 0, syscall.EAGAIN
	case endOfStream:
		return 0, 0
	case theSocket:
		p.once = bulk
		return sys.Recv(c.FD(), b)
	}
	return 0, syscall.Errno(after)
}

// Direct implements [sockets.Receiver].
func (d *driver) Direct(c *sockets.Conn) bool {
	p := portOf(c)
	if p.state&receiving == 0 {
		return true
	}
	d.endRecv(p)
	return false
}

// Unread implements [sockets.Receiver].
func (d *driver) Unread(c *sockets.Conn) bool { return portOf(c).has() || sys.Unread(c.FD()) > 0 }

// Early implements [sockets.Receiver].
func (d *driver) Early(c *sockets.Conn) []byte {
	e := portOf(c).early.Load()
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]byte(nil), e.bytes[e.at:]...)
}

// Release implements [sockets.Requests]. Requests are cancelled by their data, which are
// unique: a descriptor number might belong to another connection by the time the kernel
// looks.
func (d *driver) Release(c *sockets.Conn) bool {
	p := portOf(c)
	p.state |= released
	if p.state&inFlight == 0 || d.failed {
		// A failed ring holds the file until it is closed, not the number.
		if c.FD() < len(d.ports) && d.ports[c.FD()] == p {
			d.ports[c.FD()] = nil
		}
		return true
	}
	d.endRecv(p)
	for _, k := range [...]kind{kindPollIn, kindPollOut, kindPollGone} {
		if p.state&polls[k] != 0 {
			d.cancel(data(k, c.FD(), c.Gen()), 0)
		}
	}
	return false
}
