package transporttest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
	{"walk/later blocks", laterBlocks},
	{"walk/goroutine ends in later", laterExits},
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
