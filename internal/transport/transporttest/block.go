package transporttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// blocker answers lines; "block" waits first, and what is on both sides of it in
// the same input is answered too.
func blocker(release <-chan struct{}, detach bool, blocked *atomic.Int64) func(*session, []byte, *buf.Queue) (int, error) {
	return func(s *session, in []byte, out *buf.Queue) (n int, err error) {
		for {
			l, k, ok := line(in[n:])
			if !ok {
				return n, nil
			}
			n += k
			if l == "block" {
				if detach {
					s.Detach()
				}
				blocked.Add(1)
				<-release
				if !s.Detached() {
					s.e.Error("Feed has blocked, and still leads the loop")
				}
			}
			fmt.Fprintf(out, "%s\n", l)
		}
	}
}

func blockedMany(e *env)     { blocked(e, 150, false) }
func blockedDetached(e *env) { blocked(e, 1000, true) }

// blocked blocks many Feeds, and wants other connections to be served.
func blocked(e *env, n int, detach bool) {
	release := make(chan struct{})
	var count atomic.Int64
	e.start(hooks{feed: blocker(release, detach, &count)})
	other := e.dial()
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = e.dial()
		clients[i].send("block\n")
		if i%50 == 0 {
			other.send("other\n")
			other.want("other\n")
		}
	}
	e.until("all Feeds are blocked", func() bool { return count.Load() == int64(n) })
	for range 10 {
		other.send("other\n")
		other.want("other\n")
		c := e.dial()
		c.send("new\n")
		c.want("new\n")
	}
	e.handedOver(uint64(n)) // the last one may lead still
	if s := e.transport.Stats(); !e.limits.NoTakeover && detach && s.Detached < uint64(n)/2 {
		e.Errorf("%d Feeds have detached, stats say %+v", n, s)
	} else if !e.limits.NoTakeover && !detach && (s.Takeovers == 0 || s.Takeovers > s.Spared) {
		e.Errorf("of %d Feeds the first few are taken over, and the rest begin off the loop, stats say %+v", n, s)
	}
	close(release)
	for _, c := range clients {
		c.want("block\n")
		c.send("again\n")
		c.want("again\n")
	}
}

// blockedPipelined has requests before and behind one that blocks, in the same
// input and coming later.
func blockedPipelined(e *env) {
	for _, detach := range []bool{false, true} {
		release := make(chan struct{})
		var count atomic.Int64
		e.start(hooks{feed: blocker(release, detach, &count)})
		c, other := e.dial(), e.dial()
		c.send("one\nblock\nthree\nfo")
		e.until("Feed is blocked", func() bool { return count.Load() == 1 })
		c.send("ur\nfive\n")
		other.send("other\n")
		other.want("other\n")
		e.handedOver(1)
		close(release)
		c.want("one\nblock\nthree\nfour\nfive\n")
		other.send("other\n")
		other.want("other\n")
		e.stop()
	}
}

// lostWhileBlocked wants Lost when the client leaves while Feed blocks.
func lostWhileBlocked(e *env) {
	for i, leave := range []func(c *client){
		func(c *client) { c.Close() },
		(*client).reset,
		(*client).halfClose,
	} {
		release := make(chan struct{})
		var count atomic.Int64
		e.start(hooks{feed: blocker(release, i%2 == 0, &count)})
		c := e.dial()
		c.send("block\n")
		e.until("Feed is blocked", func() bool { return count.Load() == 1 })
		n := len(e.sessions)
		s := e.session(n - 1)
		if l := s.losts.Load(); l != 0 {
			e.Error("Lost is told before the client leaves")
		}
		leave(c)
		if err := e.receive(s.lostErr, "Lost is told"); err == nil {
			e.Error("Lost is told nil")
		}
		e.handedOver(1)
		close(release)
		if i == 2 {
			c.want("block\n") // it still reads
			c.wantEnd()
		}
		e.wait(s.gone, "the session is closed")
		e.stop()
	}
}

// lostBehindData is the same with bytes in between that nobody reads.
func lostBehindData(e *env) {
	release := make(chan struct{})
	var count atomic.Int64
	e.start(hooks{feed: blocker(release, true, &count)})
	c := e.dial()
	c.send("block\n")
	e.until("Feed is blocked", func() bool { return count.Load() == 1 })
	s := e.session(0)
	c.send("more\n")
	time.Sleep(10 * time.Millisecond)
	c.Close()
	if !e.limits.LostBehindData {
		e.receive(s.lostErr, "Lost is told")
	}
	close(release)
	e.wait(s.gone, "the session is closed")
}

// lostWhilePaused wants Lost to be told to a paused session.
func lostWhilePaused(e *env) {
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.Pause(true)
		fmt.Fprint(out, "paused")
		return len(in), nil
	}})
	for i, leave := range []func(c *client){(*client).halfClose, (*client).reset} {
		c := e.dial()
		c.send("x")
		c.want("paused")
		leave(c)
		s := e.session(i)
		if i == 0 {
			e.receive(s.lostErr, "Lost is told")
			s.Wake(func(*buf.Queue) error { s.Pause(false); return nil })
		}
		e.wait(s.gone, "the session is closed")
	}
}

// takeoverAnywhere has handlers that take about as long as a takeover, so that it
// comes at all points of a Feed and after it.
func takeoverAnywhere(e *env) {
	e.config.Takeover = 200 * time.Microsecond
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (n int, err error) {
		r := rand.New(rand.NewPCG(uint64(s.n), uint64(len(in))))
		for {
			l, k, ok := line(in[n:])
			if !ok {
				return n, nil
			}
			n += k
			switch r.IntN(6) {
			case 0:
				time.Sleep(time.Duration(r.IntN(400)) * time.Microsecond)
			case 1:
				for end := time.Now().Add(time.Duration(r.IntN(600)) * time.Microsecond); time.Now().Before(end); {
					out.Len() // busy
				}
			case 2:
				s.Detach()
			case 3:
				if err := s.Flush(out, 0, nil); err != nil {
					return n, err
				}
			case 4:
				s.SetTimeout(time.Duration(1+r.IntN(100)) * time.Hour)
			}
			fmt.Fprintf(out, "%s\n", l)
		}
	}})
	var wg sync.WaitGroup
	for i := range 16 {
		c := e.dial()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 4))
			for range 60 {
				s := text(r, 1, 10) + text(r, r.IntN(100), 30)
				cut := r.IntN(len(s))
				c.send(s[:cut])
				c.send(s[cut:])
				c.want(s)
			}
		})
	}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				e.transport.Each(func(transport.Session, *buf.Queue) error { return nil }, stop)
			}
		}
	}()
	wg.Wait()
	close(stop)
}

// released has sessions release their input at all points, and read and give back
// what comes next.
func released(e *env) {
	e.config.Takeover = 200 * time.Microsecond
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		s.Unread(in[n:])
		switch s.n % 4 {
		case 0:
			s.Release()
		case 1:
			s.Release()
			s.Detach()
		case 2:
			s.Detach()
			s.Release()
		case 3:
			s.Release()
			time.Sleep(300 * time.Microsecond)
		}
		_, err := fmt.Fprintf(out, "%s\n", l)
		return len(in), err
	}})
	var clients []*client
	for range 8 {
		clients = append(clients, e.dial())
	}
	for round := range 60 {
		for i, c := range clients {
			c.send(fmt.Sprintf("%d %d\nsecond\npart", i, round))
		}
		for i, c := range clients {
			c.want(fmt.Sprintf("%d %d\nsecond\n", i, round))
			c.send("ial\n")
			c.want("partial\n")
		}
	}
}

// deadlineIdle expires connections that do nothing.
func deadlineIdle(e *env) {
	expired := make(chan int, 8)
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			s.SetTimeout(30 * time.Millisecond)
			return len(in), nil
		},
		expired: func(s *session, out *buf.Queue) error {
			fmt.Fprint(out, "expired ")
			expired <- s.n
			if len(expired) == 1 {
				// Expired is told once, and the connection goes on.
				go func() {
					time.Sleep(150 * time.Millisecond)
					s.Wake(func(*buf.Queue) error { s.SetTimeout(-1); return nil })
				}()
				return nil
			}
			return transport.ErrClosed
		},
	})
	c, silent := e.dial(), e.dial()
	c.send("x")
	c.want("expired expired ")
	c.wantEnd()
	if n := len(expired); n != 2 {
		e.Errorf("Expired is called %d times, want 2", n)
	}
	silent.send("y")
	silent.want("expired ")
}

// deadlineMoved moves deadlines on and back, and takes them away.
func deadlineMoved(e *env) {
	var expired, near atomic.Int64
	near.Store(int64(20 * time.Millisecond))
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			switch l, _, _ := line(in); l {
			case "far":
				s.SetTimeout(time.Hour)
			case "near":
				s.SetTimeout(time.Duration(near.Load()))
			case "never":
				s.SetTimeout(0)
			}
			fmt.Fprint(out, "ok")
			return len(in), nil
		},
		expired: func(*session, *buf.Queue) error { expired.Add(1); return transport.ErrClosed },
	})
	c, failed := e.dial(), int64(0)
	for ; !c.moves("near\n", "far\n", "near\n", "never\n"); c = e.dial() {
		// The client, or the server, was slower than the deadline.
		if failed++; near.Load() > int64(patience) {
			e.Fatal("a deadline that was moved has passed")
		}
		near.Store(8 * near.Load())
	}
	d := e.dial()
	d.send("far\n")
	d.want("ok")
	d.send("near\n")
	d.want("ok")
	d.wantEnd()
	c.send("far\n")
	c.want("ok")
	if n := expired.Load(); n != failed+1 {
		e.Errorf("%d connections expired, want %d", n, failed+1)
	}
}

// moves sends lines, and reports whether each was answered.
func (c *client) moves(lines ...string) bool {
	b := make([]byte, len("ok"))
	for _, l := range lines {
		if _, err := io.WriteString(c.Conn, l); err != nil {
			return false
		}
		if _, err := io.ReadFull(c.r, b); err != nil || string(b) != "ok" {
			return false
		}
	}
	return true
}
