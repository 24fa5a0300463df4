//go:build linux

package sockets_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

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
				select {
				case asked <- s.Pending():
				default: // a slow machine: it has been asked often enough
				}
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
			t.Error("Closed receives nil")
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
