package transporttest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// resetAnywhere has clients leave at all points.
func resetAnywhere(e *env) {
	const size = 300 << 10
	e.start(hooks{feed: sized(size)})
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := e.dial()
		for range r.IntN(4) {
			switch r.IntN(5) {
			case 0:
				c.send("1000\n")
			case 1:
				c.send(fmt.Sprintf("%d\n", size))
			case 2:
				c.send("10")
			case 3:
				time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
			case 4:
				c.send("10\n10\n")
				if _, err := io.ReadAtLeast(c.Conn, make([]byte, 4), 1); err != nil {
					e.Error(err)
				}
			}
		}
		if r.IntN(4) == 0 {
			c.Close()
		} else {
			c.reset()
		}
	}
	// Of those that were reset before they were accepted there need be no session.
	last := e.dial()
	last.send("10\n")
	last.want(string(pattern(10)))
	e.until("the sessions are closed", func() bool { return e.transport.Stats().Open == 1 })
}

// closeInFeed closes from within, in order and at once.
func closeInFeed(e *env) {
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		fmt.Fprint(out, "bye")
		switch l {
		case "error":
			return n, transport.ErrClosed
		case "soon":
			s.Close(transport.Orderly)
			s.Close(transport.Orderly)
		case "now":
			s.Detach()
			s.Close(transport.Reset)
			_, err := s.Read(make([]byte, 1), nil)
			if err == nil {
				e.Error("Read reads from a closed connection")
			}
			if err := s.Flush(out, 0, nil); err == nil {
				// The close may be on its way still: it may not stay away.
				_, err := s.Read(make([]byte, 1), nil)
				e.Logf("Flush was faster than Close; Read: %v", err)
			}
		}
		return n, nil
	}})
	for i, what := range []string{"error", "soon", "now"} {
		c := e.dial()
		c.send(what + "\n")
		if what == "now" {
			if b, err := io.ReadAll(c.r); len(b) > 3 {
				e.Errorf("client reads %q, %v", b, err)
			}
		} else {
			c.want("bye")
			c.wantEnd()
		}
		s := e.session(i)
		e.wait(s.gone, "the session is closed")
		if s.why != nil {
			e.Errorf("%s: Closed receives %v, want nil", what, s.why)
		}
	}
}

// closeElsewhere closes from other goroutines: idle connections, connections
// with output, and busy ones.
func closeElsewhere(e *env) {
	for _, how := range []transport.Closing{transport.Orderly, transport.Abrupt, transport.Reset} {
		release := make(chan struct{})
		var blocked atomic.Bool
		e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if l, _, _ := line(in); l == "block" {
				s.Detach()
				blocked.Store(true)
				<-release
			}
			fmt.Fprint(out, "answer")
			return len(in), nil
		}})
		idle, busy := e.dial(), e.dial()
		idle.send("x\n")
		idle.want("answer")
		busy.send("block\n")
		e.until("Feed is blocked", blocked.Load)
		var wg sync.WaitGroup
		for i := range 2 {
			s := e.session(i)
			for range 4 {
				wg.Go(func() { s.Close(how) })
			}
		}
		wg.Wait()
		idle.wantGone()
		if how != transport.Orderly {
			// Feed has not returned, and the peer sees the end already.
			busy.wantGone()
			close(release)
		} else {
			close(release)
			busy.want("answer")
			busy.wantEnd()
		}
		for i := range 2 {
			s := e.session(i)
			e.wait(s.gone, "the session is closed")
			if s.why != nil {
				e.Errorf("Closed receives %v, want nil", s.why)
			}
			s.Close(how) // does nothing
		}
		e.stop()
		e.mu.Lock()
		e.sessions = nil
		e.mu.Unlock()
	}
}

// cut closes connections so that their clients cannot take what they have got
// for the whole: within Feed, from a Feed that goes on elsewhere, and while idle.
func cut(e *env) {
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		fmt.Fprint(out, "begin")
		switch l, _, _ := line(in); l {
		case "inline":
			s.Close(transport.Reset)
		case "detached":
			s.Detach()
			if err := s.Flush(out, 0, nil); err != nil {
				return 0, err
			}
			s.Close(transport.Reset)
		}
		return len(in), nil
	}})
	for i, how := range []string{"inline", "detached", "idle"} {
		c := e.dial()
		c.send(how + "\n")
		if how == "idle" {
			c.want("begin")
			e.session(i).Close(transport.Reset)
		}
		if _, err := io.ReadAll(c.r); !errors.Is(err, syscall.ECONNRESET) {
			e.Errorf("%s: a client whose connection is cut reads %v, want a reset", how, err)
		}
		e.wait(e.session(i).gone, "the session is closed")
	}
}

// reuse opens and closes connections as fast as it can, so that descriptors are
// used again while events for those before may be on their way.
func reuse(e *env) {
	const clients, rounds = 8, 60
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		n := strings.LastIndexByte(string(in), '\n') + 1
		for range strings.Count(string(in[:n]), "\n") {
			fmt.Fprintf(out, "%s\n", s.RemoteAddr())
		}
		return n, nil
	}})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for range rounds {
				c := e.dial()
				for range 1 + r.IntN(3) {
					c.send("who\n")
					c.want(c.LocalAddr().String() + "\n")
				}
				if r.IntN(3) == 0 {
					c.send("who\nwho\n") // answered to nobody
				}
				if r.IntN(2) == 0 {
					c.reset()
				} else {
					c.Close()
				}
			}
		})
	}
	wg.Wait()
	for i := range clients * rounds {
		e.wait(e.session(i).gone, "the session is closed")
	}
}

// wakeOrder wakes one connection from many goroutines.
func wakeOrder(e *env) {
	const goroutines, each = 8, 200
	e.start(hooks{feed: echo})
	c := e.dial()
	s := e.session(0)
	for g := range goroutines {
		go func() {
			for i := range each {
				if !s.Wake(func(out *buf.Queue) error { fmt.Fprintf(out, "%d %d\n", g, i); return nil }) {
					e.Error("Wake reports false")
				}
			}
		}()
	}
	next := make([]int, goroutines)
	for range goroutines * each {
		l, err := c.r.ReadString('\n')
		var g, i int
		if _, e2 := fmt.Sscanf(l, "%d %d\n", &g, &i); err != nil || e2 != nil {
			e.Fatalf("client reads %q, %v, %v", l, err, e2)
		}
		if i != next[g] {
			e.Fatalf("goroutine %d: %d comes where %d is due", g, i, next[g])
		}
		next[g]++
	}
}

// wakeBusy wakes a connection while Feed runs: the functions wait for it, in
// order.
func wakeBusy(e *env) {
	const wakes = 100
	woken, release := make(chan struct{}), make(chan struct{})
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.Detach()
		for i := range wakes {
			s.Wake(func(out *buf.Queue) error { fmt.Fprintf(out, "%d ", i); return nil })
		}
		close(woken)
		<-release
		fmt.Fprint(out, "feed ")
		return len(in), nil
	}})
	c := e.dial()
	c.send("x")
	e.wait(woken, "Feed has called Wake")
	want := "feed "
	for i := range wakes {
		want += fmt.Sprintf("%d ", i)
	}
	// One that takes its time is taken over; those behind it still wait.
	e.session(0).Wake(func(out *buf.Queue) error { time.Sleep(20 * time.Millisecond); fmt.Fprint(out, "slow "); return nil })
	e.session(0).Wake(func(out *buf.Queue) error { fmt.Fprint(out, "last"); return nil })
	close(release)
	c.want(want + "slow last")
}

// wakeClosed wakes connections that are being closed: functions run before Closed
// or not at all.
func wakeClosed(e *env) {
	var ran atomic.Int64
	e.start(hooks{feed: echo})
	for i := range 20 {
		c := e.dial()
		s := e.session(i)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for s.Wake(func(*buf.Queue) error {
					if s.isClosed.Load() {
						e.Error("a function runs after Closed")
					}
					ran.Add(1)
					return nil
				}) {
					select {
					case <-stop:
						return
					default:
						time.Sleep(10 * time.Microsecond)
					}
				}
			})
		}
		if i == 0 {
			e.until("a function has run", func() bool { return ran.Load() > 0 })
		}
		switch i % 3 {
		case 0:
			c.reset()
		case 1:
			c.Close()
		case 2:
			s.Wake(func(*buf.Queue) error { return errors.New("enough") })
			c.wantEnd()
			c.Close()
		}
		e.wait(s.gone, "the session is closed")
		close(stop)
		wg.Wait()
	}
}

// unixSocket serves on a Unix socket, whose clients have no name. Its file goes
// when the transport stops to accept, or is closed, so that the next one can listen
// there; and never a file that somebody else has put there since.
func unixSocket(e *env) {
	dir, err := os.MkdirTemp("", "redline") // a short path, as it must be
	if err != nil {
		e.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	listen := func() {
		e.Helper()
		e.create(hooks{feed: echo})
		if e.addr, err = e.transport.Listen("unix", path, transport.ListenOptions{}); err != nil {
			e.Fatal(err)
		}
	}
	listen()
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
	e.wantFile(path, false)

	listen()
	e.serve()
	for i := range 10 {
		c := e.dial()
		c.send("hello\n")
		c.want("hello\n")
		s := e.session(i)
		if n := s.LocalAddr().Network() + s.RemoteAddr().Network(); n != "unixunix" {
			e.Errorf("networks are %q", n)
		}
		if at, from := s.LocalAddr().String(), s.RemoteAddr().String(); at != path || from != "@" {
			e.Errorf("addresses are %q and %q, want %q and \"@\"", at, from, path)
		}
		c.halfClose()
		c.wantEnd()
	}
	e.transport.StopAccepting()
	e.wantFile(path, false)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		e.Fatal(err)
	}
	e.stop()
	e.wantFile(path, true)
}

// wantFile wants a file to be there, or not.
func (e *env) wantFile(path string, there bool) {
	e.Helper()
	if _, err := os.Stat(path); (err == nil) != there || err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Errorf("%s: %v, want it there: %v", path, err, there)
	}
}
