package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// fakeEnv runs hooks of the suite on a fake.
func fakeEnv(t *testing.T, seed uint64, h hooks) (*Fake, *session) {
	t.Helper()
	e := &env{T: t}
	var s *session
	f := NewFake(t, seed, func(c transport.Conn) transport.Session {
		s = &session{Conn: c, e: e, hooks: h, gone: make(chan struct{}), lostErr: make(chan error, 8)}
		return s
	})
	return f, s
}

// wantOutput wants the peer to have received a text.
func wantOutput(t *testing.T, f *Fake, want string) {
	t.Helper()
	if got := string(f.Output()); got != want {
		t.Fatalf("the peer receives %.100q (%d bytes), want %.100q (%d bytes); %v", got, len(got), want, len(want), f)
	}
}

func TestFakeEcho(t *testing.T) {
	splits := map[int]bool{}
	for seed := range uint64(100) {
		f, s := fakeEnv(t, seed, hooks{feed: echo})
		want := text(rand.New(rand.NewPCG(seed, 0)), 5000, 500)
		f.SendString(want + "part")
		f.Run()
		wantOutput(t, f, want)
		splits[f.Feeds()] = true
		f.SendString("\n")
		f.End()
		f.Run()
		wantOutput(t, f, want+"part\n")
		if closed, why := f.Closed(); !closed || why != nil || !s.isClosed.Load() {
			t.Fatalf("closed: %v, %v", closed, why)
		}
	}
	if len(splits) < 10 {
		t.Errorf("input is split in %d ways only", len(splits))
	}
}

// TestFakeRepeats wants the same seed to do the same.
func TestFakeRepeats(t *testing.T) {
	run := func(seed uint64) string {
		var log strings.Builder
		f, _ := fakeEnv(t, seed, hooks{
			feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
				fmt.Fprintf(&log, "feed %d pending %d; ", len(in), s.Pending())
				return echo(s, in, out)
			},
			closed: func(_ *session, err error) { fmt.Fprintf(&log, "closed %v", err) },
		})
		f.Faults(0.01)
		f.SendString(strings.Repeat("hello\n", 200))
		f.End()
		f.Run()
		return log.String()
	}
	different := map[string]bool{}
	for seed := range uint64(20) {
		a := run(seed)
		if b := run(seed); a != b {
			t.Fatalf("seed %d: first %s, then %s", seed, a, b)
		}
		different[a] = true
	}
	if len(different) < 15 {
		t.Errorf("20 seeds make %d stories", len(different))
	}
}

func TestFakeReadFlushUnread(t *testing.T) {
	for seed := range uint64(50) {
		body := bytes.Repeat([]byte("body"), 10<<10)
		f, _ := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			_, n, ok := line(in)
			if !ok {
				return 0, nil
			}
			got := bytes.Clone(in[n:])
			p := make([]byte, 3000)
			for len(got) < len(body) {
				k, err := s.Read(p, nil)
				if err != nil {
					return 0, err
				}
				got = append(got, p[:k]...)
				out.Write(p[:k])
				if err := s.Flush(out, 1000, nil); err != nil || s.Pending() > 1000 || out.Len() > 0 {
					t.Errorf("Flush leaves %d and %d bytes, %v", s.Pending(), out.Len(), err)
				}
			}
			if !bytes.HasPrefix(got, body) {
				t.Error("Read reads wrong bytes")
			}
			s.Unread(got[len(body):])
			fmt.Fprint(out, "|")
			return len(in), nil
		}})
		f.SendString("POST\n" + string(body) + "POST\n" + string(body))
		f.Run()
		if n := strings.Count(string(f.Output()), "|"); n != 2 {
			t.Fatalf("seed %d: %d requests are answered, want 2; %v", seed, n, f)
		}
	}
}

func TestFakePauseAndBackpressure(t *testing.T) {
	for seed := range uint64(30) {
		fed := 0
		f, s := fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if fed == 0 {
				s.Pause(true)
				fed = 1
				return 1, nil
			}
			if n := s.Pending(); n > highWater {
				t.Errorf("seed %d: the session is fed while %d bytes are unsent", seed, n)
			}
			fed += len(in)
			out.Write(make([]byte, 100*len(in)))
			return len(in), nil
		}})
		f.SendString(strings.Repeat("x", 100))
		f.Run()
		if fed != 1 {
			t.Fatalf("seed %d: %d bytes are fed to a paused session", seed, fed-1)
		}
		s.Wake(func(*buf.Queue) error { s.Pause(false); return nil })
		f.Run()
		if fed != 100 {
			t.Fatalf("seed %d: %d bytes are fed, want 100", seed, fed)
		}
		f.Stall(true)
		f.Send(make([]byte, 10<<10))
		f.Run()
		f.Stall(false)
		f.Run()
		if n := len(f.Output()); n != 100*(99+10<<10) || fed != 100+10<<10 {
			t.Fatalf("seed %d: %d bytes are fed, %d received", seed, fed, n)
		}
	}
}

func TestFakeDeadlines(t *testing.T) {
	errs := make(chan error, 2)
	f, s := fakeEnv(t, 1, hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if in[0] == 'r' {
				_, err := s.Read(make([]byte, 1), nil)
				errs <- err
				return len(in), nil // Expired is next
			}
			s.SetTimeout(time.Hour)
			return len(in), nil
		},
		expired: func(_ *session, out *buf.Queue) error {
			fmt.Fprint(out, "late")
			return transport.ErrClosed
		},
	})
	f.SendString("x")
	f.Run()
	if f.Timeout() == 0 {
		t.Error("no deadline is set")
	}
	f.Advance(59 * time.Minute)
	f.Run()
	wantOutput(t, f, "")
	go func() { // the connection waits in Read meanwhile
		f.Advance(2 * time.Minute)
	}()
	f.SendString("r")
	f.Wait("the session expires", s.isClosed.Load)
	select {
	case err := <-errs:
		if !errors.Is(err, transport.ErrDeadline) {
			t.Errorf("Read returns %v", err)
		}
	default:
		wantOutput(t, f, "late") // it expired before it was fed
	}
}

func TestFakeLost(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	f, s := fakeEnv(t, 1, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.Detach()
		if !s.Detached() {
			t.Error("not detached")
		}
		close(blocked)
		<-release
		return len(in), s.Flush(out, 0, nil)
	}})
	f.SendString("x")
	go func() {
		<-blocked
		f.End()
		f.Reset() // not told again
		close(release)
	}()
	f.Run()
	if err := <-s.lostErr; err != io.EOF {
		t.Errorf("Lost receives %v", err)
	}
	if _, why := f.Closed(); why == nil {
		t.Error("Closed receives nil after a reset")
	}
}

func TestFakeWake(t *testing.T) {
	f, s := fakeEnv(t, 1, hooks{feed: echo})
	for i := range 100 {
		go s.Wake(func(out *buf.Queue) error { fmt.Fprintf(out, "%d ", i); return nil })
	}
	f.Wait("all have run", func() bool { return bytes.Count(f.Output(), []byte(" ")) == 100 })
	s.Close(transport.Orderly)
	f.Run()
	if s.Wake(func(*buf.Queue) error { return nil }) {
		t.Error("Wake reports true after Closed")
	}
}

func TestFakeHijack(t *testing.T) {
	f, s := fakeEnv(t, 1, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		fmt.Fprint(out, "switching ")
		c, err := s.Hijack(in, out)
		if err != nil {
			return 0, err
		}
		go func() {
			defer c.Close()
			if _, err := io.Copy(c, c); err != nil {
				t.Error(err)
			}
			fmt.Fprint(c, "!")
		}()
		return len(in), nil
	}})
	f.SendString("early ")
	f.Run()
	f.SendString("late")
	f.End()
	f.Wait("the hijacked connection has echoed", func() bool { return bytes.HasSuffix(f.Output(), []byte("!")) })
	wantOutput(t, f, "switching early late!")
	if s.isClosed.Load() {
		t.Error("Closed is called after Hijack")
	}
}

// TestFakeDuplex has one goroutine wait for input while another waits for room.
func TestFakeDuplex(t *testing.T) {
	p := pattern(300 << 10)
	for seed := range uint64(20) {
		var mu sync.Mutex
		var f *Fake
		var s *session
		f, s = fakeEnv(t, seed, hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			s.SetTimeout(time.Hour)
			done := make(chan error, 1)
			mu.Lock()
			defer mu.Unlock()
			go func() {
				mu.Lock()
				defer mu.Unlock()
				out.Ref(p)
				done <- s.Flush(out, 0, &mu)
			}()
			b := make([]byte, 4)
			if n, err := s.Read(b, &mu); err != nil || string(b[:n]) != "late"[:n] || n == 0 {
				t.Errorf("Read reads %q, %v", b[:n], err)
			}
			if mu.Unlock(); seed%2 == 0 {
				f.Stall(false)
			} else {
				f.Reset()
			}
			err := <-done
			mu.Lock()
			if want := [...]error{nil, transport.ErrLost}[seed%2]; err != want {
				t.Errorf("Flush returns %v, want %v", err, want)
			}
			s.SetTimeout(-1)
			if _, err := s.Read(b, &mu); seed%2 == 0 && err != transport.ErrDeadline {
				t.Errorf("Read returns %v when the time is over", err)
			}
			return len(in), transport.ErrClosed
		}})
		f.Stall(true)
		f.SendString("x")
		go func() {
			for end := time.Now().Add(patience); time.Now().Before(end); {
				mu.Lock()
				n := s.Pending()
				mu.Unlock()
				if n == len(p) {
					break
				}
				time.Sleep(100 * time.Microsecond)
			}
			f.SendString("late")
		}()
		f.Wait("the session is closed", s.isClosed.Load)
		if seed%2 == 0 {
			wantOutput(t, f, string(p))
		}
	}
}

// A failer notes what a fake complains about.
type failer struct {
	*testing.T
	complaints []string
}

func (f *failer) Errorf(format string, args ...any) {
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

// TestFakeComplains wants sessions to be found out that break the contract.
func TestFakeComplains(t *testing.T) {
	var kept []byte
	shared := bytes.Repeat([]byte("x"), buf.RefSize)
	for name, feed := range map[string]func(s *session, in []byte, out *buf.Queue) (int, error){
		"consumes too much": func(_ *session, in []byte, _ *buf.Queue) (int, error) { return len(in) + 1, nil },
		"consumes too little of what it has released": func(s *session, in []byte, _ *buf.Queue) (int, error) {
			s.Release()
			return len(in) - 1, nil
		},
		"changes output": func(s *session, in []byte, out *buf.Queue) (int, error) {
			out.Ref(shared)
			s.Wake(func(*buf.Queue) error { return nil })
			err := s.Flush(out, len(shared), nil)
			shared[len(shared)-1]++
			return len(in), err
		},
		"reads outside of Feed": func(s *session, in []byte, _ *buf.Queue) (int, error) {
			s.Wake(func(*buf.Queue) error {
				kept = in
				return nil
			})
			return len(in), nil
		},
	} {
		ft := &failer{T: t}
		f := NewFake(ft, 3, func(c transport.Conn) transport.Session {
			return &session{Conn: c, e: &env{T: t}, hooks: hooks{feed: feed}, gone: make(chan struct{}), lostErr: make(chan error, 8)}
		})
		f.SendString("0123456789")
		f.Run()
		if name == "reads outside of Feed" {
			if bytes.ContainsAny(kept, "0123456789") {
				t.Error("input is whole after Feed has returned")
			}
			if _, err := f.Read(nil, nil); err != nil || len(ft.complaints) == 0 {
				t.Errorf("%s: no complaint, %v", name, err)
			}
			continue
		}
		if len(ft.complaints) == 0 {
			t.Errorf("%s: no complaint", name)
		}
	}
}
