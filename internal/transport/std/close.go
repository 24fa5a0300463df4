package std

import (
	"io"
	"net"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/transport"
)

const (
	lingerTime = 5 * time.Second
	blindTime  = time.Second // for a peer that cannot be notified of the end
	lingerSize = 256 << 10
)

// Close implements [transport.Conn].
func (c *conn) Close(how transport.Closing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hijacked {
		return
	}
	c.closing = true
	switch how {
	case transport.Abrupt:
		c.breakOff()
	case transport.Reset:
		c.cut()
	}
	c.change.Broadcast()
}

// quit is the end of sending, and of reading for the session. c.mu is held.
func (c *conn) quit() {
	c.now = true
	c.waste()
	c.change.Broadcast()
}

// waste drops the output that the writer does not have. c.mu is held.
func (c *conn) waste() {
	c.wasted = c.wasted || c.unsent > c.inflight
	c.out.Release()
	c.unsent = 0
}

// breakOff ends the connection for its session; the peer gets what the kernel has. Only a
// plain socket can be shut at once without being closed; other connections are closed. c.mu
// is held.
func (c *conn) breakOff() {
	if c.now {
		return
	}
	c.quit()
	nc := below(c.nc)
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || !plain(nc) || half.CloseWrite() != nil {
		c.sever(nc)
	} else {
		_ = nc.SetWriteDeadline(clock.Past) // ends the writer's write; if it fails, nothing is connected any more
	}
	if c.busy {
		c.tellLost(transport.ErrLost)
	}
}

// cut is stop with a reset. c.mu is held.
func (c *conn) cut() {
	nc := below(c.nc)
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it fails, the socket is no longer connected
	}
	c.quit()
	c.sever(nc)
}

// stop closes the connection at once. c.mu is held.
func (c *conn) stop() {
	c.quit()
	c.sever(below(c.nc))
}

// sever closes the connection underneath all others, nc, which ends the reader and the
// writer, and everything built on nc. TLS's own Close would first send an alert, which may
// take time, and which the peer would take for an orderly end. finish closes the rest. c.mu
// is held.
func (c *conn) sever(nc net.Conn) {
	c.dead = true
	switch {
	case !plain(nc): // foreign code
		go func() {
			if nc != c.nc {
				nc.Close()
			}
			c.hangUp()
		}()
	case nc == c.nc:
		c.hangUp()
	default:
		nc.Close()
	}
}

// hangUp closes the connection, once. Errors of closing do not matter.
func (c *conn) hangUp() { c.shut.Do(func() { c.nc.Close() }) }

// end closes the connection because its transport is closed.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hijacked {
		return
	}
	c.stop()
	if c.busy {
		c.tellLost(transport.ErrStopped)
	}
}

// finish closes the connection, and tells the session.
func (c *conn) finish() {
	c.mu.Lock()
	why := c.why
	if why == nil && c.t.stopped() {
		why = transport.ErrStopped
	}
	linger := !c.dead && why == nil && c.readErr == nil && (c.linger || len(c.kept)+len(c.arrived) > 0)
	shut := c.now // by Abrupt: the peer has been notified
	c.last()
	c.mu.Unlock()
	if linger {
		c.session.Closed(nil)
		c.discard(shut)
	}
	c.hangUp()
	c.mu.Lock()
	c.quit() // for the reader and the writer
	c.mu.Unlock()
	c.t.forget(c)
	if !linger {
		c.session.Closed(why)
	}
}

// last waits until Closed may be called. c.mu is held.
func (c *conn) last() {
	for c.telling {
		c.change.Wait()
	}
	c.told = true
	c.change.Broadcast()
}

// exited is called if the session, or creating it, has ended the runner's goroutine.
func (c *conn) exited() {
	c.mu.Lock()
	c.busy = false
	c.drop()
	if c.hijacked {
		c.mu.Unlock()
		return
	}
	c.cut()
	tell := c.session != nil && !c.told
	c.last()
	c.mu.Unlock()
	c.hangUp()
	c.t.forget(c)
	if tell {
		c.session.Closed(transport.ErrExited)
	}
}

// discard shuts the writing side, and reads and drops further input, so that a reset does
// not overtake the last answer.
func (c *conn) discard(shut bool) {
	nc, most := c.nc, lingerTime
	if half, ok := nc.(interface{ CloseWrite() error }); shut {
		nc = below(nc)
	} else if !ok {
		most = blindTime
	} else if half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(most)
	if nc.SetReadDeadline(end) != nil {
		return
	}
	// In any case the connection is closed next, but immediately only if the peer has
	// closed it, because an answer may still be in transit.
	n, err := io.Copy(io.Discard, io.LimitReader(struct{ io.Reader }{nc}, lingerSize))
	if err == nil && n == lingerSize {
		select {
		case <-time.After(time.Until(end)):
		case <-c.t.stop:
		}
	}
}
