package transporttest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// An exit is a case in which sessions end their goroutines.
type exit struct {
	*env
	release chan struct{}
	waited  chan error // what Read returns of a goroutine that is left over
	other   *client
	n       int // of the next session
}

// end ends the goroutine.
func (x *exit) end(s *session, how string) {
	switch how {
	case "detached":
		s.Detach()
	case "taken over":
		for end := time.Now().Add(patience); !s.Detached() && time.Now().Before(end); {
			time.Sleep(100 * time.Microsecond)
		}
	case "shared":
		var mu sync.Mutex
		waiting := make(chan struct{})
		go func() {
			mu.Lock()
			defer mu.Unlock()
			close(waiting)
			_, err := s.Read(make([]byte, 1), &mu)
			x.waited <- err
		}()
		<-waiting
		mu.Lock() // it waits
		defer mu.Unlock()
	case "left over":
		s.Detach()
		<-x.release
	}
	runtime.Goexit()
}

func (x *exit) feed(s *session, in []byte, out *buf.Queue) (int, error) {
	l, _, ok := line(in)
	if !ok {
		return 0, nil
	}
	fmt.Fprint(out, "answer")
	if l != "plain" {
		x.end(s, l)
	}
	return len(in), nil
}

// served wants another connection to be served.
func (x *exit) served() {
	x.Helper()
	x.other.send("plain\n")
	x.other.want("answer")
}

// ended wants a connection to be cut whose session has ended its goroutine.
func (x *exit) ended(how string, c *client) {
	x.Helper()
	s := x.session(x.n)
	x.n++
	x.wait(s.gone, "the session is closed")
	if s.why != transport.ErrExited {
		x.Errorf("%s: Closed receives %v, want ErrExited", how, s.why)
	}
	if b, err := io.ReadAll(c.r); len(b) > 0 || err == nil {
		x.Errorf("%s: client reads %q, %v, want a reset", how, b, err)
	}
	x.served()
}

// goexit has sessions end their goroutines, as a test's handler does that fails:
// their connections are cut, and the others are served.
func goexit(e *env) {
	x := &exit{env: e, release: make(chan struct{}), waited: make(chan error, 1)}
	e.start(hooks{feed: x.feed, closed: func(s *session, _ error) {
		if s.n == 0 {
			runtime.Goexit()
		}
	}})
	first := e.dial()
	e.session(0)
	x.other, x.n = e.dial(), 2
	x.served()
	for _, how := range []string{"inline", "detached", "taken over", "shared"} {
		for range 3 {
			c := e.dial()
			c.send(how + "\n")
			x.ended(how, c)
			if how != "shared" {
				continue
			}
			if err := e.receive(x.waited, "Read returns"); err != transport.ErrLost {
				e.Errorf("Read returns %v", err)
			}
		}
	}
	// The same in a function of Wake's, with another behind it, and of Each's.
	c := e.dial()
	s := e.session(x.n)
	s.Wake(func(*buf.Queue) error { x.end(s, "inline"); return nil })
	s.Wake(func(*buf.Queue) error { return nil })
	x.ended("wake", c)
	c = e.dial()
	s = e.session(x.n)
	e.transport.Each(func(each transport.Session, _ *buf.Queue) error {
		if each == transport.Session(s) {
			x.end(s, "inline")
		}
		return nil
	}, nil)
	x.ended("each", c)
	// And in Closed, and in a Feed that is left over when the transport is closed.
	first.Close()
	e.wait(e.session(0).gone, "the session is closed")
	c = e.dial()
	c.send("left over\n")
	s = e.session(x.n)
	e.handedOver(1)
	x.served()
	e.stop()
	close(x.release)
	e.wait(s.gone, "the session is closed")
}

// goexitMaking has the making of a session end its goroutine.
func goexitMaking(e *env) {
	var made atomic.Int64
	e.making = func(transport.Conn) {
		if made.Add(1) == 1 {
			runtime.Goexit()
		}
	}
	e.config.Loops = 1
	e.start(hooks{feed: echo})
	if c, err := net.DialTimeout("tcp", e.addr.String(), patience); err == nil { // it may be gone already
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			e.Error(err)
		}
		(&client{Conn: c, e: e, r: bufio.NewReader(c)}).wantGone()
		c.Close()
	}
	for range 3 {
		c := e.dial()
		c.send("hello\n")
		c.want("hello\n")
	}
}
