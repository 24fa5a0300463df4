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

// deadlineFlush wants Flush to give up at the deadline, and what is pending to stay so:
// the wait goes on afterwards, or the session returns and the loop sends it.
func deadlineFlush(e *env) {
	got := make(chan error, 2)
	p := pattern(duplexSize)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		if in[0] != 'x' {
			return echo(s, in, out)
		}
		s.SetWriteTimeout(30 * time.Millisecond)
		out.Ref(p)
		for range 2 {
			err := s.Flush(out, 0, nil)
			if out.Len() != 0 || s.Pending() == 0 {
				e.Errorf("%d bytes are in the queue and %d pending after a deadline", out.Len(), s.Pending())
			}
			got <- err
		}
		s.SetWriteTimeout(0)
		fmt.Fprint(out, "more")
		if in[1] == 'r' {
			return len(in), nil
		}
		err := s.Flush(out, 0, nil)
		if n := s.Pending(); err != nil || n != 0 {
			e.Errorf("Flush returns %v when it continues, with %d bytes pending", err, n)
		}
		return len(in), err
	}})
	for _, how := range []string{"xreturn\n", "xwait\n"} {
		c := e.dialWith(&net.Dialer{Control: small})
		c.send(how)
		for range 2 {
			if err := e.receive(got, "Flush returns"); !errors.Is(err, transport.ErrDeadline) {
				e.Errorf("Flush returns %v, want ErrDeadline", err)
			}
		}
		c.want(string(p) + "more")
		c.send("next\n")
		c.want("next\n")
	}
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

// hijackWith takes connections out, with bytes that the transport has already read, and
// uses them while others are served.
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

// hijackLate has Hijack fail at the deadline of its output: the connection is what it
// was before, and served on.
func hijackLate(e *env) {
	got := make(chan error, 1)
	p := pattern(duplexSize)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if l != "upgrade" || !ok {
			return echo(s, in, out)
		}
		s.SetWriteTimeout(30 * time.Millisecond)
		out.Ref(p)
		_, err := s.Hijack(in[n:], out)
		got <- err
		s.SetWriteTimeout(0)
		fmt.Fprint(out, "refused\n")
		return n, nil
	}})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("upgrade\nbehind\n")
	if err := e.receive(got, "Hijack returns"); err != transport.ErrDeadline {
		e.Errorf("Hijack returns %v, want ErrDeadline", err)
	}
	c.want(string(p) + "refused\nbehind\n")
	c.send("next\n")
	c.want("next\n")
	if n := e.transport.Stats().Open; n != 1 {
		e.Errorf("%d connections are open, want 1", n)
	}
}

// hijackRefused takes connections out while the process can open no descriptor: who
// needs one for it fails, and leaves the connection as it was.
func hijackRefused(e *env) {
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if l != "upgrade" || !ok {
			return echo(s, in, out)
		}
		var nc net.Conn
		var err error
		if e := withoutDescriptors(func() { nc, err = s.Hijack(nil, out) }); e != nil {
			s.e.Error(e)
		}
		if err != nil {
			fmt.Fprint(out, "refused\n")
			return n, nil
		}
		s.hijacked.Store(true)
		go func() { // as it would have gone on
			defer nc.Close()
			b := make([]byte, len("next\n"))
			if _, err := io.WriteString(nc, "refused\n"); err != nil {
				e.Error(err)
			}
			if _, err := io.ReadFull(nc, b); err != nil {
				e.Error(err)
			}
			if _, err := nc.Write(b); err != nil {
				e.Error(err)
			}
		}()
		return n, nil
	}})
	for range 3 {
		c, other := e.dial(), e.dial()
		c.send("upgrade\n")
		c.want("refused\n")
		other.send("other\n")
		other.want("other\n")
		c.send("next\n")
		c.want("next\n")
	}
}
