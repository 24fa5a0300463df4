//go:build linux

package sockets_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// eachDriver runs a test with each driver.
func eachDriver(t *testing.T, run func(t *testing.T, d driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { run(t, d) })
	}
}

// receive waits for a value.
func receive[T any](tb testing.TB, c <-chan T, what string) (v T) {
	tb.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		tb.Fatalf("waited in vain until %s", what)
	}
	return v
}

// until waits until a condition holds.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited in vain until %s", what)
		}
	}
}

// A scripted session does what its functions say; those that are nil do nothing.
type scripted struct {
	transport.Conn
	feed    func(s *scripted, in []byte, out *buf.Queue) (int, error)
	expired func(s *scripted, out *buf.Queue) error
	lost    chan error // what Lost was told
	closed  chan error // what Closed was told
}

func (s *scripted) Feed(in []byte, out *buf.Queue) (int, error) { return s.feed(s, in, out) }
func (s *scripted) EOF([]byte, *buf.Queue) error                { return transport.ErrClosed }
func (s *scripted) Expired(out *buf.Queue) error {
	if s.expired == nil {
		return transport.ErrClosed
	}
	return s.expired(s, out)
}
func (s *scripted) Drained()         {}
func (s *scripted) Lost(err error)   { s.lost <- err }
func (s *scripted) Closed(err error) { s.closed <- err }

// script serves one kind of session, and hands out those that are made.
func script(t *testing.T, d driver, c transport.Config, s scripted) (addr string, made <-chan *scripted) {
	t.Helper()
	sessions := make(chan *scripted, 100)
	c.Loops = 1
	c.NewSession = func(tc transport.Conn) transport.Session {
		n := s
		n.Conn, n.lost, n.closed = tc, make(chan error, 4), make(chan error, 1)
		sessions <- &n
		return &n
	}
	return serve(t, d, c), sessions
}

// open connects for the time of a test.
func open(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// want reads a text.
func want(t *testing.T, c net.Conn, s string) {
	t.Helper()
	b := make([]byte, len(s))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != s {
		t.Fatalf("client reads %.80q, %v, want %.80q", b[:n], err, s)
	}
}

// openFiles is the number of descriptors of the process.
func openFiles(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
