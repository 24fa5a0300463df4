package sockets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

// errShortFile closes a connection whose file ended before its range did.
var errShortFile = errors.New("redline: file is shorter than the range to be sent")

// A vector is scratch for the buffers of one call.
type vector [sys.MaxVector][]byte

var vectors = sync.Pool{New: func() any { return new(vector) }}

// transmit sends what is in q until it is empty (0) or the socket is full
// (EAGAIN).
func transmit(fd int, q *buf.Queue) (sent int, err error) {
	vec := vectors.Get().(*vector)
	defer func() {
		clear(vec[:])
		vectors.Put(vec)
	}()
	for q.Len() > 0 {
		n, want, errno := 0, 0, syscall.Errno(0)
		if bufs := q.Buffers(vec[:0:sys.MaxVector]); len(bufs) == 0 {
			n, want, err = transmitFile(fd, q)
			if err != nil && !errors.As(err, &errno) {
				return sent, err
			}
		} else {
			for _, b := range bufs {
				want += len(b)
			}
			more := want < q.Len()
			if len(bufs) == 1 {
				n, errno = sys.Send(fd, bufs[0], more)
			} else {
				n, errno = sys.SendVector(fd, bufs, more)
			}
		}
		q.Discard(n)
		sent += n
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return sent, errno
		case n < want:
			return sent, syscall.EAGAIN // the socket has accepted what it could
		}
	}
	return sent, nil
}

// transmitFile sends from the file that is first in q. want is n, or more if the socket is
// full.
func transmitFile(fd int, q *buf.Queue) (n, want int, err error) {
	f, off, size := q.NextFile()
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var errno syscall.Errno
	if err := rc.Control(func(file uintptr) { n, errno = sys.SendFile(fd, int(file), off, size) }); err != nil {
		return 0, 0, err
	}
	if errno != 0 {
		return 0, 0, errno
	}
	if n == 0 {
		return 0, 0, errShortFile
	}
	return n, n, nil
}

// push sends out after what the connection still has to send, as far as the socket accepts
// it. The rest is then stored in the connection. It returns the number of remaining bytes.
// out may be nil.
func (c *Conn) push(out *buf.Queue, h *lead.Hand) (left int, err error) {
	m := c.more()
	if m == nil {
		// Nothing is left from before: nothing else sends, so no lock is needed.
		if out == nil || out.Len() == 0 {
			return 0, nil
		}
		if left, err = c.pushFirst(out, h); left == 0 || err != nil {
			return left, err
		}
		m = c.need()
		m.mu.Lock()
		m.out.Take(out)
		m.mu.Unlock()
		return left, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if out != nil {
		if m.out.Len() == 0 {
			c.temper(out.Len())
		}
		m.out.Take(out)
	}
	if err := m.send(c, h); err != nil && err != syscall.EAGAIN {
		m.out.Release()
		return 0, err
	}
	return m.out.Len(), nil
}

// send sends m.out as far as the socket accepts it. m.mu is held.
func (m *more) send(c *Conn, h *lead.Hand) error {
	n, err := transmit(int(c.fd), &m.out)
	h.Sent += n
	if m.out.Len() == 0 {
		m.out.Release()
	}
	return err
}

// temper is called before n bytes are sent, when nothing is left from before.
func (c *Conn) temper(n int) {
	if n >= sys.TemperFrom {
		sys.Temper(int(c.fd))
	}
}

// pushFirst sends out and leaves in it what the socket does not accept.
func (c *Conn) pushFirst(out *buf.Queue, h *lead.Hand) (left int, err error) {
	c.temper(out.Len())
	if b := out.First(); len(b) == out.Len() {
		// The common case: one answer, one call.
		n, errno := sys.Send(int(c.fd), b, false)
		if errno == 0 || errno == syscall.EAGAIN {
			h.Sent += n
			out.Discard(n)
			return out.Len(), nil
		}
	}
	n, err := transmit(int(c.fd), out)
	h.Sent += n
	if err != nil && err != syscall.EAGAIN {
		out.Reset()
		return 0, err
	}
	return out.Len(), nil
}

// Flush implements [transport.Conn].
func (c *Conn) Flush(out *buf.Queue, most int, l sync.Locker) error {
	for {
		left, err := c.pushHeld(out)
		if err != nil {
			return err
		}
		out.Release() // sending in pieces may take long
		if left == 0 {
			return nil
		}
		if left > most {
			if err = c.wait(writeWait, l); err == nil {
				continue // others may have left something in out
			}
		}
		if err == transport.ErrLost {
			c.lose(out)
			return err
		}
		// The loop sends the rest, even if Feed takes long.
		c.own |= lagged
		c.loop.put(message{kind: sendRest, c: c})
		return err
	}
}

// pushHeld is push for the goroutines of a Feed. Its error is ErrLost.
func (c *Conn) pushHeld(out *buf.Queue) (left int, err error) {
	fd, ok := c.hold()
	if ok && c.own&broken == 0 && c.closed.Load() != severed {
		left, err = c.push(out, c.hand)
	} else {
		err = transport.ErrLost
	}
	if ok {
		c.letGo(fd)
	}
	if err != nil || left > 0 && c.closed.Load() == dead {
		c.lose(out)
		return 0, transport.ErrLost
	}
	return left, nil
}

// lose drops pending output: the peer is gone.
func (c *Conn) lose(out *buf.Queue) {
	c.own |= broken
	out.Reset()
	if m := c.more(); m != nil {
		m.mu.Lock()
		m.out.Release()
		m.mu.Unlock()
	}
}

// wait makes the loop wait for input or for room. lock, if it is not nil, is unlocked
// meanwhile.
func (c *Conn) wait(k kind, lock sync.Locker) error {
	signal, deadline, flag := &c.hand.Readable, &c.deadline, awaits
	if k == writeWait {
		signal, deadline, flag = &c.hand.Writable, &c.roomBy, awaitsRoom
	}
	c.detach()
	if passed(deadline, clock.Nano()) {
		return transport.ErrDeadline
	}
	signal.Prepare()
	c.loop.put(message{kind: k, c: c})
	if lock == nil {
		return signal.Wait()
	}
	c.own |= flag
	lock.Unlock()
	err := signal.Wait()
	lock.Lock()
	c.own &^= flag
	return err
}

// Read implements [transport.Conn].
func (c *Conn) Read(p []byte, l sync.Locker) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if passed(&c.deadline, clock.Nano()) {
		return 0, transport.ErrDeadline
	}
	for {
		n, errno := c.receive(p)
		switch errno {
		case 0:
			if n == 0 {
				return 0, io.EOF
			}
			c.hand.Read += n
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			if err := c.wait(readWait, l); err != nil {
				return 0, err
			}
		default:
			return 0, transport.ErrLost
		}
	}
}

// receive reads what has arrived, for the goroutines of a Feed.
func (c *Conn) receive(p []byte) (int, syscall.Errno) {
	if c.closed.Load() > severed { // a severed one is told by the loop, before its wait ends
		return 0, syscall.ENOTCONN
	}
	fd, ok := c.hold()
	if !ok {
		return 0, syscall.ENOTCONN
	}
	defer c.letGo(fd)
	if r := c.loop.receiver; r != nil {
		return r.Read(c, p)
	}
	return sys.Recv(fd, p)
}

// Hijack implements [transport.Conn].
func (c *Conn) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	if err := c.Flush(out, 0, nil); err != nil {
		return nil, err
	}
	// Steps that can fail come first: the loop still knows the connection.
	fd, ok := c.hold()
	if !ok {
		return nil, transport.ErrLost
	}
	nc, err := sys.Conn(fd)
	c.letGo(fd)
	if err != nil {
		return nil, fmt.Errorf("hijack connection: %w", err)
	}
	c.extra.Store(&extra{leaver: c.leaver(), local: nc.LocalAddr()})
	c.detach()
	if s, ok := c.hand.Local.(*stay); ok {
		s.leave() // the descriptor of nc has to be the last one
	}
	c.hand.Writable.Prepare()
	c.loop.put(message{kind: hijack, c: c})
	if err = c.hand.Writable.Wait(); err != nil {
		nc.Close() // the error does not matter: the connection is lost
		return nil, err
	}
	// The loop no longer knows the connection, and has closed its descriptor.
	c.own |= hijacked
	unread = bytes.Clone(unread)
	if r := c.loop.receiver; r != nil {
		// What the driver had received comes after that.
		unread = append(unread, r.Early(c)...)
	}
	return transport.NewHijacked(nc, unread), nil
}
