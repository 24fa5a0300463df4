package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// deadlineRead wants Read to give up at the deadline, when it waits and when it
// begins.
func deadlineRead(e *env) {
	got := make(chan error, 2)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.SetTimeout(30 * time.Millisecond)
		p := make([]byte, 10)
		for range 2 {
			_, err := s.Read(p, nil)
			got <- err
		}
		s.SetTimeout(0)
		n, err := s.Read(p, nil)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(out, "late: %s", p[:n])
		return len(in), nil
	}})
	c := e.dial()
	c.send("x")
	for range 2 {
		if err := e.receive(got, "Read returns"); !errors.Is(err, transport.ErrDeadline) {
			e.Errorf("Read returns %v, want ErrDeadline", err)
		}
	}
	c.send("y")
	c.want("late: y")
}

// deadlineFlush wants Flush to give up at the deadline.
func deadlineFlush(e *env) {
	got := make(chan error, 1)
	p := pattern(32 << 20)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.SetWriteTimeout(30 * time.Millisecond)
		out.Ref(p)
		err := s.Flush(out, 0, nil)
		if out.Len() != 0 || s.Pending() == 0 {
			e.Errorf("%d and %d bytes are left when the time is over", out.Len(), s.Pending())
		}
		got <- err
		s.Close(transport.Abrupt)
		return len(in), nil
	}})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("x")
	if err := e.receive(got, "Flush returns"); !errors.Is(err, transport.ErrDeadline) {
		e.Errorf("Flush returns %v, want ErrDeadline", err)
	}
	e.wait(e.session(0).gone, "the session is closed")
}

// hijacker takes the connection out of the transport at the first line.
func hijacker(taken chan<- net.Conn) func(*session, []byte, *buf.Queue) (int, error) {
	return func(s *session, in []byte, out *buf.Queue) (int, error) {
		_, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		fmt.Fprint(out, "switching\n")
		s.hijacked.Store(true)
		c, err := s.Hijack(in[n:], out)
		if err != nil {
			s.e.Error(err)
			return n, err
		}
		taken <- c
		return len(in), nil
	}
}

// hijacked waits for a connection that was taken out. Its reads and writes are
// bounded.
func (e *env) hijacked(taken <-chan net.Conn) net.Conn {
	e.Helper()
	select {
	case nc := <-taken:
		if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
			e.Fatal(err)
		}
		return nc
	case <-time.After(patience):
		e.Fatal("no connection comes out")
		return nil
	}
}

func hijackUnread(e *env) { hijackWith(e, "early ") }
func hijackPlain(e *env)  { hijackWith(e, "") }

// hijackWith takes connections out, with bytes that the transport has read
// already, and goes on with them, while others are served.
func hijackWith(e *env, early string) {
	taken := make(chan net.Conn, 1)
	e.start(hooks{feed: hijacker(taken)})
	for i := range 10 {
		c := e.dial()
		c.send("upgrade\n" + early)
		c.want("switching\n")
		nc := e.hijacked(taken)
		if a := nc.RemoteAddr().String(); a != c.LocalAddr().String() {
			e.Errorf("the peer of the hijacked connection is %s, want %s", a, c.LocalAddr())
		}
		c.send("late")
		b := make([]byte, len(early)+len("late"))
		n := 0
		if h, ok := nc.(*transport.Hijacked); ok && i%2 == 0 {
			// What was read before can be had apart.
			n = h.Buffered()
			if _, err := io.ReadFull(nc, b[:n]); err != nil || h.Buffered() != 0 {
				e.Errorf("the hijacked connection reads %q, %v", b[:n], err)
			}
			nc = h.NetConn()
		}
		if _, err := io.ReadFull(nc, b[n:]); err != nil || string(b) != early+"late" {
			e.Errorf("the hijacked connection reads %q, %v", b, err)
		}
		large := bytes.Repeat([]byte("large"), 100<<10)
		go func() {
			if _, err := nc.Write(large); err != nil {
				e.Error(err)
			}
			nc.Close()
		}()
		c.want(string(large))
		c.wantEnd()
		c.Close()
	}
	e.until("the transport counts them off", func() bool { return e.transport.Stats().Open == 0 })
}
