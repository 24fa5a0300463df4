package std

import (
	"io"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	highWater = 64 << 10         // default if Config does not set it
	drainTime = 30 * time.Second // time for sending the rest before closing, unless the session sets it
)

// run is the first runner: it creates the session.
func (c *conn) run(makes func(transport.Conn) transport.Session) {
	var out buf.Queue
	c.runner = &out
	c.serve(&out, func() {
		session := makes(c)
		c.mu.Lock()
		c.session, c.busy = session, false
		if !c.now {
			c.reading = true
			go c.read()
		}
	})
}

// serve is the work of a runner. begin locks c.mu. Then the runner calls the session until
// Closed, or until a Feed has left.
func (c *conn) serve(out *buf.Queue, begin func()) {
	returned := false
	defer func() {
		out.Release()
		if !returned && !c.left(out) {
			c.exited()
		}
	}()
	begin()
	for c.runner == out && !c.hijacked && c.step(out) {
	}
	left := c.runner != out
	if !left {
		c.drop()
	}
	c.mu.Unlock()
	if !left && !c.hijacked {
		c.finish()
	}
	returned = true
}

// left reports whether the Feed of a runner with this queue has left.
func (c *conn) left(out *buf.Queue) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runner != out
}

// Leave implements [transport.Conn]. Another goroutine becomes the runner.
func (c *conn) Leave(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.runner
	if n < len(c.in) {
		c.again = true
	}
	c.keep(n)
	c.busy = false
	c.send(out)
	c.later = len(c.kept) > 0 && c.owed
	next := new(buf.Queue)
	c.runner = next
	go c.serve(next, c.mu.Lock)
}

// keep keeps what Feed has not consumed of its input, and what it has given back. c.mu is
// held.
func (c *conn) keep(n int) {
	if n < len(c.in) {
		c.kept = append(c.in[:0], c.in[n:]...)
	}
	c.in = nil
	if len(c.gaveUp) > 0 {
		c.kept = append(c.kept, c.gaveUp...)
		c.gaveUp, c.again = nil, true
	}
}

// drop releases what nothing will process any more. c.mu is held.
func (c *conn) drop() {
	c.deadline.stop()
	c.roomBy.stop()
	c.finished = true
	c.dropTasks()
}

// dropTasks discards functions that will not be run. c.mu is held.
func (c *conn) dropTasks() {
	for _, k := range c.tasks {
		if k.drop != nil {
			k.drop()
		}
	}
	c.tasks = nil
}

// tellLost calls the session's Lost once. It does not wait for it, because the caller may
// hold what the session needs for it. c.mu is held.
func (c *conn) tellLost(err error) {
	if c.lost || c.session == nil {
		return
	}
	c.lost, c.telling = true, true
	go func() {
		defer func() { // also if the session ends the goroutine
			c.mu.Lock()
			defer c.mu.Unlock()
			c.telling = false
			c.change.Broadcast()
		}()
		c.session.Lost(err)
	}()
}

// step waits for something to do and does it. It reports false when the
// connection is to be closed. c.mu is held.
func (c *conn) step(out *buf.Queue) bool {
	for {
		c.settle()
		readable := !c.paused && !c.held && !c.ended && !c.closing
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
		case c.deadline.over():
			c.expire(out)
			return true
		case c.owed && c.unsent == 0 && !c.closing:
			c.owed = false
			c.call(out, func(*buf.Queue) error { c.session.Drained(); return nil })
			return true
		case len(c.tasks) > 0:
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

// settle applies the consequences of a change. c.mu is held.
func (c *conn) settle() {
	if c.later && c.unsent == 0 {
		c.again, c.later = true, false
	}
	if c.unsent > c.t.high {
		c.held = true
	} else if c.unsent <= c.t.high/2 {
		c.held = false
	}
	if c.readErr != nil && c.paused {
		c.tellLost(lostBy(c.readErr))
	}
	if c.closing {
		c.dropTasks()
		if c.unsent > 0 && c.deadline.never() {
			c.deadline.set(drainTime, c.tick)
		}
	}
}

// expire calls the session's Expired. If the session has closed and the rest is still being
// sent, sending continues unless Expired returns an error. c.mu is held.
func (c *conn) expire(out *buf.Queue) {
	c.deadline.stop()
	closing := c.closing
	if err := c.call(out, c.session.Expired); err != nil && closing && !c.now {
		c.why = transport.ErrDeadline
		c.cut()
	}
}

// call runs code of the session. c.mu is held, but released while the code runs.
func (c *conn) call(out *buf.Queue, f func(out *buf.Queue) error) error {
	c.busy = true
	c.mu.Unlock()
	err := f(out)
	c.mu.Lock()
	if c.runner != out {
		return nil // it has left
	}
	c.busy = false
	if c.hijacked {
		out.Reset()
		return nil
	}
	c.send(out)
	if err != nil {
		c.closing = true
		c.linger = c.linger || err != transport.ErrClosed
	}
	return err
}

// feed gives the session the available input. c.mu is held.
func (c *conn) feed(out *buf.Queue) {
	c.in = append(c.kept, c.arrived...)
	c.kept, c.arrived, c.again = nil, nil, false
	c.change.Broadcast() // the reader continues
	c.call(out, func(out *buf.Queue) error {
		n, err := c.session.Feed(c.in, out)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.runner == out {
			c.keep(n)
		}
		return err
	})
	if c.runner == out {
		// The session may have stopped because output was pending, even if none is pending
		// now.
		c.later = len(c.kept) > 0 && c.owed
	}
}
