package std

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A conn is one connection. All below mu is shared under it.
type conn struct {
	t       *Transport
	nc      net.Conn
	session transport.Session

	kept   []byte // what Feed has not consumed; the runner's
	in     []byte // what is being fed, until it is released; the runner's
	gaveUp []byte // what Unread was given; the runner's

	mu       sync.Mutex
	change   sync.Cond
	tasks    []task
	arrived  []byte // read, not seen by the session
	readErr  error  // nothing more will arrive
	out      buf.Queue
	unsent   int // bytes in out, and taken from it but not written
	writeErr error
	deadline timeout // of SetTimeout
	roomBy   timeout // of SetWriteTimeout

	busy     bool // the session's code runs
	owed     bool // Drained is to be told when everything is sent
	paused   bool
	again    bool // kept is fed again
	later    bool // it will be, when everything is sent
	ended    bool // EOF was told
	lost     bool // Lost was told, or need not be
	closing  bool // to be closed when everything is sent
	now      bool // to be closed at once
	linger   bool // the session has closed with an error
	finished bool // the session gets no more calls but Closed
	hijacked bool
	reading  bool // the reader has not ended
	writing  bool // there is a writer, for as long as there is something to write
	why      error
}

// A task is a function to be run between the session's calls.
type task struct {
	run  func(out *buf.Queue) error
	drop func() // instead of run; may be nil
}

// Wake implements [transport.Conn].
func (c *conn) Wake(f func(out *buf.Queue) error) bool { return c.post(task{run: f}) }

func (c *conn) post(k task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return false
	}
	c.tasks = append(c.tasks, k)
	c.change.Broadcast()
	return true
}

// Detach implements [transport.Conn]. There is nothing to give up.
func (c *conn) Detach() {}

// Detached implements [transport.Conn].
func (c *conn) Detached() bool { return true }

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
			c.change.Broadcast() // the reader goes on
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
		case len(c.arrived) > 0 || c.readErr != nil:
			return nil
		}
		c.wait(l)
	}
}

// wait waits for a change. l, if it is not nil, is unlocked meanwhile. c.mu is
// held, and always locked after l.
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
	c.send(out)
	return c.awaitRoom(l, most)
}

// awaitRoom waits until little enough is unsent. c.mu is held.
func (c *conn) awaitRoom(l sync.Locker, most int) error {
	for {
		switch {
		case c.writeErr != nil || c.now:
			return transport.ErrLost
		case c.unsent <= most:
			return nil
		case c.roomBy.over():
			// Nobody knows how much of it has left: nothing may follow.
			c.failWrite(transport.ErrDeadline)
			return transport.ErrDeadline
		}
		c.wait(l)
	}
}

// send gives the writer what is in out. c.mu is held.
func (c *conn) send(out *buf.Queue) {
	if c.writeErr != nil || c.now {
		out.Reset()
	}
	if out.Len() == 0 {
		return
	}
	c.unsent += out.Len()
	c.owed = true
	c.out.Take(out)
	if !c.writing {
		c.writing = true
		go c.write()
	}
}

// failWrite notes that nothing can be sent any more. c.mu is held.
func (c *conn) failWrite(err error) {
	if c.writeErr == nil {
		c.writeErr = err
	}
	c.out.Release()
	c.unsent = 0
	_ = c.nc.SetWriteDeadline(time.Unix(1, 0)) // ends the writer's write; if it fails, nothing is connected any more
	c.change.Broadcast()
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

// A timeout is a time, and a timer that tells of it. The zero value is never.
type timeout struct {
	at    time.Time
	timer *time.Timer
}

// set moves the time to when d will have passed; 0 is never.
func (t *timeout) set(d time.Duration, f func()) {
	t.stop()
	if d == 0 {
		return
	}
	t.at = time.Now().Add(d)
	if t.timer == nil {
		t.timer = time.AfterFunc(d, f)
	} else {
		t.timer.Reset(d)
	}
}

func (t *timeout) over() bool { return !t.at.IsZero() && !time.Now().Before(t.at) }

func (t *timeout) stop() {
	t.at = time.Time{}
	if t.timer != nil {
		t.timer.Stop()
	}
}

// tick has everybody look at the timeouts.
func (c *conn) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
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
}

// Untaken implements [transport.Conn].
func (c *conn) Untaken() int { return c.Pending() }

// Pending implements [transport.Conn].
func (c *conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsent
}

// Close implements [transport.Conn].
func (c *conn) Close(how transport.Closing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hijacked {
		return
	}
	c.closing = true
	if how != transport.Orderly {
		c.cut()
	}
	c.change.Broadcast()
}

// cut is stop with a reset. c.mu is held.
func (c *conn) cut() {
	nc := c.nc
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok && over.NetConn() != nil {
		nc = over.NetConn() // TLS's own Close says goodbye: the peer would take it for a good end
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it fails, it is not connected any more
	}
	nc.Close()
	c.stop()
}

// stop closes the connection at once. c.mu is held.
func (c *conn) stop() {
	c.now = true
	c.out.Release()
	c.unsent = 0
	c.nc.Close() // ends the reader and the writer
	c.change.Broadcast()
}

// Hijack implements [transport.Conn].
func (c *conn) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	if err := c.Flush(out, 0, nil); err != nil {
		return nil, err
	}
	unread = append([]byte(nil), unread...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now {
		return nil, transport.ErrLost
	}
	if err := c.nc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil, err // without that its reader cannot be stopped
	}
	// From here on the reader and the writer end, and nobody else uses nc.
	c.hijacked, c.finished = true, true
	c.change.Broadcast()
	for c.reading || c.writing {
		c.change.Wait()
	}
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c.t.forget(c) // however long its handler goes on with it
	return transport.NewHijacked(c.nc, append(unread, c.arrived...)), nil
}

// LocalAddr implements [transport.Conn].
func (c *conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr implements [transport.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }
