package transporttest

import (
	"net"
	"sync/atomic"

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
