package http2

import (
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// TestHooksCallBack has hooks call every method of their connection, also those that take the
// session's lock: hooks run without it.
func TestHooksCallBack(t *testing.T) {
	for seed := range uint64(10) {
		var mu sync.Mutex // handlers hold it when they call the session
		var states []exchange.State
		var refused []int
		var s *Session
		p := newPeer(t, seed, routes{"/locked": func(x *exchange.Exchange) {
			mu.Lock()
			defer mu.Unlock()
			x.Body = append(x.Body, "ok"...)
			_ = x.Session.Flush(x)
		}}, func(cfg *exchange.Config) {
			cfg.State = func(c exchange.Conn, state exchange.State) bool {
				mu.Lock()
				defer mu.Unlock()
				c.RemoteAddr()
				c.LocalAddr()
				c.TLS()
				c.Slot()
				if state == exchange.StateClosed {
					c.CloseConn()
				}
				states = append(states, state)
				return true
			}
			cfg.Refused = func(_ net.Addr, status int, _ string) {
				mu.Lock()
				defer mu.Unlock()
				s.TLS()
				refused = append(refused, status)
			}
		})
		s = p.s
		for id := uint32(1); id < 20; id += 4 {
			p.get(id, "/locked").get(id+2, "/#")
		}
		for id := uint32(1); id < 20; id += 4 {
			p.want(id, "200", "ok")
			p.want(id+2, "400", "malformed request\n")
		}
		p.close()
		mu.Lock()
		if !slices.Equal(refused, []int{400, 400, 400, 400, 400}) || states[0] != exchange.StateNew || states[len(states)-1] != exchange.StateClosed {
			t.Errorf("refused %v, states %v", refused, states)
		}
		mu.Unlock()
	}
}

// TestHooksClose has a hook end the connection, at each state.
func TestHooksClose(t *testing.T) {
	for _, at := range []exchange.State{exchange.StateNew, exchange.StateActive, exchange.StateIdle, exchange.StateClosed} {
		for seed := range uint64(5) {
			p := newPeer(t, seed, routes{}, func(cfg *exchange.Config) {
				cfg.State = func(c exchange.Conn, state exchange.State) bool {
					if state == at {
						c.CloseConn()
					}
					c.TLS()
					return true
				}
			})
			p.get(1, "/").get(3, "/").run()
			p.f.End()
			p.f.Wait("the connection is closed", func() bool { closed, _ := p.f.Closed(); return closed })
		}
	}
}

// TestInformsTaken lets a handler go on that has sent more than HighWater, on the loop, to a client
// that takes all of it at once: then the transport has nothing to tell.
func TestInformsTaken(t *testing.T) {
	answers := routes{"/page": func(x *exchange.Exchange) { x.Response.Body = append(x.Response.Body, large[:15<<10]...) }}
	answers["/inform"] = func(x *exchange.Exchange) {
		x.Lines = append(x.Lines, exchange.Line{Name: "Link", Value: large[:10<<10]})
		for range 3 {
			if err := x.Session.SendInfo(x, 103); err != nil {
				t.Error(err)
			}
		}
		x.Lines = nil
	}
	p := newPeer(t, 14, answers)
	p.get(1, "/page").get(3, "/page").get(5, "/page").get(7, "/page").get(9, "/inform")
	p.wait("all have been answered", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.lastID == 9 && p.s.open == 0
	})
	p.close()
}

// TestInformsUnread bounds the informational responses that wait for a client that reads
// nothing, and lets the handlers end when it leaves.
func TestInformsUnread(t *testing.T) {
	const streams, most = 20, 256 << 10
	began, release, done := make(chan bool, streams), make(chan struct{}), make(chan error, streams)
	p := newPeer(t, 14, routes{"/inform": func(x *exchange.Exchange) {
		x.Session.Detach()
		began <- true
		<-release
		x.Lines = append(x.Lines, exchange.Line{Name: "Link", Value: large[:1000]})
		var err error
		for range 10_000 { // 10 MB
			if err = x.Session.SendInfo(x, 103); err != nil {
				break
			}
		}
		done <- err
	}})
	for i := range uint32(streams) {
		p.get(2*i+1, "/inform")
	}
	p.wait("all of them have begun", func() bool { return len(began) == streams })
	p.f.Stall(true)
	close(release)
	waiting := func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.crowds == streams
	}
	p.f.Wait("all handlers wait", waiting)
	p.f.Run()
	p.s.mu.Lock()
	held := p.s.late.Held()
	p.s.mu.Unlock()
	if n := p.f.Pending() + held; n > most {
		t.Errorf("%d bytes wait for a client that reads nothing, at most %d are expected", n, most)
	}
	p.f.Stall(false)
	p.f.Reset()
	p.f.Wait("the handlers learn that the client has left", func() bool { return len(done) == streams })
	for range streams {
		if <-done == nil {
			t.Error("all of the responses were sent to a client that reads nothing")
		}
	}
	p.close()
}
