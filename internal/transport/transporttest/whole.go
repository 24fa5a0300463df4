package transporttest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// maxConns opens more connections than may be: those beyond wait.
func maxConns(e *env) {
	const limit = 5
	e.config.MaxConns = limit
	e.start(hooks{feed: echo})
	var all []*client
	for range 2 * limit {
		c := e.dial()
		c.send("hello\n")
		all = append(all, c)
	}
	e.until("all that may be are accepted", func() bool { return e.transport.Stats().Accepted == limit })
	for range 2 * limit {
		time.Sleep(time.Millisecond)
		if s := e.transport.Stats(); s.Open > limit {
			e.Errorf("%d connections are open, want %d at most", s.Open, limit)
		}
	}
	e.until("the limit is counted", func() bool { return e.transport.Stats().Refused > 0 })
	// Each that closes makes room for another one. Which ones wait is the
	// kernel's choice.
	served := make(chan *client, len(all))
	for _, c := range all {
		go func() {
			c.want("hello\n")
			served <- c
		}()
	}
	for range all {
		select {
		case c := <-served:
			c.Close()
		case <-time.After(patience):
			e.Fatal("a connection is not served")
		}
	}
}

// acceptRate connects faster than it may: all are served, in the end.
func acceptRate(e *env) {
	e.config.AcceptRate = 100 // ten at once
	e.start(hooks{feed: echo})
	e.until("the clients were too quick", func() bool {
		var wg sync.WaitGroup
		for range 30 {
			c := e.dial()
			wg.Go(func() { c.send("hello\n"); c.want("hello\n") })
		}
		wg.Wait()
		return e.transport.Stats().Refused > 0
	})
	if s := e.transport.Stats(); s.Accepted != uint64(len(e.clients)) {
		e.Errorf("%d clients, stats are %+v", len(e.clients), s)
	}
}

// stopAccepting serves on what is there, and refuses what comes.
func stopAccepting(e *env) {
	e.start(hooks{feed: echo})
	before := e.dial()
	before.send("one\n")
	before.want("one\n")
	e.transport.StopAccepting()
	e.transport.StopAccepting()
	if c, err := net.DialTimeout(e.addr.Network(), e.addr.String(), patience); err == nil {
		c.Close()
		e.Error("a connection is accepted after StopAccepting")
	}
	before.send("two\n")
	before.want("two\n")
}

// each visits all connections but those that are busy, and does not wait for them.
func each(e *env) {
	const idle = 20
	release := make(chan struct{})
	var count atomic.Int64
	e.start(hooks{feed: blocker(release, true, &count)})
	busy := e.dial()
	busy.send("block\n")
	var all []*client
	for range idle {
		all = append(all, e.dial())
	}
	e.until("all are accepted", func() bool { return e.transport.Stats().Accepted == idle+1 })
	e.until("Feed is blocked", func() bool { return count.Load() == 1 })
	var mu sync.Mutex
	seen := map[transport.Session]int{}
	visit := func(s transport.Session, out *buf.Queue) error {
		mu.Lock()
		defer mu.Unlock()
		seen[s]++
		fmt.Fprint(out, "visited")
		return nil
	}
	done := make(chan struct{})
	go func() {
		e.transport.Each(visit, nil)
		close(done)
	}()
	for _, c := range all {
		c.want("visited")
	}
	e.wait(done, "Each returns, with one connection busy")
	close(release)
	busy.want("block\n")
	busy.send("next\n")
	busy.want("next\n") // not visited afterwards
	mu.Lock()
	for s, n := range seen {
		if n != 1 {
			e.Errorf("session %d is visited %d times", s.(*session).n, n)
		}
	}
	if len(seen) != idle {
		e.Errorf("%d sessions are visited, want %d", len(seen), idle)
	}
	mu.Unlock()

	// It does not wait longer than it is asked to.
	stop := make(chan struct{})
	close(stop)
	e.transport.Each(visit, stop)
	// An error closes the connection, unless it is still being fed.
	for i := range idle + 1 {
		e.until("the session is closed", func() bool {
			e.transport.Each(func(_ transport.Session, out *buf.Queue) error { return transport.ErrClosed }, nil)
			select {
			case <-e.session(i).gone:
				return true
			default:
				return false
			}
		})
	}
}

// closeIdle closes a transport with connections that are idle, have output that
// nobody reads, or a piece of input.
func closeIdle(e *env) {
	e.start(hooks{feed: sized(32 << 20)})
	idle, full, partial := e.dial(), e.dialWith(&net.Dialer{Control: small}), e.dial()
	full.send("33000000\n")
	partial.send("12")
	e.until("all are accepted and read", func() bool {
		s := e.transport.Stats()
		return s.Accepted == 3 && s.BytesIn == 11
	})
	e.stop()
	idle.wantGone()
	for i := range 3 {
		s := e.session(i)
		e.wait(s.gone, "the session is closed")
		if s.why == nil {
			e.Error("Closed receives nil")
		}
		if s.Wake(func(*buf.Queue) error { return nil }) {
			e.Error("Wake reports true after Close")
		}
		s.Close(transport.Reset)
		if s.LocalAddr() == nil || s.RemoteAddr() == nil {
			e.Error("a closed connection has no address")
		}
	}
	e.transport.StopAccepting()
	e.transport.Each(func(transport.Session, *buf.Queue) error { return nil }, nil)
	if err := e.transport.Serve(); !errors.Is(err, transport.ErrStopped) {
		e.Errorf("Serve returns %v after Close", err)
	}
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
}

// closeBlocked closes a transport while Feeds block: it does not wait for them,
// but tells them, and their connections end when they return.
func closeBlocked(e *env) {
	const n = 6
	release := make(chan struct{})
	var blocked atomic.Int64
	got := make(chan error, 2*n)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		blocked.Add(1)
		switch s.n % 3 {
		case 0:
			s.Detach()
			<-release
		case 1:
			_, err := s.Read(make([]byte, 1), nil)
			got <- err
		case 2:
			<-release
		}
		fmt.Fprint(out, "answer")
		got <- s.Flush(out, 0, nil)
		return len(in), nil
	}})
	for range n {
		c := e.dial()
		c.send("x")
	}
	e.until("all are blocked", func() bool { return blocked.Load() == n })
	e.stop()
	for i := range n {
		s := e.session(i)
		e.receive(s.lostErr, "Lost is told")
		if i%3 != 1 && s.isClosed.Load() {
			e.Error("Closed is called before Feed has returned")
		}
	}
	close(release)
	for range n / 3 {
		// Those that read, or that flush, cannot.
		if err := e.receive(got, "Read or Flush returns"); err == nil {
			e.Error("the connection still works after Close")
		}
	}
	for i := range n {
		e.wait(e.session(i).gone, "the session is closed")
	}
}

// closeUnserved closes transports that never served.
func closeUnserved(e *env) {
	e.create(hooks{feed: echo})
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
	e.create(hooks{feed: echo})
	if _, err := e.transport.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{Backlog: 16, DeferAccept: true, FastOpen: 16}); err != nil {
		e.Fatal(err)
	}
	if _, err := e.transport.Listen("tcp", "256.0.0.1:0", transport.ListenOptions{}); err == nil {
		e.Error("Listen on an address that is none succeeds")
	}
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
	if err := e.transport.Serve(); !errors.Is(err, transport.ErrStopped) {
		e.Errorf("Serve returns %v after Close", err)
	}
}

// adopt serves on a listener that somebody else has opened.
func adopt(e *env) {
	e.create(hooks{feed: echo})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	if err := e.transport.Adopt(l, transport.ListenOptions{}); err != nil {
		e.Fatal(err)
	}
	e.addr = l.Addr()
	e.serve()
	for range 10 {
		c := e.dial()
		c.send("hello\n")
		c.want("hello\n")
	}
	e.stop()
	// The listener is still its owner's.
	c := e.dial()
	a, err := l.Accept()
	if err != nil {
		e.Fatal(err)
	}
	c.Close()
	a.Close()
	l.Close()
}

// addresses wants the addresses of both ends, on a wildcard listener.
func addresses(e *env) {
	e.create(hooks{feed: echo})
	var err error
	if e.addr, err = e.transport.Listen("tcp", ":0", transport.ListenOptions{}); err != nil {
		e.Fatal(err)
	}
	e.addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: e.addr.(*net.TCPAddr).Port}
	e.serve()
	c := e.dial()
	s := e.session(0)
	if got, want := s.RemoteAddr().String(), c.LocalAddr().String(); got != want {
		e.Errorf("RemoteAddr is %s, want %s", got, want)
	}
	if got, want := s.LocalAddr().String(), c.RemoteAddr().String(); got != want {
		e.Errorf("LocalAddr is %s, want %s", got, want)
	}
}

// collector wants the garbage collector to run to its end while loops are idle,
// and while they are busy.
func collector(e *env) {
	e.start(hooks{feed: echo})
	collect := func(when string) {
		done := make(chan struct{})
		go func() { runtime.GC(); close(done) }()
		e.wait(done, "a collection ends, "+when)
	}
	c := e.dial()
	c.send("x\n")
	c.want("x\n")
	collect("loops idle")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		c := e.dial()
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.send("x\n")
					c.want("x\n")
				}
			}
		})
	}
	for range 5 {
		collect("loops busy")
	}
	close(stop)
	wg.Wait()
}

// idle wants loops that have nothing to do to use no processor time, with
// connections and deadlines pending.
func idle(e *env) {
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		s.SetTimeout(time.Hour)
		return echo(s, in, out)
	}})
	for range 50 {
		c := e.dial()
		c.send("x\n")
		c.want("x\n")
	}
	// The least of some windows: other tests of the process may run.
	least := time.Duration(math.MaxInt64)
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		before, err := cpuTime()
		if err != nil {
			e.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		after, err := cpuTime()
		if err != nil {
			e.Fatal(err)
		}
		if least = min(least, time.Duration(after-before)); least < 30*time.Millisecond {
			return
		}
	}
	e.Errorf("idle loops use %v of processor time in 300 ms", least)
}
