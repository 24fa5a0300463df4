package transporttest

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// lostByWrite has a peer go behind input that nobody reads, while Feed has more to send
// than the socket takes: a write fails, and Lost is told.
func lostByWrite(e *env) {
	release := make(chan struct{})
	var blocked atomic.Bool
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		out.Ref(pattern(duplexSize))
		if err := s.Flush(out, noWait, nil); err != nil {
			return 0, err
		}
		s.Detach()
		blocked.Store(true)
		<-release
		return len(in), nil
	}})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("x")
	s := e.session(0)
	e.until("Feed is blocked", blocked.Load)
	c.send("behind")
	e.until("the input has arrived", func() bool { return !e.limits.NoTakeover || e.transport.Stats().BytesIn == 7 })
	c.reset()
	if err := e.receive(s.lostErr, "Lost is told"); err == nil {
		e.Error("Lost is told nil")
	}
	if s.isClosed.Load() {
		e.Error("Closed is called before Feed has returned")
	}
	close(release)
	e.wait(s.gone, "the session is closed")
}

// stopFull stops to accept while as many connections are open as may be, and another
// waits: it does not wait for one to be closed.
func stopFull(e *env) {
	e.config.MaxConns = 1
	e.start(hooks{feed: echo})
	first := e.dial()
	first.send("one\n")
	first.want("one\n")
	second := e.dial()
	e.until("the limit is counted", func() bool { return e.transport.Stats().Refused > 0 })
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.transport.StopAccepting()
	}()
	e.wait(done, "StopAccepting returns")
	second.wantGone()
	first.send("two\n")
	first.want("two\n")
}

// madeSlowly has the making of one session wait: other connections are served, and the
// one of it is, in the end, though nothing was accepted any more.
func madeSlowly(e *env) {
	for _, end := range []string{"serve", "close"} {
		begun, release := make(chan struct{}), make(chan struct{})
		var made, after atomic.Int64
		e.making = func(c transport.Conn) {
			if made.Add(1) > 1 {
				return
			}
			c.Wake(func(*buf.Queue) error { after.Add(1); return nil })
			close(begun)
			<-release
			if after.Load() != 0 {
				e.Error("a function of Wake's runs before the session is made")
			}
		}
		e.config.Loops = 1
		e.start(hooks{feed: echo})
		slow := e.dial()
		slow.send("slow\n")
		e.wait(begun, "a session is being made")
		for range 3 {
			c := e.dial()
			c.send("hello\n")
			c.want("hello\n")
		}
		e.transport.Each(func(transport.Session, *buf.Queue) error { return nil }, nil) // not of that one
		e.transport.StopAccepting()
		if n := e.transport.Stats().Open; n < 1 {
			e.Errorf("%d connections are open, and one is being made", n)
		}
		if end == "close" {
			e.stop()
			slow.wantGone()
			close(release)
			continue
		}
		close(release)
		slow.want("slow\n")
		e.stop()
	}
}

// stopSlowly stops to accept while connections wait to be accepted, the first of whose sessions is
// made slowly: that one alone waits, and Close comes meanwhile.
func stopSlowly(e *env) {
	begun, release := make(chan struct{}), make(chan struct{})
	var made atomic.Int64
	e.making = func(transport.Conn) {
		if made.Add(1) == 2 {
			close(begun)
			<-release
		}
	}
	e.config.Loops, e.config.Takeover = 1, 20*time.Millisecond
	stopped := make(chan struct{})
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		for range 3 { // the loop accepts nothing meanwhile
			c, err := net.Dial("tcp", e.addr.String())
			if err != nil {
				return 0, err
			}
			e.mu.Lock()
			e.clients = append(e.clients, c)
			e.mu.Unlock()
		}
		go func() {
			defer close(stopped)
			e.transport.StopAccepting()
		}()
		time.Sleep(2 * time.Millisecond) // mostly it has asked by then
		return echo(s, in, out)
	}})
	c := e.dial()
	c.send("one\n")
	c.want("one\n")
	e.wait(begun, "a session is being made")
	e.wait(stopped, "StopAccepting returns")
	e.stop()
	close(release)
}

// closedSlowly closes a transport one of whose sessions blocks in Closed, at the moment at which its
// loop has nothing else to do any more.
func closedSlowly(e *env) {
	fed, release, leave := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e.config.Loops, e.config.Takeover = 1, 20*time.Millisecond
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if in[0] == 'b' {
				s.Detach()
				close(fed)
				<-leave
				return len(in), transport.ErrClosed
			}
			return echo(s, in, out)
		},
		closed: func(s *session, _ error) {
			if s.n == 0 {
				close(leave)
				time.Sleep(5 * time.Millisecond) // mostly the other Feed has returned by then
				return
			}
			<-release
		},
	})
	first := e.dial()
	first.send("one\n")
	first.want("one\n")
	e.dial().send("block\n")
	e.wait(fed, "Feed runs")
	e.stop()
	close(release)
}

// lostBeforeRead has a peer go while Read waits: Lost has been told, and has returned, before Read
// does.
func lostBeforeRead(e *env) {
	var told sync.Map
	early := make(chan error, 1)
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			for p := make([]byte, 10); ; {
				if _, err := s.Read(p, nil); err != nil {
					if _, ok := told.Load(s.n); !ok {
						early <- errors.New("Read returns before Lost")
					} else {
						early <- nil
					}
					return len(in), transport.ErrClosed
				}
			}
		},
		lost: func(s *session, _ error) {
			time.Sleep(time.Millisecond)
			told.Store(s.n, true)
		},
	})
	for i := range 20 {
		c := e.dial()
		c.send("begin")
		s := e.session(i)
		e.until("Feed runs", func() bool { return s.inside.Load() > 0 })
		time.Sleep(time.Millisecond)            // mostly it waits by then
		if i%2 == 0 || e.limits.Secure != nil { // the end of TLS is not that of the connection
			c.reset()
		} else {
			c.Close()
		}
		if err := e.receive(early, "Read returns"); err != nil {
			e.Errorf("connection %d: %v", i, err)
		}
	}
}
