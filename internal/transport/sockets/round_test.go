//go:build linux

package sockets_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// spin keeps a processor busy.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// TestEventsPass has much to do for a loop at once, whose first piece lets a request arrive:
// it is served before the last one.
func TestEventsPass(t *testing.T) {
	const n, takes = 500, 50 * time.Microsecond // each; together they take several rounds
	for _, c := range []struct {
		name  string
		conns int
		start func(s []*scripted, piece func())
	}{
		{"wakes", 1, func(s []*scripted, piece func()) {
			for range n {
				s[0].Wake(func(*buf.Queue) error { piece(); return nil })
			}
		}},
		{"functions", 1, func(s []*scripted, piece func()) {
			at := s[0].Conn.(transport.Looped).Loop()
			for range n {
				at.Later(0, piece)
			}
		}},
		{"timers", n, func(s []*scripted, _ func()) {
			for _, s := range s {
				s.Wake(func(*buf.Queue) error { s.SetTimeout(100 * time.Millisecond); return nil })
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				var pieces atomic.Int64
				served, all := make(chan int64, 1), make(chan struct{})
				var first sync.Once
				var ask func()
				piece := func() {
					first.Do(ask)
					spin(takes)
					if pieces.Add(1) == n {
						close(all)
					}
				}
				addr, made := script(t, d, transport.Config{Takeover: time.Hour}, scripted{
					feed: func(_ *scripted, in []byte, _ *buf.Queue) (int, error) {
						served <- pieces.Load()
						return len(in), nil
					},
					expired: func(s *scripted, _ *buf.Queue) error {
						s.SetTimeout(0)
						piece()
						return nil
					},
				})
				other := open(t, addr)
				receive(t, made, "the session that is to be fed is there")
				ask = func() { send(t, other, "request") }
				var sessions []*scripted
				for range c.conns {
					open(t, addr)
					sessions = append(sessions, receive(t, made, "a session is there"))
				}
				// All of it is put while the loop is held.
				begun, release := make(chan struct{}), make(chan struct{})
				sessions[0].Wake(func(*buf.Queue) error { close(begun); <-release; return nil })
				receive(t, begun, "the loop is held")
				c.start(sessions, piece)
				close(release)
				if before := receive(t, served, "the request is served"); before == n {
					t.Errorf("served after all %d", n)
				}
				receive(t, all, "all is done")
			})
		})
	}
}
