//go:build linux

package sockets_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// echoes answers what it is sent.
func echoes(_ *scripted, in []byte, out *buf.Queue) (int, error) {
	_, err := out.Write(in)
	return len(in), err
}

// A server is a transport that is created and not yet served.
type server struct {
	transport.Transport
	t      *testing.T
	served chan error

	mu       sync.Mutex
	log      []string
	sessions []*scripted
}

// create makes a transport with sessions that echo.
func create(t *testing.T, d driver, c transport.Config) *server {
	t.Helper()
	s := &server{t: t, served: make(chan error, 1)}
	c.Log = func(msg string, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, msg+": "+err.Error())
	}
	c.NewSession = func(tc transport.Conn) transport.Session {
		n := &scripted{Conn: tc, feed: echoes, lost: make(chan error, 4), closed: make(chan error, 1)}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions = append(s.sessions, n)
		return n
	}
	var err error
	if s.Transport, err = d.create(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *server) serve() { go func() { s.served <- s.Serve() }() }

func (s *server) listen() string {
	s.t.Helper()
	addr, err := s.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return addr.String()
}

// adopt serves on a listener that stays the test's as well.
func (s *server) adopt() *net.TCPListener {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	if err := s.Adopt(l, transport.ListenOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

// echo asks once.
func echo(t *testing.T, c net.Conn) {
	t.Helper()
	send(t, c, "hello")
	want(t, c, "hello")
}

// TestResetBeforeAccept has clients reset their connections before these are accepted:
// no session is told an address that is not theirs.
func TestResetBeforeAccept(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := create(t, d, transport.Config{Loops: 1})
		addr := s.listen()
		for range 20 {
			c := open(t, addr)
			send(t, c, "POST /transfer")
			if err := c.SetLinger(0); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		s.serve()
		echo(t, open(t, addr))
		until(t, "all others are closed", func() bool { return s.Stats().Open == 1 })
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, n := range s.sessions {
			if a, ok := n.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() || a.Port == 0 {
				t.Errorf("a session has a peer at %v", n.RemoteAddr())
			}
		}
	})
}

// TestAcceptRateSpares connects one after the other, no more than may come at once:
// looking for more of them costs nothing.
func TestAcceptRateSpares(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := create(t, d, transport.Config{Loops: 1, AcceptRate: 100})
		addr := s.listen()
		s.serve()
		for range 8 { // of ten
			echo(t, open(t, addr))
		}
		if n := s.Stats().Refused; n != 0 {
			t.Errorf("accepting has waited %d times for a rate that was kept", n)
		}
	})
}

// shutDown shuts a listening socket down that others have too.
func shutDown(t *testing.T, l *net.TCPListener) {
	t.Helper()
	rc, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := rc.Control(func(fd uintptr) { err = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) }); err != nil || e != nil {
		t.Fatal(err, e)
	}
}

// TestListenerShutDown has somebody else shut the listeners down: it is reported once
// for each, connections go on, and Serve returns with the last.
func TestListenerShutDown(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		before := openFiles(t)
		s := create(t, d, transport.Config{Loops: 2})
		first, second := s.adopt(), s.adopt()
		s.serve()
		a, b := open(t, first.Addr().String()), open(t, second.Addr().String())
		echo(t, a)
		echo(t, b)
		open := openFiles(t)
		shutDown(t, first)
		until(t, "it is closed", func() bool { return openFiles(t) == open-2 })
		select {
		case err := <-s.served:
			t.Fatalf("Serve returns %v with a listener left", err)
		default:
		}
		shutDown(t, second)
		if err := receive(t, s.served, "Serve returns"); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), second.Addr().String()) {
			t.Errorf("Serve returns %v, want what accept4 says of %s", err, second.Addr())
		}
		until(t, "it is closed", func() bool { return openFiles(t) == open-4 })
		echo(t, a)
		echo(t, b)
		s.StopAccepting()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		first.Close()
		second.Close()
		a.Close()
		b.Close()
		until(t, "all is closed", func() bool { return openFiles(t) == before })
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.log) != 1 || !strings.Contains(s.log[0], syscall.EINVAL.Error()) {
			t.Errorf("the log is %q, want one line", s.log)
		}
	})
}

// TestNothingBeforeServe closes a listener before the transport serves: its number is
// another listener's by then, whose connections are its own.
func TestNothingBeforeServe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := create(t, d, transport.Config{Loops: 1})
		s.listen()
		s.StopAccepting()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.serve()
		until(t, "it serves", func() bool {
			done := make(chan struct{})
			go func() {
				s.Each(func(transport.Session, *buf.Queue) error { return nil }, nil)
				close(done)
			}()
			receive(t, done, "Each returns")
			return true
		})
		if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		a, err := l.Accept()
		if err != nil {
			t.Fatalf("the other listener's connection is gone: %v", err)
		}
		a.Close()
	})
}

// TestBlockingListener has somebody else make the file of a listener a blocking one, as
// os/exec does that passes it on: loops do not wait in accept.
func TestBlockingListener(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := create(t, d, transport.Config{Loops: 1})
		l := s.adopt()
		f, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s.serve()
		for range 5 {
			f.Fd()
			c := open(t, l.Addr().String())
			echo(t, c)
			echo(t, c)
		}
		f.Fd()
		stopped := make(chan struct{})
		go func() {
			s.StopAccepting()
			close(stopped)
		}()
		receive(t, stopped, "StopAccepting returns")
	})
}

// TestUnixPeer serves clients of a Unix socket, who have no address.
func TestUnixPeer(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		s := create(t, d, transport.Config{Loops: 1})
		path := filepath.Join(t.TempDir(), "s")
		if _, err := s.Listen("unix", path, transport.ListenOptions{}); err != nil {
			t.Fatal(err)
		}
		s.serve()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		echo(t, c)
		if s.Stats().Accepted != 1 {
			t.Errorf("stats are %+v", s.Stats())
		}
	})
}
