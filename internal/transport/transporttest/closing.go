package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A closee is a connection that is in the middle of something when it is closed.
type closee struct {
	what string
	in   chan struct{} // has one when Feed is there
	out  chan error    // what its wait has returned
	mu   sync.Mutex    // held by Feed while it writes and does not wait
}

// full reports whether Feed waits because the socket takes no more.
func (x *closee) full(s *session) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return s.Detached() && s.Pending() > 0
}

// feed answers "begin", and then does what the connection is about.
func (x *closee) feed(release <-chan struct{}) func(*session, []byte, *buf.Queue) (int, error) {
	return func(s *session, in []byte, out *buf.Queue) (int, error) {
		fmt.Fprint(out, "begin")
		if err := s.Flush(out, 0, nil); err != nil {
			return 0, err
		}
		var err error
		switch x.in <- struct{}{}; x.what {
		case "idle":
			return len(in), nil
		case "computes":
			s.Detach()
			<-release
			err = s.Flush(out, 0, nil)
		case "reads":
			_, err = s.Read(make([]byte, 1), nil)
		case "writes":
			out.Ref(pattern(duplexSize))
			x.mu.Lock()
			err = s.Flush(out, 0, &x.mu)
			x.mu.Unlock()
		}
		x.out <- err
		return len(in), nil
	}
}

// closeAnywhere closes connections from elsewhere that do all kinds of things. look is
// given the client then, when Feed cannot have returned by itself.
func closeAnywhere(e *env, how transport.Closing, look func(what string, c *client, s *session)) {
	for _, what := range []string{"idle", "computes", "computes, input behind", "reads", "writes"} {
		release := make(chan struct{})
		name, behind, _ := bytes.Cut([]byte(what), []byte(", "))
		x := &closee{what: string(name), in: make(chan struct{}, 1), out: make(chan error, 1)}
		e.start(hooks{feed: x.feed(release)})
		c := e.dialWith(&net.Dialer{Control: small})
		c.send("x")
		c.want("begin")
		e.wait(x.in, "Feed is there")
		s := e.session(len(e.sessions) - 1)
		if len(behind) > 0 {
			c.send("behind")
		}
		if x.what == "writes" {
			e.until("Feed has more to send than the socket takes", func() bool { return x.full(s) })
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { s.Close(how) })
		}
		wg.Wait()
		look(x.what, c, s)
		if x.what == "reads" || x.what == "writes" {
			if err := e.receive(x.out, "the wait ends"); err != transport.ErrLost {
				e.Errorf("%s: the wait ends with %v, want ErrLost", what, err)
			}
		}
		close(release)
		if x.what == "computes" {
			e.receive(x.out, "Flush returns")
		}
		c.Close()
		e.wait(s.gone, "the session is closed")
		if s.why != nil {
			e.Errorf("%s: Closed receives %v, want nil", what, s.why)
		}
		e.stop()
	}
}

// abrupt ends connections at once: the peer gets what the kernel has and the end, and
// a Feed that runs is told.
func abrupt(e *env) {
	closeAnywhere(e, transport.Abrupt, func(what string, c *client, s *session) {
		p := pattern(duplexSize)
		b, err := io.ReadAll(c.r)
		if err != nil || len(b) == len(p) || !bytes.HasPrefix(p, b) || len(b) > 0 && what != "writes" {
			e.Errorf("%s: client reads %d bytes, %v, want the beginning of what was sent, and the end", what, len(b), err)
		}
		if what == "idle" {
			return
		}
		if err := e.receive(s.lostErr, "Lost is told"); err == nil {
			e.Error("Lost is told nil")
		}
	})
}

// resetBusy is the same with a reset, of which a Feed is not told.
func resetBusy(e *env) {
	closeAnywhere(e, transport.Reset, func(what string, c *client, s *session) {
		if _, err := io.ReadAll(c.r); !errors.Is(err, syscall.ECONNRESET) {
			e.Errorf("%s: client reads %v, want a reset", what, err)
		}
		if s.losts.Load() != 0 {
			e.Errorf("%s: Lost is told", what)
		}
	})
}

// closeWithin has Feed close its connection with a lock held that Lost needs.
func closeWithin(e *env) {
	for _, how := range []transport.Closing{transport.Abrupt, transport.Reset} {
		var mu sync.Mutex
		got := make(chan error, 2)
		e.start(hooks{
			feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprint(out, "begin")
				if err := s.Flush(out, 0, &mu); err != nil {
					return 0, err
				}
				s.Detach()
				s.Close(how)
				_, err := s.Read(make([]byte, 1), &mu)
				got <- err
				return len(in), nil
			},
			lost: func(*session, error) {
				mu.Lock()
				defer mu.Unlock()
			},
		})
		c := e.dial()
		c.send("x")
		c.want("begin")
		if err := e.receive(got, "Read returns"); err != transport.ErrLost {
			e.Errorf("Read returns %v, want ErrLost", err)
		}
		c.wantGone()
		s := e.session(len(e.sessions) - 1)
		e.wait(s.gone, "the session is closed")
		if n := s.losts.Load(); how == transport.Reset && n != 0 {
			e.Error("Lost is told of a reset that the session has asked for")
		}
		e.stop()
	}
}

// slowToClose closes connections with output pending whose peer takes it late, but
// does: the session is asked at each timeout, and everything arrives.
func slowToClose(e *env) {
	const timeouts = 4
	var expired atomic.Int64
	p := pattern(duplexSize)
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			s.SetTimeout(20 * time.Millisecond)
			out.Ref(p)
			return len(in), transport.ErrClosed
		},
		expired: func(s *session, out *buf.Queue) error {
			if n := expired.Add(1); n < timeouts {
				s.SetTimeout(20 * time.Millisecond)
			} else if n == timeouts {
				fmt.Fprint(out, "late") // and no timeout: there is one of the transport's
			}
			return nil
		},
	})
	for i := range 2 {
		expired.Store(0)
		c := e.dialWith(&net.Dialer{Control: small})
		c.send("x")
		e.until("the session has expired more than once", func() bool { return expired.Load() >= timeouts })
		c.want(string(p) + "late")
		c.wantEnd()
		s := e.session(i)
		e.wait(s.gone, "the session is closed")
		if s.why != nil {
			e.Errorf("Closed receives %v, want nil", s.why)
		}
	}
}

// stuckToClose is the same with a peer that takes nothing: the session sees that, and
// has it cut.
func stuckToClose(e *env) {
	last := -1 // of what the peer had to take
	p := pattern(duplexSize)
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			s.SetTimeout(50 * time.Millisecond)
			out.Ref(p)
			return len(in), transport.ErrClosed
		},
		expired: func(s *session, _ *buf.Queue) error {
			n := s.Untaken()
			if n == last {
				return transport.ErrClosed
			}
			last = n
			s.SetTimeout(50 * time.Millisecond)
			return nil
		},
	})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("x")
	s := e.session(0)
	e.wait(s.gone, "the session is closed")
	if b, err := io.ReadAll(c.r); !errors.Is(err, syscall.ECONNRESET) || len(b) == len(p) {
		e.Errorf("client reads %d bytes of %d, %v, want a reset before all", len(b), len(p), err)
	}
}

// highWaterSet wants nothing to be fed beyond the mark of the configuration to a session
// whose client pipelines and does not read, and what was left to be fed when all is sent.
func highWaterSet(e *env) {
	const size, requests = 64 << 10, 300 // more than the socket takes
	e.config.HighWater = 24 << 10
	answer := pattern(size)
	var fed atomic.Int64
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		if n := s.Pending(); n > e.config.HighWater {
			e.Errorf("the session is fed while %d bytes are pending", n)
		}
		for i := range in {
			out.Ref(answer)
			fed.Add(1)
			if err := s.Flush(out, noWait, nil); err != nil || s.Pending() > 0 {
				return i + 1, err // the rest comes again, when all is sent
			}
		}
		return len(in), nil
	}})
	c := e.dialWith(&net.Dialer{Control: small})
	s := e.session(0)
	pending := func() int {
		n := make(chan int, 1)
		s.Wake(func(*buf.Queue) error { n <- s.Pending(); return nil })
		return <-n
	}
	for range requests {
		c.send("x")
		if n := pending(); n > e.config.HighWater+size {
			e.Fatalf("%d bytes are pending for a client that does not read", n)
		}
	}
	if n := fed.Load(); n == requests {
		e.Error("a client that does not read is not held back")
	}
	for range requests {
		c.want(string(answer))
	}
	e.until("everything is sent", func() bool { return fed.Load() == requests && pending() == 0 })
}

// untaken wants what the peer has not taken to fall as it reads.
func untaken(e *env) {
	p := pattern(duplexSize)
	e.start(hooks{feed: func(_ *session, in []byte, out *buf.Queue) (int, error) {
		out.Ref(p)
		return len(in), nil
	}})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("x")
	c.want(string(p[:1]))
	s := e.session(0)
	left := func() int {
		n := make(chan int, 1)
		s.Wake(func(*buf.Queue) error {
			k := s.Untaken()
			if pending := s.Pending(); k < pending {
				e.Errorf("%d bytes are untaken, %d of them pending", k, pending)
			}
			n <- k
			return nil
		})
		return <-n
	}
	for off := 1; off < len(p); {
		before, n := left(), min(len(p)-off, 1<<20)
		c.want(string(p[off : off+n]))
		off += n
		e.until("what is untaken falls", func() bool { return left() < before || off == len(p) })
	}
	e.until("all is taken", func() bool { return left() == 0 })
}
