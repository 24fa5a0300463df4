package tlsio

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// readSize is how much ciphertext is received at once for a session that reads.
const readSize = 32 << 10

// A Conn is the inner session's interface to its connection. It implements
// [transport.Conn].
type Conn Session

var (
	_ transport.Looped = (*Conn)(nil)
	_ transport.Acked  = (*Conn)(nil)
	_ transport.Turner = (*Session)(nil)
)

// TLS returns the state of the connection, which is the same one each time. Only the
// session's goroutines may call it.
func (c *Conn) TLS() *tls.ConnectionState {
	if c.state == nil {
		state := c.tls.ConnectionState()
		c.state = &state
	}
	return c.state
}

// Detach implements transport.Conn.
func (c *Conn) Detach() {
	c.w.out.Trim()
	c.conn.Detach()
}

// Detached implements transport.Conn.
func (c *Conn) Detached() bool { return c.conn.Detached() }

// Watch implements transport.Conn.
func (c *Conn) Watch(w *transport.Watch) *transport.Watch { return c.conn.Watch(w) }

// Release implements transport.Conn.
func (c *Conn) Release() {
	if c.fed != nil {
		buf.Put(c.fed)
		c.fed = nil
	}
	(*Session)(c).release()
}

// release returns the input of the current Feed: crypto/tls has read all of it.
func (s *Session) release() {
	if !s.released {
		s.released = true
		s.conn.Release()
	}
}

// Read implements transport.Conn.
func (c *Conn) Read(p []byte, l sync.Locker) (int, error) {
	s := (*Session)(c)
	for len(p) > 0 {
		if s.failed != nil {
			return 0, transport.ErrLost
		}
		if s.ended {
			return 0, io.EOF
		}
		if s.more || len(s.wire.in) > 0 {
			n, err := s.read(p)
			if n > 0 {
				return n, nil
			}
			if err == nil || err == errDry || s.ended || s.failed != nil {
				continue
			}
			return 0, err
		}
		if err := s.receiveMore(l); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// receiveMore waits for ciphertext.
func (s *Session) receiveMore(l sync.Locker) error {
	s.release() // what is left of a Feed is its token, which Unread replaces
	own := buf.Get(readSize)
	n, err := s.conn.Read(own[:readSize], l)
	if err != nil {
		buf.Put(own)
		return err
	}
	s.wire.own = own[:n]
	s.wire.in = s.wire.own
	return nil
}

// Unread implements transport.Conn.
func (c *Conn) Unread(p []byte) { c.unread = append(c.unread, p...) }

// Flush implements transport.Conn.
func (c *Conn) Flush(out *buf.Queue, most int, l sync.Locker) error {
	s := (*Session)(c)
	for {
		s.encrypt(out)
		if s.failed != nil {
			s.drop()
			out.Reset()
			return transport.ErrLost
		}
		left, high := s.behind(), s.cfg.waiting()
		target := most
		if left > 0 {
			target = max(high/2, most-left)
		}
		if err := s.conn.Flush(s.wire.out, target, l); err != nil {
			if err == transport.ErrLost {
				s.drop()
				out.Reset()
			}
			return err
		}
		// Others may have added output meanwhile.
		pending := s.conn.Pending()
		if left = s.behind() + out.Len(); left == 0 && pending <= most {
			out.Trim() // the caller may block for long
			return nil
		}
		if left+pending <= most && pending >= high {
			s.schedule()
			return nil
		}
	}
}

// Hijack implements transport.Conn. The connection is a [*tls.Conn], or delivers first what
// had been decrypted.
func (c *Conn) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	s := (*Session)(c)
	if err := c.Flush(out, 0, nil); err != nil {
		return nil, err
	}
	nc, err := s.conn.Hijack(nil, s.wire.out)
	if err != nil {
		return nil, err
	}
	s.hijacked = true
	s.wire.nc, s.wire.out = nc, nil
	return transport.NewHijacked(s.tls, bytes.Clone(unread)), nil
}

// Wake implements transport.Conn.
func (c *Conn) Wake(f func(out *buf.Queue) error) bool {
	s := (*Session)(c)
	return s.conn.Wake(func(out *buf.Queue) error {
		if s.closing != nil {
			return nil
		}
		s.begin(out)
		defer s.end()
		return s.result(f(&s.w.out))
	})
}

// Turn implements transport.Looped.
func (c *Conn) Turn() bool { return c.conn.(transport.Looped).Turn() }

// Loop implements transport.Looped.
func (c *Conn) Loop() transport.Loop { return c.conn.(transport.Looped).Loop() }

// At implements transport.Looped.
func (c *Conn) At() transport.Turned { return c.conn.(transport.Looped).At() }

// SetTimeout implements transport.Conn.
func (c *Conn) SetTimeout(d time.Duration) {
	c.timed = d != 0
	c.conn.SetTimeout(d)
}

// SetWriteTimeout implements transport.Conn.
func (c *Conn) SetWriteTimeout(d time.Duration) { c.conn.SetWriteTimeout(d) }

// Pause implements transport.Conn.
func (c *Conn) Pause(on bool) {
	c.paused = on
	c.conn.Pause(c.paused || c.held)
}

// Pending implements transport.Conn.
func (c *Conn) Pending() int { return (*Session)(c).behind() + c.conn.Pending() }

// Untaken implements transport.Conn.
func (c *Conn) Untaken() int { return (*Session)(c).behind() + c.conn.Untaken() }

// SetAckTimeout implements transport.Acked.
func (c *Conn) SetAckTimeout(d time.Duration) {
	if under, ok := c.conn.(transport.Acked); ok {
		under.SetAckTimeout(d)
	}
}

// Close implements transport.Conn. An orderly close sends close_notify.
func (c *Conn) Close(how transport.Closing) {
	if how != transport.Orderly {
		c.conn.Close(how)
		return
	}
	c.Wake(func(*buf.Queue) error { return transport.ErrClosed })
}

// LocalAddr implements transport.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr implements transport.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }
