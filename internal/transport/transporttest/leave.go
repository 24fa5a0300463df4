package transporttest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A leaving is a case in which Feeds leave their connections.
type leaving struct {
	*env
	how     string        // the way to leave
	answer  string        // what it answers at once
	first   int           // session
	release chan struct{} // ends what goroutines do that have left
	left    atomic.Int64  // goroutines that have left and not ended
	drained atomic.Int64
	eofs    chan string // what EOF was given
	expired chan struct{}
}

// ways are the ways to leave, with what is answered at once.
var ways = [][2]string{{"leave", "left"}, {"detached", "left"}, {"deposed", "left"}, {"let", "let"}}

// leaveEachWay runs a case for each way to leave, on a transport of its own.
func leaveEachWay(run func(x *leaving)) func(*env) {
	return func(e *env) {
		for _, way := range ways {
			x := leavingOn(e)
			x.how, x.answer = way[0], way[1]
			run(x)
			if e.served != nil {
				e.stop()
			}
		}
	}
}

// leavingOn starts a case.
func leavingOn(e *env) *leaving {
	x := &leaving{env: e, release: make(chan struct{}), eofs: make(chan string, 200), expired: make(chan struct{}, 8)}
	e.mu.Lock()
	x.first = len(e.sessions)
	e.mu.Unlock()
	e.wrap = func(s *session) transport.Session { return &leaver{session: s, x: x} }
	e.start(hooks{
		eof: func(_ *session, unread []byte, _ *buf.Queue) error {
			x.eofs <- string(unread)
			return transport.ErrClosed
		},
		drained: func(*session) { x.drained.Add(1) },
		expired: func(*session, *buf.Queue) error {
			x.expired <- struct{}{}
			return transport.ErrClosed
		},
	})
	return x
}

// A leaver answers lines "how name". What a Feed does after it has left is answered by Wake.
type leaver struct {
	*session
	x     *leaving
	armed atomic.Pointer[armed] // nil unless Feed may be let go; who sets it to nil has won
}

// An armed is what Left needs.
type armed struct {
	n    int
	name string
}

var _ transport.Leaver = (*leaver)(nil)

// Left implements [transport.Leaver].
func (s *leaver) Left(out *buf.Queue) (int, bool) {
	a := s.armed.Load()
	if a == nil || !s.armed.CompareAndSwap(a, nil) {
		return 0, false
	}
	fmt.Fprintf(out, "%s let\n", a.name)
	s.goes()
	return a.n, true
}

// goes notes that Feed has left, right before it does.
func (s *leaver) goes() {
	s.x.left.Add(1)
	s.inside.Add(-1)
}

// Feed implements [transport.Session].
func (s *leaver) Feed(in []byte, out *buf.Queue) (n int, err error) {
	done := s.enter("Feed")
	for {
		l, k, ok := line(in[n:])
		if !ok {
			done()
			return n, nil
		}
		n += k
		how, name, _ := strings.Cut(l, " ")
		if s.feedLine(how, name, n, out) {
			continue
		}
		defer s.x.left.Add(-1)
		s.after(how, name)
		return 1 << 30, errors.New("this is ignored")
	}
}

// feedLine reports false if Feed has left.
func (s *leaver) feedLine(how, name string, n int, out *buf.Queue) bool {
	switch strings.TrimSuffix(how, "-exit") {
	case "detached":
		s.Detach()
	case "late":
		s.Detach()
		<-s.x.release
	case "deposed":
		for !s.Detached() {
			time.Sleep(100 * time.Microsecond)
		}
	case "paused":
		s.Pause(true)
		return true
	case "timeout":
		s.SetTimeout(30 * time.Millisecond)
		return true
	case "large":
		out.Ref(pattern(duplexSize))
		return true
	case "let":
		return s.mayGo(n, name, out, func() { <-s.x.release })
	case "coin":
		return s.coin(n, name, out)
	case "exit":
		s.inside.Add(-1)
		runtime.Goexit()
	case "leave":
	case "wait": // for a stay
		s.Detach()
		fallthrough
	default:
		fmt.Fprintf(out, "%s\n", name)
		return true
	}
	fmt.Fprintf(out, "%s left\n", name)
	s.goes()
	s.Leave(n)
	return false
}

// mayGo runs f and reports whether Feed was not let go meanwhile.
func (s *leaver) mayGo(n int, name string, out *buf.Queue, f func()) bool {
	a := &armed{n, name}
	s.armed.Store(a)
	if s.Detached() && s.armed.CompareAndSwap(a, nil) {
		// It was taken over before, or has no loop: nobody lets it go.
		fmt.Fprintf(out, "%s let\n", name)
		s.goes()
		s.Leave(n)
		f()
		return false
	}
	f()
	if !s.armed.CompareAndSwap(a, nil) {
		return false
	}
	fmt.Fprintf(out, "%s kept\n", name)
	return true
}

// after is what a goroutine does that has left.
func (s *leaver) after(how, name string) {
	if how != "coin" {
		<-s.x.release
	}
	s.LocalAddr()
	if strings.HasSuffix(how, "-exit") {
		runtime.Goexit()
	}
	s.Wake(func(out *buf.Queue) error {
		_, err := fmt.Fprintf(out, "%s done\n", name)
		return err
	})
}

// away has a goroutine leave, and wants the connection to be served.
func (x *leaving) away(c *client) {
	x.Helper()
	before := x.left.Load()
	c.send(x.how + " a\nplain b\n")
	c.want("a " + x.answer + "\nb\n")
	if n := x.left.Load(); n != before+1 {
		x.Errorf("%s: %d goroutines have left, want %d", x.how, n, before+1)
	}
}

// ended wants the session of the case's first connection to be closed, for that reason, while
// a goroutine that has left still runs, and never to have been told Lost.
func (x *leaving) ended(why error) {
	x.Helper()
	s := x.session(x.first)
	x.wait(s.gone, "the session is closed")
	if s.why != why {
		x.Errorf("%s: Closed receives %v, want %v", x.how, s.why, why)
	}
	if n := s.losts.Load(); n > 1 { // once it may, until the loop has the connection back
		x.Errorf("%s: Lost is told %d times for a Feed that has left", x.how, n)
	}
	if n := x.left.Load(); n != 1 {
		x.Errorf("%s: %d goroutines have left, want 1", x.how, n)
	}
	if s.Wake(func(*buf.Queue) error { return nil }) {
		x.Errorf("%s: Wake reports true after Closed", x.how)
	}
	close(x.release)
	x.until("those that have left end", func() bool { return x.left.Load() == 0 })
}
