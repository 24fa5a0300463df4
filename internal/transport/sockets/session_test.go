//go:build linux

package sockets_test

import (
	"bytes"
	"errors"
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

// hog fills the connection: much more than both ends' buffers hold.
var hog = make([]byte, 32<<20)

// TestFlushDeadline wants a Flush whose time is over to leave everything as it is: the
// bytes that wait are sent, in their order, and so is what follows.
func TestFlushDeadline(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		flushed := make(chan error, 2)
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.SetWriteTimeout(20 * time.Millisecond)
			out.Ref(hog)
			err := s.Flush(out, 0, nil)
			if n := s.Pending(); n == 0 || s.Untaken() <= n {
				t.Errorf("%d bytes are pending, %d are not taken", n, s.Untaken())
			}
			flushed <- err
			s.SetWriteTimeout(0)
			if _, err := out.WriteString("behind"); err != nil {
				return 0, err
			}
			flushed <- s.Flush(out, 0, nil)
			return len(in), nil
		}})
		c := open(t, addr)
		send(t, c, "x")
		if err := receive(t, flushed, "Flush returns"); err != transport.ErrDeadline {
			t.Errorf("Flush returns %v, want ErrDeadline", err)
		}
		if _, err := io.CopyN(io.Discard, c, int64(len(hog))); err != nil {
			t.Fatal(err)
		}
		want(t, c, "behind")
		if err := receive(t, flushed, "Flush returns"); err != nil {
			t.Error(err)
		}
		s := receive(t, made, "the session is there")
		left := make(chan int, 1)
		s.Wake(func(*buf.Queue) error { left <- s.Pending(); return nil })
		if n := receive(t, left, "the session is woken"); n != 0 {
			t.Errorf("%d bytes are pending", n)
		}
	})
}

// TestHighWater has a client that reads nothing, of a session that is to be fed until so
// much is pending.
func TestHighWater(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		const most, piece = 8 << 20, 1 << 20
		fed := make(chan int, 1000)
		addr, made := script(t, d, transport.Config{HighWater: most}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			if n := s.Pending(); n > most {
				t.Errorf("fed with %d bytes pending", n)
			}
			out.Ref(hog[:piece])
			fed <- s.Pending()
			return len(in), nil
		}})
		c := open(t, addr)
		s := receive(t, made, "the session is there")
		pending := func() int {
			left := make(chan int, 1)
			s.Wake(func(*buf.Queue) error { left <- s.Pending(); return nil })
			return receive(t, left, "the session is woken")
		}
		asked := 0
		for ; pending() <= most; asked++ {
			send(t, c, "x")
			receive(t, fed, "it is fed")
		}
		send(t, c, "y")
		if n := pending(); n <= most || len(fed) > 0 {
			t.Errorf("fed %d times with %d bytes pending", len(fed), n)
		}
		if _, err := io.CopyN(io.Discard, c, int64(asked+1)*piece); err != nil {
			t.Error(err)
		}
	})
}

// TestExpiredWhileClosing has connections that are to be closed, with a client that
// reads nothing: their session is asked each time that the time is over, may go on, or
// cut.
func TestExpiredWhileClosing(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		asked := make(chan int, 10)
		n := 0
		addr, made := script(t, d, transport.Config{}, scripted{
			feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
				out.Ref(hog)
				s.SetTimeout(20 * time.Millisecond)
				return len(in), transport.ErrClosed
			},
			expired: func(s *scripted, _ *buf.Queue) error {
				if n++; n == 3 {
					asked <- s.Untaken()
					return errors.New("it does not move")
				}
				asked <- s.Pending()
				s.SetTimeout(20 * time.Millisecond)
				return nil
			},
		})
		c := open(t, addr)
		send(t, c, "x")
		s := receive(t, made, "the session is there")
		for range 3 {
			if n := receive(t, asked, "Expired is called"); n == 0 {
				t.Error("Expired is called with nothing to send")
			}
		}
		if err := receive(t, s.closed, "the session is closed"); err == nil {
			t.Error("Closed is told nil")
		}
		if len(asked) > 0 {
			t.Error("Expired is called again")
		}
		if b, err := io.ReadAll(c); len(b) >= len(hog) {
			t.Errorf("the client reads everything, %v", err)
		}
		// One that goes on sends everything.
		n = -1000
		c = open(t, addr)
		send(t, c, "x")
		receive(t, asked, "Expired is called")
		if k, err := io.Copy(io.Discard, c); k != int64(len(hog)) || err != nil {
			t.Errorf("the client reads %d bytes of %d, %v", k, len(hog), err)
		}
	})
}

// TestAbrupt closes connections at once, of which one waits for room, one for input and
// one runs: their sessions are told once, their waits end, and the client sees what
// had been sent and the end.
func TestAbrupt(t *testing.T) {
	for _, how := range []transport.Closing{transport.Abrupt, transport.Reset} {
		eachDriver(t, func(t *testing.T, d driver) {
			ready, ended := make(chan struct{}, 1), make(chan error, 1)
			addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
				if _, err := out.WriteString("begin"); err != nil {
					return 0, err
				}
				err := s.Flush(out, 0, nil)
				ready <- struct{}{}
				switch in[0] {
				case 'r':
					_, err = s.Read(make([]byte, 1), nil)
				case 'w':
					out.Ref(hog)
					err = s.Flush(out, 0, nil)
				case 'b':
					if s.Detach(); how == transport.Abrupt {
						s.lost <- <-s.lost // not before it is told
					} else {
						time.Sleep(10 * time.Millisecond)
					}
				}
				if _, e := s.Read(make([]byte, 1), nil); in[0] != 'b' && e != transport.ErrLost {
					t.Errorf("Read returns %v after the connection is closed", e)
				}
				ended <- err
				return len(in), nil
			}})
			for _, what := range []string{"read", "write", "block"} {
				c := open(t, addr)
				send(t, c, what)
				s := receive(t, made, "the session is there")
				want(t, c, "begin")
				receive(t, ready, "it waits")
				if what == "write" {
					time.Sleep(10 * time.Millisecond) // mostly
				}
				s.Close(how)
				if err := receive(t, ended, "its waits end"); what != "block" && err != transport.ErrLost {
					t.Errorf("%s: a wait ends with %v, want ErrLost", what, err)
				}
				if err := receive(t, s.closed, "the session is closed"); err != nil {
					t.Errorf("%s: Closed is told %v", what, err)
				}
				if n := len(s.lost); (n == 1) != (how == transport.Abrupt) {
					t.Errorf("%s: Lost is told %d times", what, n)
				}
				if _, err := io.Copy(io.Discard, c); (err == nil) != (how == transport.Abrupt) {
					t.Errorf("%s: the client reads to %v", what, err)
				}
				if s.Wake(func(*buf.Queue) error { return nil }) {
					t.Errorf("%s: Wake reports true", what)
				}
			}
		})
	}
}

// TestAbruptUnread closes connections at once whose client is still sending: it sees
// what it was sent, and the end.
func TestAbruptUnread(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.Pause(true)
			_, err := out.WriteString("paused")
			return len(in), err
		}})
		c := open(t, addr)
		send(t, c, "x")
		want(t, c, "paused")
		send(t, c, "nobody reads this")
		s := receive(t, made, "the session is there")
		s.Wake(func(out *buf.Queue) error {
			s.Close(transport.Abrupt)
			_, err := out.WriteString("last")
			return err
		})
		want(t, c, "last")
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
			t.Errorf("the client reads %q, %v, want the end", b, err)
		}
		receive(t, s.closed, "the session is closed")
	})
}

// TestEachBusy visits the sessions that are not being fed, however often, while one is.
func TestEachBusy(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		release, busy := make(chan struct{}), make(chan struct{})
		inner := d.create
		var tr transport.Transport
		d.create = func(c transport.Config) (_ transport.Transport, err error) {
			tr, err = inner(c)
			return tr, err
		}
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.Detach()
			close(busy)
			<-release
			_, err := out.WriteString("done")
			return len(in), err
		}})
		c, other := open(t, addr), open(t, addr)
		fed, idle := receive(t, made, "a session is there"), receive(t, made, "the other one is there")
		if fed.RemoteAddr().String() != c.LocalAddr().String() {
			fed, idle = idle, fed
		}
		send(t, c, "x")
		receive(t, busy, "Feed runs")
		for range 1000 {
			visits := 0
			tr.Each(func(s transport.Session, _ *buf.Queue) error {
				if s != transport.Session(idle) {
					t.Error("a session is visited that is being fed")
				}
				visits++
				return nil
			}, nil)
			if visits != 1 {
				t.Fatalf("%d visits, want 1", visits)
			}
		}
		close(release)
		want(t, c, "done")
		other.Close()
		receive(t, idle.closed, "the session is closed")
	})
}

// TestLostAfterPieces has the client leave while a Feed blocks whose input came in
// pieces, after one that has read from the socket itself, and has kept its loop.
func TestLostAfterPieces(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		release, blocked, begun, sent := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		addr, made := script(t, d, transport.Config{Takeover: time.Hour}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			switch {
			case in[0] == 'r':
				close(begun)
				<-sent
				time.Sleep(time.Millisecond)
				p := make([]byte, 1)
				if _, err := s.Read(p, nil); err != nil {
					return 0, err
				}
				_, err := out.WriteString("read")
				return len(in), err
			case len(in) < 2:
				_, err := out.WriteString("more")
				return 0, err
			}
			s.Detach()
			close(blocked)
			<-release
			return len(in), nil
		}})
		c := open(t, addr)
		send(t, c, "r")
		s := receive(t, made, "the session is there")
		receive(t, begun, "Feed runs")
		send(t, c, "x")
		close(sent)
		want(t, c, "read")
		send(t, c, "1")
		want(t, c, "more")
		send(t, c, "2")
		receive(t, blocked, "Feed runs")
		c.Close()
		receive(t, s.lost, "Lost is told")
		close(release)
		receive(t, s.closed, "the session is closed")
	})
}

// TestInProcess is for the race detector: a handler and a client of package net in one
// process are ordered by what they send each other, as with net/http.
func TestInProcess(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		asked, answered := 0, 0
		addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			var err error
			answered = asked
			switch in[0] {
			case 'f':
				_, err = out.WriteString("answ")
				if err == nil {
					err = s.Flush(out, 0, nil)
				}
				_, _ = out.WriteString("er") // it never fails
			case 'r':
				_, err = out.WriteString("answer")
				if err == nil {
					err = s.Flush(out, 0, nil)
				}
				if err == nil {
					_, err = s.Read(make([]byte, 1), nil)
				}
				answered = asked
				_, _ = out.WriteString("answer")
			case 'l':
				out.Ref(long)
			default:
				_, err = out.WriteString("answer")
			}
			return len(in), err
		}})
		c := open(t, addr)
		ask := func(what, answer string) {
			asked++
			send(t, c, what)
			want(t, c, answer)
			if answered != asked {
				t.Errorf("%q: the handler has seen %d, want %d", what, answered, asked)
			}
		}
		for range 3 {
			ask("flush", "answer")
			ask("read", "answer")
			ask("x", "answer") // of what reads
			ask("plain", "answer")
			ask("long", string(long))
		}
	})
}

// long is more than is sent in a batch.
var long = bytes.Repeat([]byte("long"), 10<<10)
