package transporttest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// fakeLeaver runs the leaver of the suite on a fake.
func fakeLeaver(t *testing.T, f Failer, seed uint64) (*Fake, *leaver) {
	t.Helper()
	var s *leaver
	x := &leaving{env: &env{T: t}, release: make(chan struct{})}
	fake := NewFake(f, seed, func(c transport.Conn) transport.Session {
		s = &leaver{x: x, session: &session{Conn: c, e: x.env, gone: make(chan struct{}), lostErr: make(chan error, 8)}}
		return s
	})
	return fake, s
}

// received waits until the peer has received all of some lines.
func received(f *Fake, lines ...string) {
	f.Wait(fmt.Sprint("the peer has received ", lines), func() bool {
		got := strings.SplitAfter(string(f.Output()), "\n")
		for _, l := range lines {
			found := false
			for _, g := range got {
				found = found || g == l+"\n"
			}
			if !found {
				return false
			}
		}
		return true
	})
}

// TestFakeLeave has Feeds leave in all ways, with input behind them.
func TestFakeLeave(t *testing.T) {
	for _, way := range ways {
		for seed := range uint64(30) {
			f, s := fakeLeaver(t, t, seed)
			for _, name := range []string{"a", "b", "c"} {
				f.SendString(way[0] + " " + name + "\nplain " + name + "\n")
			}
			received(f, "a "+way[1], "a", "b "+way[1], "b", "c "+way[1], "c")
			if n := s.x.left.Load(); n != 3 {
				t.Fatalf("%s: %d goroutines have left, want 3", way[0], n)
			}
			close(s.x.release)
			received(f, "a done", "b done", "c done")
			f.End()
			f.Wait("the session is closed", s.isClosed.Load)
			if s.losts.Load() != 0 {
				t.Errorf("%s: Lost is told for a Feed that has left", way[0])
			}
		}
	}
}

// TestFakeLeaveRace has takeovers come at all points.
func TestFakeLeaveRace(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(50) {
		f, s := fakeLeaver(t, t, seed)
		s.n = int(seed)
		const n = 10
		for name := range n {
			f.SendString(fmt.Sprintf("coin %d\n", name))
		}
		f.Wait("all lines are answered", func() bool {
			out := string(f.Output())
			return strings.Count(out, "stays")+strings.Count(out, "done") == n
		})
		for _, l := range strings.Fields(string(f.Output())) {
			kinds[l]++
		}
		f.Wait("those that have left end", func() bool { return s.x.left.Load() == 0 })
	}
	for _, k := range []string{"stays", "left", "let", "kept"} {
		if kinds[k] == 0 {
			t.Errorf("no Feed has %q: %v", k, kinds)
		}
	}
}

// TestFakeLeaveExit has the goroutine of a Leaver's Feed end.
func TestFakeLeaveExit(t *testing.T) {
	for seed := range uint64(10) {
		f, s := fakeLeaver(t, t, seed)
		f.SendString("leave-exit a\nplain b\n")
		received(f, "a left", "b")
		close(s.x.release)
		f.Wait("those that have left end", func() bool { return s.x.left.Load() == 0 })
		f.SendString("plain c\n")
		received(f, "c")
		f.SendString("exit \n")
		f.Wait("the session is closed", func() bool { closed, _ := f.Closed(); return closed })
		if _, why := f.Closed(); why != transport.ErrExited || !f.Cut() {
			t.Errorf("Closed receives %v, want ErrExited", why)
		}
	}
}

// A scripted is a Leaver that runs functions.
type scripted struct {
	*session
	left func(out *buf.Queue) (int, bool)
}

func (s scripted) Left(out *buf.Queue) (int, bool) { return s.left(out) }

// TestFakeLeaveComplains wants sessions to be found out that break the contract of leaving.
func TestFakeLeaveComplains(t *testing.T) {
	never := func(*buf.Queue) (int, bool) { return 0, false }
	for name, c := range map[string]struct {
		feed func(s *session, in []byte, out *buf.Queue)
		left func(out *buf.Queue) (int, bool)
	}{
		"leaves again": {func(s *session, in []byte, _ *buf.Queue) {
			s.Leave(len(in))
			s.Leave(len(in))
		}, never},
		"leaves with too much consumed": {func(s *session, in []byte, _ *buf.Queue) { s.Leave(len(in) + 1) }, never},
		"leaves with less than released": {func(s *session, in []byte, _ *buf.Queue) {
			s.Release()
			s.Leave(len(in) - 1)
		}, never},
		"output after it has left": {func(s *session, in []byte, out *buf.Queue) {
			s.Leave(len(in))
			fmt.Fprint(out, "late")
		}, never},
		"is let go with too much consumed": {func(s *session, _ []byte, _ *buf.Queue) {
			for !s.Detached() {
				runtime.Gosched()
			}
		}, func(*buf.Queue) (int, bool) { return 100, true }},
	} {
		ft := &failer{T: t}
		ended, first := make(chan struct{}), true
		f := NewFake(ft, 3, func(conn transport.Conn) transport.Session {
			h := hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
				if !first {
					return len(in), nil
				}
				first = false
				defer close(ended)
				s.inside.Add(-1)
				defer s.inside.Add(1)
				c.feed(s, in, out)
				return len(in), nil
			}}
			s := &session{Conn: conn, e: &env{T: t}, hooks: h, gone: make(chan struct{}), lostErr: make(chan error, 8)}
			return scripted{s, c.left}
		})
		f.SendString("x")
		f.Run()
		<-ended
		found := false
		for end := time.Now().Add(patience); !found && time.Now().Before(end); time.Sleep(time.Millisecond) {
			f.locked(func() { found = len(ft.complaints) > 0 })
		}
		if !found {
			t.Errorf("%s: no complaint", name)
		}
	}
}

// TestFakeLeaveWithout wants a session to be found out that leaves and is no Leaver.
func TestFakeLeaveWithout(t *testing.T) {
	ft := &failer{T: t}
	f := NewFake(ft, 3, func(c transport.Conn) transport.Session {
		h := hooks{feed: func(s *session, in []byte, _ *buf.Queue) (int, error) {
			s.Leave(len(in))
			return len(in), errors.New("end")
		}}
		return &session{Conn: c, e: &env{T: t}, hooks: h, gone: make(chan struct{}), lostErr: make(chan error, 8)}
	})
	f.SendString("x")
	f.Run()
	if len(ft.complaints) == 0 {
		t.Error("no complaint")
	}
}
