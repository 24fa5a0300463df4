package std

import (
	"io"
	"net"
	"os"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	readSize  = 16 << 10
	waitSize  = 4 << 10  // of a buffer that waits for bytes
	writeSize = 64 << 10 // written at once
	anySize   = 16 << 10 // the same, for a connection that is more than a socket
	aheadSize = 4 << 10  // read ahead of a session that is not fed: the end of the stream may follow
)

// read is the reader: one read ahead of the session, and a little more while that is busy or
// paused, so that the end of the stream is noticed behind a few bytes.
func (c *conn) read() {
	c.mu.Lock()
	for c.readErr == nil && !c.now && !c.taking && !c.finished {
		if n := len(c.arrived); n >= aheadSize || n > 0 && !c.busy && !c.paused {
			c.change.Wait()
			continue
		}
		c.mu.Unlock()
		p, err := receive(c.nc, c.raw)
		c.mu.Lock()
		if len(p) > 0 {
			c.t.bytesIn.Add(uint64(len(p)))
			if c.arrived == nil {
				c.arrived = p
			} else {
				c.arrived = append(c.arrived, p...)
			}
		}
		if err != nil && !c.taking {
			c.readErr = err
			if c.busy && !c.now {
				c.tellLost(lostBy(err))
			}
		}
		c.change.Broadcast()
	}
	c.reading = false
	c.change.Broadcast()
	c.mu.Unlock()
}

// lostBy converts an error of the reader to the error passed to Lost.
func lostBy(err error) error {
	if err == io.EOF {
		return err
	}
	return transport.ErrLost
}

// failWrite notes that nothing can be sent any more. A running Feed is notified. c.mu is
// held.
func (c *conn) failWrite(err error) {
	c.writeErr = err
	c.waste()
	if c.busy {
		c.tellLost(transport.ErrLost)
	}
	c.change.Broadcast()
}

// write is the writer. It ends when everything is written.
func (c *conn) write() {
	var q buf.Queue
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		c.wasted = c.wasted || q.Len() > 0
		q.Release()
		c.writing = false
		c.change.Broadcast()
	}()
	for c.out.Len() > 0 && !c.now && c.writeErr == nil {
		q.Take(&c.out)
		for q.Len() > 0 {
			c.inflight = q.Len()
			c.mu.Unlock()
			n, err := c.writeSome(&q)
			c.t.bytesOut.Add(uint64(n))
			c.mu.Lock()
			c.inflight = q.Len()
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
	} else {
		n, err = send(c.nc, c.raw, q.First())
	}
	q.Discard(n)
	return n, err
}

// plain reports whether a connection is nothing but its socket. Other connections may
// transform the bytes, whatever methods they have: they are used only through Read and
// Write.
func plain(nc net.Conn) bool {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// below returns the connection underneath those that have a NetConn method, like those of
// crypto/tls: nc itself if there is none.
func below(nc net.Conn) net.Conn {
	for {
		over, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		under := over.NetConn()
		if under == nil {
			return nc
		}
		nc = under
	}
}

// receiveAny waits for bytes of any connection, with a buffer allocated.
func receiveAny(nc net.Conn) ([]byte, error) {
	p := make([]byte, waitSize)
	n, err := nc.Read(p)
	return p[:n], err
}

// sendAny writes the beginning of p to any connection: only a little, because how much of
// it has left is unknown until all of it has.
func sendAny(nc net.Conn, p []byte) (int, error) { return nc.Write(p[:min(len(p), anySize)]) }

// copyFile sends from a file by reading it.
func copyFile(nc net.Conn, f *os.File, off int64, n int) (int, error) {
	sent, err := io.Copy(nc, io.NewSectionReader(f, off, int64(min(n, anySize))))
	return int(sent), err
}
