package transporttest

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// walks are the cases of [transport.Turner] and [transport.Loop].
var walks = []testCase{
	{"walk/order", walkOrder},
	{"walk/one after another", walksInTurn},
	{"walk/turns of one connection", turnsOfOne},
	{"walk/while busy", turnBusy},
	{"walk/other events", walkYields},
	{"walk/peers leave", walkLosing},
	{"walk/closed meanwhile", walkClosing},
	{"walk/a turn blocks", turnBlocks},
	{"walk/next blocks", nextBlocks},
	{"walk/goroutine ends in next", nextExits},
	{"walk/goroutine ends in a turn", turnExits},
	{"walk/slow reader", turnSlow},
	{"walk/transport closes", walkEnds},
	{"walk/later", later},
}

// looped is the session's connection as Looped.
func (s *session) looped() transport.Looped { return s.Conn.(transport.Looped) }

// owes has the next turn of the session say one line more, and returns what to visit.
func (s *session) owes() transport.Turned {
	s.owed.Add(1)
	return s.looped().At()
}

// hello is a turn that says what the session owes, in numbered lines, unless much waits.
func hello(s *session, out *buf.Queue) error {
	for s.said < s.owed.Load() && s.Pending()+out.Len() < 64<<10 {
		s.said++
		fmt.Fprintf(out, "turn %d\n", s.said)
	}
	return nil
}

// wantTurns reads the lines of turns, from one number to another.
func (c *client) wantTurns(from, to int) {
	c.e.Helper()
	for i := from; i <= to; i++ {
		c.want(fmt.Sprintf("turn %d\n", i))
	}
}

// wantEcho asks for an answer.
func (c *client) wantEcho() {
	c.e.Helper()
	c.send("bye\n")
	c.want("bye\n")
}

// crowd connects n clients, and returns their sessions by loop.
func (e *env) crowd(n int) (clients []*client, by map[transport.Loop][]*session) {
	e.Helper()
	by = map[transport.Loop][]*session{}
	for i := range n {
		clients = append(clients, e.dial())
		s := e.session(i)
		by[s.looped().Loop()] = append(by[s.looped().Loop()], s)
	}
	return clients, by
}

// through returns the next function of a walk through a list.
func through(list []*session) func() (transport.Turned, bool) {
	i := 0
	return func() (transport.Turned, bool) {
		if i == len(list) {
			return nil, false
		}
		i++
		return list[i-1].owes(), true
	}
}

// walk walks, and fails if the loop does not.
func (e *env) walk(l transport.Loop, next func() (transport.Turned, bool)) {
	if !l.Walk(next) {
		e.Error("Walk reports false")
	}
}

// walkOrder walks through all connections several times: the turns of each come in order.
func walkOrder(e *env) {
	const rounds = 50
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(40)
	for range rounds {
		for l, list := range by {
			e.walk(l, through(list))
		}
	}
	for _, c := range clients {
		c.wantTurns(1, rounds)
		c.wantEcho()
	}
}

// walksInTurn wants the second walk of a loop to begin after the first one.
func walksInTurn(e *env) {
	e.start(hooks{feed: echo, turn: hello})
	_, by := e.crowd(1)
	for l := range by {
		var mu sync.Mutex
		var got []int
		done := make(chan struct{})
		for w := range 3 {
			left := 1000
			e.walk(l, func() (transport.Turned, bool) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, w)
				if left--; left == 0 && w == 2 {
					close(done)
				}
				return nil, left > 0
			})
		}
		e.wait(done, "the walks end")
		if len(got) != 3000 || !slices.IsSorted(got) {
			e.Errorf("%d steps, sorted: %v", len(got), slices.IsSorted(got))
		}
	}
}

// turnsOfOne lets next return the same connection many times, and nothing in between.
func turnsOfOne(e *env) {
	const turns = 500
	e.start(hooks{feed: echo, turn: hello})
	clients, by := e.crowd(1)
	for l, list := range by {
		i := 0
		e.walk(l, func() (transport.Turned, bool) {
			if i++; i%2 == 0 {
				return nil, true
			}
			return list[0].owes(), i < 2*turns-1
		})
	}
	clients[0].wantTurns(1, turns)
}

// turnBusy requests turns while Feed runs: they come when it has returned.
func turnBusy(e *env) {
	release := make(chan struct{})
	var blocked atomic.Int64
	e.start(hooks{feed: blocker(release, true, &blocked), turn: hello})
	clients, by := e.crowd(1)
	clients[0].send("block\n")
	e.until("Feed is blocked", func() bool { return blocked.Load() == 1 })
	for l, list := range by {
		for range 10 {
			if !list[0].owes().Turn() {
				e.Error("Turn reports false")
			}
			e.walk(l, through(list))
		}
		done := make(chan struct{})
		e.walk(l, func() (transport.Turned, bool) { close(done); return nil, false })
		e.wait(done, "the walks end")
	}
	close(release)
	clients[0].want("block\n")
	clients[0].wantTurns(1, 20)
	clients[0].wantEcho()
}

// walkYields has a walk that does not end before another connection of the loop was served.
func walkYields(e *env) {
	e.config.Loops = 1
	e.start(hooks{feed: echo, turn: func(*session, *buf.Queue) error { return nil }})
	_, by := e.crowd(1)
	other := e.dial()
	var served atomic.Bool
	done := make(chan struct{})
	for l, list := range by {
		e.walk(l, func() (transport.Turned, bool) {
			if served.Load() {
				close(done)
				return nil, false
			}
			return list[0].looped().At(), true
		})
	}
	for range 10 {
		other.send("other\n")
		other.want("other\n")
	}
	e.dial().send("new\n")
	e.session(2)
	served.Store(true)
	e.wait(done, "the walk ends")
}

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

// turnBlocks has turns that do not return: the walk goes on without them.
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
	e.start(hooks{feed: echo})
	_, by := e.crowd(1)
	for l := range by {
		const step = 5 * time.Millisecond
		order := make(chan int, 20)
		began := time.Now()
		for _, i := range []int{3, 1, 4, 0, 2} {
			l.Later(time.Duration(i)*10*step, func() {
				if passed := time.Since(began); passed < time.Duration(i)*10*step {
					e.Errorf("function %d is called after %v", i, passed)
				}
				order <- i
			})
		}
		for want := range 5 {
			select {
			case i := <-order:
				if i != want {
					e.Errorf("function %d is called, want %d", i, want)
				}
			case <-time.After(patience):
				e.Fatal("waited in vain until a function is called")
			}
		}
		done := make(chan struct{})
		l.Later(-time.Hour, func() { close(done) })
		e.wait(done, "a function that is overdue is called")
	}
}
