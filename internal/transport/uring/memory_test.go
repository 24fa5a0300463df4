//go:build linux

package uring

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// TestBatchWithoutMemory has the kernel take no request while answers wait to be sent: they are sent
// without it, at once, each of them once.
func TestBatchWithoutMemory(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 64, completions: 64, buffers: 1, first: 1})
	var conns []*port
	var peers []int
	for i := range 3 {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(pair[0])
		defer syscall.Close(pair[1])
		p := portOf(d.NewConn())
		e := sys.SQE{
			Op: sys.OpSend, FD: int32(pair[0]), Addr: d.batch.slab.Addr(d.batch.at), Len: 1,
			Arg: sys.SendAll, Flags: sys.SQESkipSuccess, Data: data(kindSend, pair[0], 1),
		}
		d.batch.slab[d.batch.at] = byte('a' + i)
		if !d.ring.Push(&e) {
			t.Fatal("there is no room")
		}
		d.batch.sends = append(d.batch.sends, send{port: p, at: d.batch.at, end: d.batch.at + 1})
		d.batch.at++
		p.conn.Batched = true
		conns, peers = append(conns, p), append(peers, pair[1])
	}
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.EBUSY} {
		d.submit = func() syscall.Errno { return errno }
		done := make(chan struct{})
		go func() { d.Submit(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("Submit waits for the kernel")
		}
	}
	d.submit = d.ring.Enter
	d.enter()
	for i, p := range conns {
		b := make([]byte, 10)
		if n, errno := sys.Recv(peers[i], b); n != 1 || errno != 0 || b[0] != byte('a'+i) || p.conn.Batched {
			t.Errorf("the client gets %q, %v; batched %v", b[:n], errno, p.conn.Batched)
		}
	}
	if n := d.ring.Queued(); n > 0 || len(d.batch.sends) > 0 || d.batch.at > 0 {
		t.Errorf("%d requests and %d sends are left", n, len(d.batch.sends))
	}
}

// echoes answers what it is sent.
type echoes struct{ quiet }

func (e *echoes) Feed(in []byte, out *buf.Queue) (int, error) {
	_, err := out.Write(in)
	return len(in), err
}

// An echoServer serves sessions that echo, with a driver that a test changes.
type echoServer struct {
	*Transport
	t      *testing.T
	d      *driver
	addr   string
	conns  chan transport.Conn
	closed chan error
}

func serveEchoes(t *testing.T) *echoServer {
	s := &echoServer{t: t, conns: make(chan transport.Conn, 10), closed: make(chan error, 10)}
	var err error
	s.Transport, err = sockets.New(transport.Config{Loops: 1, NewSession: func(c transport.Conn) transport.Session {
		s.conns <- c
		return &echoes{quiet{c, nil, s.closed}}
	}}, func(l *sockets.Loop) (_ sockets.Driver, err error) {
		s.d, err = newDriver(l, usual)
		return s.d, err
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := s.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.addr = addr.String()
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != transport.ErrStopped {
			t.Errorf("Serve returns %v", err)
		}
	})
	return s
}

func (s *echoServer) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// echo asks for little and much.
func (s *echoServer) echo(when string, clients ...net.Conn) {
	s.t.Helper()
	for i, c := range clients {
		for _, size := range []int{1, 100, 10_000, 1} {
			said := strings.Repeat("x", size)
			if _, err := io.WriteString(c, said); err != nil {
				s.t.Fatal(err)
			}
			b := make([]byte, size)
			if _, err := io.ReadFull(c, b); err != nil || string(b) != said {
				s.t.Fatalf("%s: client %d reads %.80q, %v", when, i, b, err)
			}
		}
	}
}

// TestBuffersWithoutMemory has the kernel refuse the ring's buffers when their memory has been
// returned: connections are served without them until it takes them.
func TestBuffersWithoutMemory(t *testing.T) {
	s := serveEchoes(t)
	one, two := s.dial(), s.dial()
	s.echo("before", one, two)
	c := <-s.conns
	onLoop := func(f func()) {
		done := make(chan struct{})
		c.Wake(func(*buf.Queue) error { f(); close(done); return nil })
		<-done
	}
	refused, d := 0, s.d
	onLoop(func() {
		d.offer = func() error { refused++; return errors.New("no memory") }
		d.short, d.quiet = 1, 0 // so that it shrinks now, and then tries again each time
	})
	three := s.dial()
	s.echo("without buffers", one, two, three)
	two.Close()
	if err := <-s.closed; err != nil {
		t.Errorf("Closed receives %v", err)
	}
	onLoop(func() {
		if !d.bare || refused < 2 {
			t.Errorf("the buffers are there: %v, refused %d times", !d.bare, refused)
		}
		d.offer = d.buffers.Offer
	})
	s.echo("when there is memory", one, three)
	onLoop(func() {
		if d.bare {
			t.Error("the buffers are not offered again")
		}
	})
	s.echo("with buffers", one, three)
}
