package std

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	readSize   = 16 << 10
	waitSize   = 4 << 10   // of a buffer that waits for bytes
	writeSize  = 64 << 10  // written at once, so that Pending is not far off
	highWater  = 256 << 10 // bytes unsent from which a connection is not fed
	lingerTime = time.Second
	lingerSize = 256 << 10
)

// read is the reader: one read ahead of the session.
func (c *conn) read() {
	for {
		p, err := receive(c.nc)
		c.mu.Lock()
		if len(p) > 0 {
			c.t.bytesIn.Add(uint64(len(p)))
			c.arrived = p
		}
		if err != nil && !c.hijacked {
			c.readErr = err
			if c.busy && !c.now {
				c.tellLost(err)
			}
		}
		c.change.Broadcast()
		for len(c.arrived) > 0 && !c.now && !c.hijacked && !c.finished {
			c.change.Wait()
		}
		if err != nil || c.now || c.hijacked || c.finished {
			c.reading = false
			c.change.Broadcast()
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// tellLost calls the session's Lost, once. c.mu is held.
func (c *conn) tellLost(err error) {
	if c.lost {
		return
	}
	c.lost = true
	if err != io.EOF && !errors.Is(err, transport.ErrStopped) {
		err = transport.ErrLost
	}
	c.mu.Unlock()
	c.session.Lost(err)
	c.mu.Lock()
}

// write is the writer. It ends when everything is written.
func (c *conn) write() {
	var q buf.Queue
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		q.Release()
		c.writing = false
		c.change.Broadcast()
	}()
	for c.out.Len() > 0 && !c.now && c.writeErr == nil {
		q.Take(&c.out)
		for q.Len() > 0 {
			c.mu.Unlock()
			n, err := c.writeSome(&q)
			c.t.bytesOut.Add(uint64(n))
			c.mu.Lock()
			if c.now || c.writeErr != nil {
				return
			}
			if c.unsent -= n; err != nil {
				c.failWrite(err)
				return
			}
			c.change.Broadcast()
		}
		q.Release()
	}
}

// writeSome writes the beginning of a queue.
func (c *conn) writeSome(q *buf.Queue) (n int, err error) {
	if f, off, size := q.NextFile(); f != nil {
		n, err = sendFile(c.nc, f, off, min(size, writeSize))
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF // the file is shorter than its range
		}
		q.Discard(n)
		return n, err
	}
	b := q.First()
	n, err = c.nc.Write(b[:min(len(b), writeSize)])
	q.Discard(n)
	return n, err
}

// plain reports whether a connection is nothing but its socket. Others may do with
// the bytes what they like, whatever else they offer: all goes through their Read
// and Write.
func plain(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// receiveAny waits for bytes of any connection, with a buffer in hand.
func receiveAny(nc net.Conn) ([]byte, error) {
	p := make([]byte, waitSize)
	n, err := nc.Read(p)
	return p[:n], err
}

// copyFile sends from a file by reading it.
func copyFile(nc net.Conn, f *os.File, off int64, n int) (int, error) {
	sent, err := io.Copy(nc, io.NewSectionReader(f, off, int64(n)))
	return int(sent), err
}

// run is the runner: it calls the session, from its first call to Closed.
func (c *conn) run() {
	var out buf.Queue
	returned := false
	defer func() {
		out.Release()
		if !returned {
			c.exited()
		}
	}()
	c.mu.Lock()
	for !c.hijacked && c.step(&out) {
	}
	c.drop()
	c.mu.Unlock()
	if !c.hijacked {
		c.finish()
	}
	returned = true
}

// drop lets go of what nobody will see to any more. c.mu is held.
func (c *conn) drop() {
	c.deadline.stop()
	c.roomBy.stop()
	c.finished = true
	for _, k := range c.tasks {
		if k.drop != nil {
			k.drop()
		}
	}
	c.tasks = nil
}

// exited is called when the session has ended the runner's goroutine.
func (c *conn) exited() {
	c.mu.Lock()
	closed := c.finished && !c.hijacked // it was the session's Closed
	c.busy = false
	c.drop()
	if !c.hijacked {
		c.cut()
	}
	c.mu.Unlock()
	if !closed && !c.hijacked {
		c.t.forget(c)
		c.session.Closed(transport.ErrExited)
	}
}

// step waits for something to do and does it. It reports false when the
// connection is to be closed. c.mu is held.
func (c *conn) step(out *buf.Queue) bool {
	for {
		if c.later && c.unsent == 0 {
			c.again, c.later = true, false
		}
		held := c.unsent > highWater
		readable := !c.paused && !held && !c.ended && !c.closing
		if c.readErr != nil && c.paused {
			c.tellLost(c.readErr)
		}
		switch {
		case c.now:
			return false
		case c.writeErr != nil:
			c.why = transport.ErrLost
			return false
		case c.closing && c.unsent == 0:
			return false
		case c.readErr != nil && c.readErr != io.EOF && len(c.arrived) == 0:
			// A reset: nothing can be sent either.
			c.why = transport.ErrLost
			return false
		case c.deadline.over() && c.closing:
			c.why = transport.ErrDeadline
			return false
		case c.deadline.over():
			c.deadline.stop()
			c.call(out, c.session.Expired)
			return true
		case c.owed && c.unsent == 0 && !c.closing:
			c.owed = false
			c.call(out, func(*buf.Queue) error { c.session.Drained(); return nil })
			return true
		case len(c.tasks) > 0 && !c.closing:
			k := c.tasks[0]
			c.tasks = c.tasks[1:]
			c.call(out, k.run)
			return true
		case readable && (len(c.arrived) > 0 || c.again && len(c.kept) > 0):
			c.feed(out)
			return true
		case readable && c.readErr != nil:
			c.ended, c.lost = true, true
			rest := c.kept
			c.call(out, func(out *buf.Queue) error { return c.session.EOF(rest, out) })
			return true
		}
		c.change.Wait()
	}
}

// call runs code of the session. c.mu is held, but not meanwhile.
func (c *conn) call(out *buf.Queue, f func(out *buf.Queue) error) {
	c.busy = true
	c.mu.Unlock()
	err := f(out)
	c.mu.Lock()
	c.busy = false
	if c.hijacked {
		out.Reset()
		return
	}
	c.send(out)
	if err != nil {
		c.closing = true
		c.linger = c.linger || err != transport.ErrClosed
	}
}

// feed gives the session what there is. c.mu is held.
func (c *conn) feed(out *buf.Queue) {
	c.in = append(c.kept, c.arrived...)
	c.kept, c.arrived, c.again = nil, nil, false
	c.change.Broadcast() // the reader goes on
	c.call(out, func(out *buf.Queue) error {
		n, err := c.session.Feed(c.in, out)
		if n < len(c.in) {
			c.kept = append(c.in[:0], c.in[n:]...)
		}
		c.in = nil
		if len(c.gaveUp) > 0 {
			c.kept = append(c.kept, c.gaveUp...)
			c.gaveUp = nil
			c.mu.Lock()
			c.again = true
			c.mu.Unlock()
		}
		return err
	})
	c.later = len(c.kept) > 0 && c.unsent > 0 // the session may have stopped because of it
}

// finish closes the connection, and tells the session.
func (c *conn) finish() {
	c.mu.Lock()
	linger := !c.now && c.why == nil && !c.ended && (c.linger || len(c.kept)+len(c.arrived) > 0)
	c.change.Broadcast()
	c.mu.Unlock()
	why := c.why
	if why == nil && c.t.stopped() {
		why = transport.ErrStopped
	}
	if linger {
		c.discard()
	}
	if !plain(c.nc) {
		c.nc.Close() // which may take its time, to say goodbye
	}
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.t.forget(c)
	c.session.Closed(why)
}

// discard shuts the writing side, and reads and drops what still comes, so that
// the last answer is not overtaken by a reset.
func (c *conn) discard() {
	half, ok := c.nc.(interface{ CloseWrite() error }) // who cannot is not told, and closed late
	if ok && half.CloseWrite() != nil || c.nc.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	// Whatever ends it, the connection is closed next: but at once only if the peer
	// has closed it, for there may be an answer on its way.
	n, err := io.Copy(io.Discard, io.LimitReader(struct{ io.Reader }{c.nc}, lingerSize))
	if err == nil && n == lingerSize {
		select {
		case <-time.After(lingerTime):
		case <-c.t.stop:
		}
	}
}
