package transporttest

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A stayer answers lines, and has given up its loop before: a transport may have the
// goroutine keep the connection then. What a line begins with says what it does else.
type stayer struct {
	*env
	client  *client
	session *session
	eofs    chan string // what EOF was given
	expired chan struct{}
	taken   chan net.Conn
	blocks  chan struct{} // closed when Feed has got "block"
	release chan struct{} // ends it
}

func (x *stayer) feed(s *session, in []byte, out *buf.Queue) (n int, err error) {
	for {
		l, k, ok := line(in[n:])
		if !ok {
			return n, nil
		}
		n += k
		what, _, _ := strings.Cut(l, " ")
		if what != "quick" {
			s.Detach()
		}
		switch what {
		case "timeout":
			s.SetTimeout(20 * time.Millisecond)
		case "hijack":
			nc, err := s.Hijack(in[n:], out)
			if err != nil {
				return n, err
			}
			s.hijacked.Store(true)
			x.taken <- nc
			return n, nil
		case "block":
			close(x.blocks)
			<-x.release
		case "exit":
			runtime.Goexit()
		case "content":
			p := make([]byte, 4)
			if _, err := io.ReadFull(reader{s}, p); err != nil {
				return n, err
			}
			l = string(p)
		}
		fmt.Fprintf(out, "%s\n", l)
	}
}

// reader reads from a connection within Feed.
type reader struct{ s *session }

func (r reader) Read(p []byte) (int, error) { return r.s.Conn.Read(p, nil) }

// ask sends a line and wants it back.
func (x *stayer) ask(l string) {
	x.Helper()
	x.client.send(l + "\n")
	x.client.want(l + "\n")
}

// stayed reports how many Feeds were by a goroutine that had kept its connection.
func (x *stayer) stayed() uint64 { return x.transport.Stats().Stayed }

// keep asks until the connection is kept, if the transport does that.
func (x *stayer) keep() {
	x.Helper()
	before := x.stayed()
	x.until("the connection is kept", func() bool {
		x.ask("wait")
		return x.stayed() >= before+3 || x.limits.NoTakeover
	})
}

// staying has a connection kept, and does something to it.
func staying(run func(x *stayer)) func(*env) {
	return func(e *env) {
		x := &stayer{
			env: e, eofs: make(chan string, 1), expired: make(chan struct{}, 1), taken: make(chan net.Conn, 1),
			blocks: make(chan struct{}), release: make(chan struct{}),
		}
		e.start(hooks{
			feed: x.feed,
			eof: func(_ *session, unread []byte, _ *buf.Queue) error {
				x.eofs <- string(unread)
				return transport.ErrClosed
			},
			expired: func(*session, *buf.Queue) error {
				x.expired <- struct{}{}
				return transport.ErrClosed
			},
		})
		x.client = e.dial()
		x.ask("wait")
		x.session = e.session(0)
		x.keep()
		run(x)
	}
}

// gone wants the connection to be closed, for that reason.
func (x *stayer) gone(why error) {
	x.Helper()
	x.wait(x.session.gone, "the session is closed")
	if x.session.why != why {
		x.Errorf("Closed receives %v, want %v", x.session.why, why)
	}
}

var stays = []testCase{
	{"stay/input of all kinds", staying(func(x *stayer) {
		long := "wait " + strings.Repeat("x", 10<<10)
		x.ask(long)
		x.client.send("wait a\nwait b\nwa")
		x.client.want("wait a\nwait b\n")
		x.client.send("it c\n")
		x.client.want("wait c\n")
		x.keep()
		x.client.send("content\n")
		time.Sleep(10 * time.Millisecond) // it waits, most likely
		x.client.send("abcd")
		x.client.want("abcd\n")
		x.keep()
	})},
	{"stay/quick", staying(func(x *stayer) {
		for range 50 {
			x.ask("quick")
		}
		before := x.stayed()
		for range 50 {
			x.ask("quick")
		}
		if n := x.stayed() - before; n != 0 {
			x.Errorf("%d quick Feeds are kept off the loop", n)
		}
		x.keep()
	})},
	{"stay/end", staying(func(x *stayer) {
		x.client.halfClose()
		x.client.wantEnd()
		x.gone(nil)
		if got := <-x.eofs; got != "" {
			x.Errorf("EOF is given %q", got)
		}
	})},
	{"stay/end behind data", staying(func(x *stayer) {
		x.client.send("wait\nwai")
		x.client.halfClose()
		x.client.want("wait\n")
		x.client.wantEnd()
		x.gone(nil)
		if got := <-x.eofs; got != "wai" {
			x.Errorf("EOF is given %q", got)
		}
	})},
	{"stay/reset", staying(func(x *stayer) {
		x.client.reset()
		x.wait(x.session.gone, "the session is closed")
	})},
	{"stay/closed", staying(func(x *stayer) {
		x.session.Close(transport.Orderly)
		x.client.wantEnd()
		x.gone(nil)
	})},
	{"stay/closed abruptly", staying(func(x *stayer) {
		x.session.Close(transport.Abrupt)
		x.client.wantEnd()
		x.gone(nil)
	})},
	{"stay/closed with a reset", staying(func(x *stayer) {
		x.session.Close(transport.Reset)
		x.client.wantGone()
		x.gone(nil)
	})},
	{"stay/wake", staying(func(x *stayer) {
		for range 5 {
			x.session.Wake(func(out *buf.Queue) error {
				fmt.Fprint(out, "woken\n")
				return nil
			})
			x.client.want("woken\n")
			x.keep()
		}
	})},
	{"stay/visit", staying(func(x *stayer) {
		for range 5 {
			visited := make(chan struct{}, 1)
			x.until("it is visited", func() bool { // not while Feed runs
				x.transport.Each(func(_ transport.Session, out *buf.Queue) error {
					fmt.Fprint(out, "visited\n")
					visited <- struct{}{}
					return nil
				}, nil)
				return len(visited) > 0
			})
			x.client.want("visited\n")
			x.keep()
		}
	})},
	{"stay/deadline", staying(func(x *stayer) {
		x.ask("timeout")
		x.wait(x.expired, "the session expires")
		x.client.wantEnd()
		x.gone(nil)
	})},
	{"stay/hijack", staying(func(x *stayer) {
		x.client.send("hijack\n")
		nc := x.hijacked(x.taken)
		fmt.Fprint(nc, "mine")
		nc.Close()
		x.client.want("mine")
		x.client.wantEnd()
	})},
	{"stay/goroutine ends", staying(func(x *stayer) {
		x.client.send("exit\n")
		x.client.wantGone()
		x.gone(transport.ErrExited)
	})},
	{"stay/transport closes", staying(func(x *stayer) {
		x.stop()
		x.client.wantGone()
		x.gone(transport.ErrStopped)
	})},
	{"stay/visit while Feed runs", staying(func(x *stayer) {
		x.client.send("block\n")
		x.wait(x.blocks, "Feed runs")
		x.transport.Each(func(s transport.Session, _ *buf.Queue) error {
			x.Error("a session is visited while it is fed")
			return nil
		}, nil)
		close(x.release)
		x.client.want("block\n")
	})},
}
