package std

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/transport"
)

// A conn is one connection. mu guards all fields below it.
type conn struct {
	t    *Transport
	nc   net.Conn
	raw  syscall.RawConn // of nc; nil if nc is more than a socket
	shut sync.Once       // nc is closed

	kept   []byte // not consumed by Feed; belongs to the runner
	in     []byte // being fed, until it is released; belongs to the runner
	gaveUp []byte // passed to Unread; belongs to the runner

	state *tls.ConnectionState // belongs to the session; nil until it is asked for, and without TLS

	mu       sync.Mutex
	change   sync.Cond
	session  transport.Session // nil until NewSession has returned
	runner   *buf.Queue        // the queue of the goroutine that calls the session, which identifies it
	tasks    []task
	arrived  []byte // read, not yet fed
	readErr  error  // no more input will arrive
	out      buf.Queue
	unsent   int  // bytes in out, and bytes taken from it but not written
	inflight int  // those of unsent that the writer has
	wasted   bool // output was dropped
	writeErr error
	deadline timeout // of SetTimeout
	roomBy   timeout // of SetWriteTimeout

	busy     bool // the session's code runs, or creates it
	turning  bool // a turn is to come
	owed     bool // Drained has to be called when everything is sent
	held     bool // too much is unsent: not fed
	paused   bool
	again    bool // kept is fed again
	later    bool // it will be, when everything is sent
	ended    bool // EOF was called
	lost     bool // Lost was called, or need not be
	telling  bool // Lost has not returned
	closing  bool // to be closed after everything is sent
	now      bool // nothing more is sent or read for the session
	dead     bool // nc is closed, or about to be
	linger   bool // the session has closed with an error
	finished bool // only Closed is still called
	told     bool // Closed was called, or is next
	taking   bool // Hijack makes the reader and the writer end
	hijacked bool
	reading  bool // the reader has not ended
	writing  bool // a writer exists while there is something to write
	why      error
}

func newConn(t *Transport, nc net.Conn) *conn {
	c := &conn{t: t, nc: nc, busy: true}
	c.change.L = &c.mu
	if plain(nc) {
		if raw, err := nc.(syscall.Conn).SyscallConn(); err == nil { // otherwise it is closed, which reading reports
			c.raw = raw
		}
	}
	return c
}

// A task is a function that runs between the session's calls.
type task struct {
	run  func(out *buf.Queue) error
	drop func() // called instead of run; may be nil
}

// Wake implements [transport.Conn].
func (c *conn) Wake(f func(out *buf.Queue) error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.post(task{run: f})
}

// visit is like Wake, but only for connections that are not busy.
func (c *conn) visit(k task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.busy && c.post(k)
}

// post reports whether a task will be run, or dropped. c.mu is held.
func (c *conn) post(k task) bool {
	if c.finished || c.closing || c.now {
		return false
	}
	c.tasks = append(c.tasks, k)
	c.change.Broadcast()
	return true
}

// Turn implements [transport.Looped].
func (c *conn) Turn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turning || c.post(task{run: c.turn})
}

// turn lets the session take a turn.
func (c *conn) turn(out *buf.Queue) error {
	c.mu.Lock()
	c.turning = false
	c.mu.Unlock()
	if s, ok := c.session.(transport.Turner); ok {
		return s.Turn(out)
	}
	return nil
}

// Loop implements [transport.Looped].
func (c *conn) Loop() transport.Loop { return &c.t.loop }

// At implements [transport.Looped].
func (c *conn) At() transport.Turned { return c }

// Detach implements [transport.Conn]. There is nothing to give up.
func (c *conn) Detach() {}

// Detached implements [transport.Conn].
func (c *conn) Detached() bool { return true }

// Watch implements [transport.Conn]: nothing is taken over.
func (c *conn) Watch(*transport.Watch) *transport.Watch { return nil }

// Release implements [transport.Conn].
func (c *conn) Release() { c.in = nil }

// Read implements [transport.Conn].
func (c *conn) Read(p []byte, l sync.Locker) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.await(l); err != nil {
		return 0, err
	}
	if len(c.arrived) > 0 {
		n := copy(p, c.arrived)
		if c.arrived = c.arrived[n:]; len(c.arrived) == 0 {
			c.arrived = nil
			c.change.Broadcast() // the reader continues
		}
		return n, nil
	}
	if c.readErr == io.EOF {
		return 0, io.EOF
	}
	return 0, transport.ErrLost
}

// await waits for input, its end or an error. c.mu is held.
func (c *conn) await(l sync.Locker) error {
	for {
		switch {
		case c.now:
			return transport.ErrLost
		case c.deadline.over():
			return transport.ErrDeadline
		case len(c.arrived) > 0 || c.readErr != nil && !c.telling:
			return nil // the session learns of the end before who reads
		}
		c.wait(l)
	}
}

// wait waits for a change. l, if it is not nil, is unlocked meanwhile. c.mu is held, and is
// always locked after l.
func (c *conn) wait(l sync.Locker) {
	if l == nil {
		c.change.Wait()
		return
	}
	l.Unlock()
	c.change.Wait()
	c.mu.Unlock()
	l.Lock()
	c.mu.Lock()
}

// Unread implements [transport.Conn].
func (c *conn) Unread(p []byte) { c.gaveUp = append(c.gaveUp, p...) }

// Flush implements [transport.Conn].
func (c *conn) Flush(out *buf.Queue, most int, l sync.Locker) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for waited := false; ; waited = true {
		c.send(out)
		switch {
		case c.now && c.writing:
			// The caller may reuse the memory that out refers to when this returns: the
			// writer may still use it, though not for long, because its connection is
			// closed.
		case c.wasted, !waited && (c.writeErr != nil || c.now):
			return transport.ErrLost // not if all was written before the end, which came while it waited
		case c.unsent <= most:
			return nil
		case c.roomBy.over():
			return transport.ErrDeadline
		}
		c.wait(l)
	}
}

// send gives the content of out to the writer. c.mu is held.
func (c *conn) send(out *buf.Queue) {
	if out.Len() == 0 {
		return
	}
	if c.writeErr != nil || c.now {
		out.Reset()
		c.wasted = true
		return
	}
	c.unsent += out.Len()
	c.owed = true
	c.out.Take(out)
	if !c.writing {
		c.writing = true
		temper(c.nc, c.unsent)
		go c.write()
	}
}

// SetTimeout implements [transport.Conn].
func (c *conn) SetTimeout(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline.set(d, c.tick)
}

// SetWriteTimeout implements [transport.Conn].
func (c *conn) SetWriteTimeout(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roomBy.set(d, c.tick)
}

// tick makes all goroutines check the timeouts. A connection whose session is not created
// in time is closed. That also ends a wait during its creation, for example for an address
// that a client has to send.
func (c *conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil && c.deadline.over() && !c.now {
		c.why = transport.ErrDeadline
		c.stop()
	}
	c.change.Broadcast()
}

// Pause implements [transport.Conn].
func (c *conn) Pause(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused && !on {
		c.again = true
	}
	c.paused = on
	c.change.Broadcast() // the reader reads a little ahead
}

// Pending implements [transport.Conn].
func (c *conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsent
}

// SetAckTimeout implements [transport.Acked].
func (c *conn) SetAckTimeout(d time.Duration) { setAckTimeout(c.nc, d) }

// Untaken implements [transport.Conn].
func (c *conn) Untaken() int { return c.Pending() + unacked(c.nc) }

// Hijack implements [transport.Conn].
func (c *conn) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	if err := c.Flush(out, 0, nil); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.take(); err != nil {
		c.taking = false
		if !c.reading && c.readErr == nil {
			c.reading = true
			go c.read()
		}
		return nil, err
	}
	c.hijacked, c.finished = true, true
	c.t.forget(c) // however long its handler uses it
	return transport.NewHijacked(c.nc, append(bytes.Clone(unread), c.arrived...)), nil
}

// take ends the reader and the writer, so that nothing uses nc. c.mu is held.
func (c *conn) take() error {
	c.taking = true
	err := c.nc.SetReadDeadline(clock.Past) // otherwise the reader cannot be stopped
	c.change.Broadcast()
	for err == nil && (c.reading || c.writing) {
		c.change.Wait()
	}
	if c.now {
		return transport.ErrLost
	}
	if err == nil {
		err = c.nc.SetReadDeadline(time.Time{})
	}
	return err
}

// LocalAddr implements [transport.Conn].
func (c *conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// TLS returns the state of a connection of crypto/tls, the same one each time, and nil of any
// other.
func (c *conn) TLS() *tls.ConnectionState {
	if c.state == nil {
		if nc, ok := c.nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
			state := nc.ConnectionState()
			c.state = &state
		}
	}
	return c.state
}

// RemoteAddr implements [transport.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }
