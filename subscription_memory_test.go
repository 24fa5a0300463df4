//go:build !race

// The race detector makes pools forget.

package redline_test

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline"
)

// A mute is a Subscriber without anything of its own but a frame.
type mute struct {
	sub   *redline.Subscription
	frame *redline.Frame
	said  *atomic.Int64
}

func (s *mute) Turn(t *redline.Turn) {
	if s.frame != nil && t.WriteFrame(s.frame) {
		s.frame = nil
		s.said.Add(1)
	}
}

func (s *mute) Gone(error) {}

// heapBytes is what is in use after a collection, in bytes.
func heapBytes() int {
	runtime.GC()
	runtime.GC() // pools keep things through the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSubscriptionMemory bounds what a subscription adds to its connection, and wants a steady
// broadcast to take no memory for each event and subscriber.
func TestSubscriptionMemory(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const n, rounds, bound = 1000, 20, 200
		var said atomic.Int64
		all := make([]*mute, 0, n) // by the one loop, one after the other
		opened := make(chan struct{}, n)
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			s := &mute{said: &said}
			s.sub = c.Subscribe(s)
			all = append(all, s)
			opened <- struct{}{}
		}})
		clients := make([]net.Conn, n)
		for i := range clients {
			c, err := net.Dial(r.addr.Network(), r.addr.String())
			noError(t, err)
			defer c.Close()
			clients[i] = c
		}
		until(t, "all are connected", func() bool { return r.Stats().Open == n })
		idle := heapBytes()
		for _, c := range clients {
			noError(t, second(io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")))
			receive(t, opened, "the handler has subscribed")
		}
		round := func() {
			before, i := said.Load(), 0
			f := redline.NewFrame([]byte("event\n"))
			all[0].sub.Loop().Walk(func() *redline.Subscription {
				if i == n {
					return nil
				}
				s := all[i]
				i++
				s.frame = f
				return s.sub
			})
			until(t, "everybody was told", func() bool { return said.Load() == before+n })
		}
		round()
		if each := (heapBytes() - idle) / n; each > bound {
			t.Errorf("%d bytes for each subscription beside its connection, want %d at most", each, bound)
		} else {
			t.Logf("%d bytes", each)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			round()
		}
		runtime.ReadMemStats(&after)
		if each := float64(after.Mallocs-before.Mallocs) / (rounds * n); each > 0.1 {
			t.Errorf("%.2f allocations for each event and subscriber", each)
		}
	}, redline.TransportStd, overTLS) // goroutines, records
}
