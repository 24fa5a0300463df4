package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// TestFakeFlushDeadline wants what is pending to survive a deadline of Flush.
func TestFakeFlushDeadline(t *testing.T) {
	p := pattern(100 << 10)
	for seed := range uint64(30) {
		var f *Fake
		f, _ = fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			out.Ref(p)
			s.SetWriteTimeout(time.Hour)
			go f.Advance(2 * time.Hour)
			if err := s.Flush(out, 0, nil); err != transport.ErrDeadline || s.Pending() != len(p) || out.Len() != 0 {
				t.Errorf("seed %d: Flush returns %v, with %d bytes in the queue and %d pending", seed, err, out.Len(), s.Pending())
			}
			fmt.Fprint(out, "more")
			f.Stall(false)
			if seed%2 == 0 {
				return len(in), nil
			}
			s.SetWriteTimeout(0)
			if err := s.Flush(out, 0, nil); err != nil || s.Pending() != 0 {
				t.Errorf("seed %d: Flush returns %v when it continues, with %d bytes pending", seed, err, s.Pending())
			}
			return len(in), nil
		}})
		f.Stall(true)
		f.SendString("x")
		f.Run()
		wantOutput(t, f, string(p)+"more")
	}
}

// TestFakeClosing closes from within Feed: with what is pending sent, or not.
func TestFakeClosing(t *testing.T) {
	p := pattern(100 << 10)
	for seed := range uint64(60) {
		how := transport.Closing(seed % 3)
		var f *Fake
		var s *session
		f, s = fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			out.Ref(p[:len(p)/2])
			if err := s.Flush(out, len(p)/4, nil); err != nil {
				t.Error(err)
			}
			f.Stall(true)
			out.Ref(p[len(p)/2:])
			if err := s.Flush(out, noWait, nil); err != nil {
				t.Error(err)
			}
			s.Close(how)
			f.Stall(false)
			if s.Wake(func(*buf.Queue) error { return nil }) {
				t.Error("Wake reports true when the connection is being closed")
			}
			if how == transport.Orderly {
				return len(in), nil
			}
			if n := s.Pending(); n != 0 {
				t.Errorf("%d bytes are pending after Close", n)
			}
			if _, err := s.Read(make([]byte, 1), nil); err != transport.ErrLost {
				t.Errorf("Read returns %v", err)
			}
			out.WriteString("more")
			if err := s.Flush(out, 0, nil); err != transport.ErrLost || out.Len() != 0 {
				t.Errorf("Flush returns %v, with %d bytes in the queue", err, out.Len())
			}
			return len(in), nil
		}})
		f.SendString("x")
		f.Run()
		closed, why := f.Closed()
		if !closed || why != nil || f.Cut() != (how == transport.Reset) {
			t.Errorf("seed %d: closed: %v, %v; cut: %v", seed, closed, why, f.Cut())
		}
		if got := f.Output(); !bytes.HasPrefix(p, got) || len(got) < len(p)/4 || (how == transport.Orderly) != (len(got) == len(p)) {
			t.Errorf("seed %d: the peer receives %d bytes of %d", seed, len(got), len(p))
		}
		if n := s.losts.Load(); (n == 1) != (how == transport.Abrupt) {
			t.Errorf("seed %d: Lost is called %d times", seed, n)
		}
	}
}

// TestFakeCloseElsewhere ends the waits of a Feed, which holds what Lost needs.
func TestFakeCloseElsewhere(t *testing.T) {
	for seed := range uint64(40) {
		how := transport.Abrupt
		if seed%2 == 0 {
			how = transport.Reset
		}
		f, s := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			go s.Close(how)
			var err error
			if seed%4 < 2 {
				_, err = s.Read(make([]byte, 1), nil)
			} else {
				out.WriteString("never taken")
				err = s.Flush(out, 0, nil)
			}
			if err != transport.ErrLost {
				t.Errorf("seed %d: the wait ends with %v", seed, err)
			}
			return len(in), nil
		}})
		f.Stall(true)
		f.SendString("x")
		f.Wait("the session is closed", s.isClosed.Load)
		if n := s.losts.Load(); (n == 1) != (how == transport.Abrupt) {
			t.Errorf("seed %d: Lost is called %d times", seed, n)
		}
	}
}

// TestFakeExpiresClosing has a session expire while its connection waits to be closed:
// it goes on, with a timeout of its own or of the transport's, or has it cut.
func TestFakeExpiresClosing(t *testing.T) {
	p := pattern(50 << 10)
	for seed := range uint64(30) {
		expired := 0
		f, s := fakeEnv(t, seed, hooks{
			feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
				out.Ref(p)
				s.SetTimeout(time.Hour)
				return len(in), transport.ErrClosed
			},
			expired: func(s *session, out *buf.Queue) error {
				switch expired++; {
				case expired == 1:
					s.SetTimeout(time.Hour)
				case expired == 3 && seed%2 == 0:
					return errors.New("it does not move")
				}
				return nil
			},
		})
		f.Stall(true)
		f.SendString("x")
		for i, d := range []time.Duration{2 * time.Hour, 2 * time.Hour, time.Minute} {
			f.Run()
			if expired != i {
				t.Fatalf("seed %d: Expired is called %d times, want %d", seed, expired, i)
			}
			f.Advance(d)
		}
		f.Run()
		if seed%2 == 0 {
			if _, why := f.Closed(); !s.isClosed.Load() || why != transport.ErrDeadline || !f.Cut() {
				t.Errorf("seed %d: closed: %v, %v; cut: %v", seed, s.isClosed.Load(), why, f.Cut())
			}
			continue
		}
		f.Stall(false)
		f.Run()
		if wantOutput(t, f, string(p)); !s.isClosed.Load() || s.why != nil || f.Cut() {
			t.Errorf("seed %d: closed: %v, %v; cut: %v", seed, s.isClosed.Load(), s.why, f.Cut())
		}
	}
}

// TestFakeUntaken wants what the peer has not taken to fall while it reads, and not
// otherwise, within Feed too.
func TestFakeUntaken(t *testing.T) {
	p := pattern(100 << 10)
	more := false // untaken than pending, at times
	for seed := range uint64(30) {
		f, s := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			out.Ref(p)
			if err := s.Flush(out, len(p)/2, nil); err != nil {
				t.Error(err)
			}
			for last, i := s.Untaken(), 0; last > s.Pending(); i++ {
				more = true
				n := s.Untaken()
				if n > last || i > 1_000_000 {
					t.Fatalf("seed %d: %d bytes are untaken, %d before", seed, n, last)
				}
				last = n
			}
			return len(in), nil
		}})
		f.SendString("x")
		f.Run()
		if n := s.Untaken(); n != 0 {
			t.Errorf("seed %d: %d bytes are untaken in the end", seed, n)
		}
	}
	if !more {
		t.Error("nothing was untaken that was not pending")
	}
}

// TestFakeHighWater wants nothing to be fed beyond the mark that is set.
func TestFakeHighWater(t *testing.T) {
	for seed := range uint64(30) {
		const high, size = 5000, 700
		fed := 0
		f, _ := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if n := s.Pending(); n > high {
				t.Errorf("seed %d: the session is fed while %d bytes are pending", seed, n)
			}
			fed++
			out.Write(make([]byte, size))
			return 1, nil
		}})
		f.HighWater(high)
		f.Stall(true)
		for range 100 {
			f.SendString("x")
			f.Run()
		}
		if fed != high/size+1 {
			t.Errorf("seed %d: %d bytes are fed while the peer reads nothing, want %d", seed, fed, high/size+1)
		}
		f.Stall(false)
		f.Run()
		if n := len(f.Output()); n != 100*size {
			t.Errorf("seed %d: %d bytes are received", seed, n)
		}
	}
}

// TestFakeHijackFails wants a connection to be served on when Hijack has failed.
func TestFakeHijackFails(t *testing.T) {
	refused := errors.New("refused")
	for seed := range uint64(20) {
		f, s := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			l, n, ok := line(in)
			if l != "hijack" || !ok {
				return echo(s, in, out)
			}
			fmt.Fprint(out, "switching ")
			if _, err := s.Hijack(in[n:], out); err != refused {
				t.Errorf("Hijack returns %v", err)
			}
			fmt.Fprint(out, "not ")
			return n, nil
		}})
		f.RefuseHijack(refused)
		f.SendString("hijack\nnext\n")
		f.End()
		f.Run()
		wantOutput(t, f, "switching not next\n")
		if !s.isClosed.Load() {
			t.Error("Closed is not called")
		}
	}
}

// TestFakeLostByFault checks that Lost reports a reset that occurs while Feed runs.
func TestFakeLostByFault(t *testing.T) {
	told := 0
	for seed := range uint64(50) {
		f, s := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			out.WriteString("answer")
			if s.Flush(out, 0, nil) != nil {
				if err := <-s.lostErr; err != transport.ErrLost {
					t.Errorf("Lost receives %v", err)
				}
				told++
			}
			return len(in), nil
		}})
		f.Faults(0.2)
		f.SendString("x")
		f.Run()
		if closed, why := f.Closed(); closed != s.isClosed.Load() || closed && why != transport.ErrLost {
			t.Errorf("closed: %v, %v", closed, why)
		}
	}
	if told == 0 {
		t.Error("no fault has come within Feed")
	}
}
