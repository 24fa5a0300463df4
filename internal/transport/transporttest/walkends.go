package transporttest

import (
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// walkLosing has peers leave in all ways while walks go through their connections.
func walkLosing(e *env) {
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(60)
	var stop atomic.Bool
	var left sync.WaitGroup
	for l, list := range by {
		left.Add(1)
		i := 0
		e.walk(l, func() (transport.Turned, bool) {
			i++
			if stop.Load() {
				left.Done()
				return nil, false
			}
			return list[i%len(list)].owes(), true
		})
	}
	for i, c := range clients {
		switch i % 3 {
		case 0:
			c.Close()
		case 1:
			if tcp, ok := c.Conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			c.Close()
		case 2:
			e.session(i).Close([]transport.Closing{transport.Orderly, transport.Abrupt, transport.Reset}[i/3%3])
		}
	}
	for i := range clients {
		e.wait(e.session(i).gone, "the session is closed")
	}
	stop.Store(true)
	e.waitAll(&left, "the walks end")
	if e.session(0).looped().Turn() {
		e.Error("Turn reports true after Closed")
	}
}

// waitAll waits for a group.
func (e *env) waitAll(g *sync.WaitGroup, what string) {
	e.Helper()
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	e.wait(done, what)
}

// walkClosing has each turn end its connection, in order: what it wrote arrives.
func walkClosing(e *env) {
	e.start(hooks{feed: echo, turn: func(s *session, out *buf.Queue) error {
		_ = hello(s, out)
		return transport.ErrClosed
	}})
	clients, by := e.crowd(20)
	for l, list := range by {
		e.walk(l, through(append(list, list...)))
	}
	for _, c := range clients {
		b, err := io.ReadAll(c.r)
		if text := string(b); err != nil || text != "turn 1\n" && text != "turn 1\nturn 2\n" {
			e.Errorf("client reads %q, %v", text, err)
		}
	}
}

// turnBlocks has turns that do not return: the walk continues without them.
func turnBlocks(e *env) {
	release := make(chan struct{})
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: func(s *session, out *buf.Queue) error {
		if s.n%3 == 0 {
			<-release
		}
		return hello(s, out)
	}})
	clients, by := e.crowd(9)
	for l, list := range by {
		e.walk(l, through(list))
	}
	for i, c := range clients {
		if i%3 != 0 {
			c.want("turn 1\n")
			c.wantEcho()
		}
	}
	close(release)
	for i, c := range clients {
		if i%3 == 0 {
			c.want("turn 1\n")
			c.wantEcho()
		}
	}
}

// nextBlocks has a next that does not return: the loop goes on, and the walk when it has.
func nextBlocks(e *env) {
	release := make(chan struct{})
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(4)
	for l, list := range by {
		next := through(list)
		i := 0
		e.walk(l, func() (transport.Turned, bool) {
			if i++; i == 3 {
				<-release
			}
			return next()
		})
		e.walk(l, through(list))
	}
	for i, c := range clients {
		if i < 2 {
			c.want("turn 1\n")
		}
		c.wantEcho()
	}
	close(release)
	for i, c := range clients {
		if i >= 2 {
			c.want("turn 1\n")
		}
		c.want("turn 2\n")
		c.wantEcho()
	}
}

// nextExits has next end its goroutine: its walk is over, and others go on.
func nextExits(e *env) {
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(2)
	for l, list := range by {
		for range 3 {
			e.walk(l, func() (transport.Turned, bool) { runtime.Goexit(); return nil, true })
			e.walk(l, through(list))
		}
	}
	for _, c := range clients {
		c.want("turn 1\nturn 2\nturn 3\n")
	}
}

// turnExits has a turn end its goroutine: its connection is cut, and the walk goes on.
func turnExits(e *env) {
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: func(s *session, out *buf.Queue) error {
		if s.n == 0 {
			runtime.Goexit()
		}
		return hello(s, out)
	}})
	clients, by := e.crowd(3)
	for l, list := range by {
		e.walk(l, through(list))
	}
	clients[1].want("turn 1\n")
	clients[2].want("turn 1\n")
	clients[0].wantGone()
}

// turnSlow has turns write more than the socket accepts to a peer that reads late: Drained is
// told when all of it has gone, and until then there is no end.
func turnSlow(e *env) {
	const size = 8 << 20
	drained := make(chan struct{}, 100)
	text := []byte(strings.Repeat("0123456789abcdef", size/16))
	e.start(hooks{
		feed: echo, drained: func(*session) { drained <- struct{}{} },
		turn: func(_ *session, out *buf.Queue) error { out.Ref(text); return nil },
	})
	clients, by := e.crowd(1)
	for _, list := range by {
		if !list[0].looped().Turn() {
			e.Error("Turn reports false")
		}
		e.full(list[0])
	}
	clients[0].want(string(text))
	select {
	case <-drained:
	case <-time.After(patience):
		e.Fatal("waited in vain until Drained is told")
	}
	clients[0].wantEcho()
}

// walkEnds closes the transport while walks do not end: they do.
func walkEnds(e *env) {
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(20)
	var steps atomic.Int64
	for l, list := range by {
		i := 0
		e.walk(l, func() (transport.Turned, bool) {
			i++
			steps.Add(1)
			return list[i%len(list)].owes(), true
		})
		l.Later(time.Hour, func() { e.Error("a function is called before it is due") })
	}
	for _, c := range clients {
		c.want("turn 1\n")
		c.Close()
	}
	e.stop()
	e.until("next is not called any more", func() bool {
		before := steps.Load()
		time.Sleep(10 * time.Millisecond)
		return steps.Load() == before
	})
	for l := range by {
		if l.Walk(func() (transport.Turned, bool) { e.Error("next is called"); return nil, false }) {
			e.Error("Walk reports true after Close")
		}
		if l.Later(0, func() { e.Error("a function is called") }) {
			e.Error("Later reports true after Close")
		}
	}
}

// later calls functions in the order in which they are due, and not sooner.
func later(e *env) {
	e.config.Takeover = time.Hour // a function that is held up holds up those that follow
	e.start(hooks{feed: echo})
	_, by := e.crowd(1)
	for l := range by {
		var from, to [5]time.Time // when each is due
		order := make(chan int, 20)
		for _, i := range []int{3, 1, 4, 0, 2} {
			after := time.Duration(i) * 50 * time.Millisecond
			due := time.Now().Add(after)
			l.Later(after, func() {
				if early := time.Until(due); early > 0 {
					e.Errorf("function %d is called %v early", i, early)
				}
				order <- i
			})
			from[i], to[i] = due, time.Now().Add(after)
		}
		var called []int
		for range 5 {
			select {
			case i := <-order:
				for _, j := range called {
					if to[i].Before(from[j]) {
						e.Errorf("function %d is called before function %d", j, i)
					}
				}
				called = append(called, i)
			case <-time.After(patience):
				e.Fatal("waited in vain until a function is called")
			}
		}
		done := make(chan struct{})
		l.Later(-time.Hour, func() { close(done) })
		e.wait(done, "a function that is overdue is called")
	}
}

// laterBlocks has a function that does not return: the loop goes on, and the functions that follow
// wait for it.
func laterBlocks(e *env) {
	release, begun, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(2)
	for l, list := range by {
		var running atomic.Int32
		alone := func(f func()) func() {
			return func() {
				if n := running.Add(1); n > 1 {
					e.Errorf("%d functions run at a time", n)
				}
				f()
				running.Add(-1)
			}
		}
		l.Later(0, alone(func() { close(begun); <-release }))
		e.wait(begun, "the first function is called")
		l.Later(0, alone(func() {}))
		e.walk(l, func() (at transport.Turned, more bool) {
			alone(func() {
				if more = len(list) > 0; more {
					at, list = list[0].owes(), list[1:]
				}
			})()
			return at, more
		})
		l.Later(time.Millisecond, alone(func() { close(done) }))
	}
	for range 3 { // longer than the other functions need to be due
		for _, c := range clients {
			c.wantEcho()
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-done:
		e.Error("a function is called beside one that has not returned")
	default:
	}
	close(release)
	e.wait(done, "the last function is called")
	for _, c := range clients {
		c.want("turn 1\n")
	}
}

// laterExits has functions end their goroutines: those that follow are called.
func laterExits(e *env) {
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(2)
	for l, list := range by {
		for range 3 {
			l.Later(0, runtime.Goexit)
			e.walk(l, through(list))
		}
	}
	for _, c := range clients {
		c.want("turn 1\nturn 2\nturn 3\n")
		c.wantEcho()
	}
}
