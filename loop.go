package redline

import (
	"net"
	"runtime/debug"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// A Loop is the event loop on which the turns of some subscriptions are taken. It serves
// code that has something for many subscriptions: grouped by their loops, they are told with
// one message for each loop. Loops can be compared; all methods may be called by any
// goroutine, at any time.
//
// The functions passed to a loop run there one at a time, and must not block. While one of
// them takes longer than a millisecond, the others wait, and turns continue. On TransportStd,
// and under another server, turns are taken on the goroutines of their connections, at the
// same time as each other and as these functions.
type Loop struct {
	server *Server
	of     exchange.Loop
}

// Walk calls next on the loop until it returns nil. Each subscription that it returns takes a
// turn before next is called again; those that are gone, or live on another loop, are no
// mistake. After about 200 microseconds a walk lets other work of the loop pass, and then
// continues, so other requests need not wait for the end of a long walk. The walks of a loop
// follow each other in the order of the calls.
//
// A walk that waits for others takes memory: a publisher that is faster than the loop has to
// put more into a walk instead of adding walks.
//
// It reports false, and next is never called, if the loop has ended. If it ends during a
// walk, next is not called again: all its subscriptions are told that they are gone.
func (l *Loop) Walk(next func() *Subscription) bool {
	w := &walk{loop: l, next: next}
	return l.of.Walk(w.step)
}

type walk struct {
	loop *Loop
	next func() *Subscription
}

// step returns what is to be visited next. A panic ends the walk.
func (w *walk) step() (at exchange.Turned, more bool) {
	defer func() {
		if p := recover(); p != nil {
			w.loop.server.recovered("walk panicked", p, nil)
			at, more = nil, false
		}
	}()
	s := w.next()
	if s == nil {
		return nil, false
	}
	return s.at(), true
}

// Later calls f on the loop once, no sooner than after d, and as a rule less than a
// millisecond later. It reports false if the loop has ended; f is not called either if the
// loop ends before that.
func (l *Loop) Later(d time.Duration, f func()) bool {
	return l.of.Later(d, func() {
		defer func() {
			if p := recover(); p != nil {
				l.server.recovered("function of Loop.Later panicked", p, nil)
			}
		}()
		f()
	})
}

// loop returns the server's Loop for one of its transport.
func (s *Server) loop(of exchange.Loop) *Loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.loops {
		if l.of == of {
			return l
		}
	}
	l := &Loop{server: s, of: of}
	s.loops = append(s.loops, l)
	return l
}

// recovered counts and logs a panic of foreign code outside of handlers. remote may be nil.
func (s *Server) recovered(what string, p any, remote net.Addr) {
	s.counters.panics.Add(1)
	s.logger().Error(what, "panic", p, "remote", remote, "stack", string(debug.Stack()))
}
