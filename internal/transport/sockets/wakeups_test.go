//go:build linux

package sockets_test

import (
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// TestWakeups counts how often a loop looks for events, which is a wake-up or a system
// call each, for requests that come one by one. The bounds leave a tenth for the
// watchdog and what else the machine does.
func TestWakeups(t *testing.T) {
	const requests = 2000
	for _, c := range []struct {
		name                string
		waits               bool
		rounds, fetches     float64 // a request
		stayed              float64
		atLeast, stayedMost float64
	}{
		// Parked, it is woken, and looks; then it looks before it parks again.
		{name: "quick", rounds: 1.1, fetches: 2.2, atLeast: 0.5},
		// The goroutine that has the connection is woken, and the loop is not.
		{name: "waits", waits: true, rounds: 0.1, fetches: 0.2, stayed: 0.95, stayedMost: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				stats := d.stats()
				addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
					if c.waits {
						s.Detach()
					}
					_, err := out.Write(in)
					return len(in), err
				}})
				client := open(t, addr)
				ask := func() {
					send(t, client, "x")
					want(t, client, "x")
				}
				for range 20 {
					ask()
				}
				before := stats()
				for range requests {
					ask()
				}
				after := stats()
				per := func(a, b uint64) float64 { return float64(b-a) / requests }
				rounds, fetches, stayed := per(before.Rounds, after.Rounds), per(before.Fetches, after.Fetches), per(before.Stayed, after.Stayed)
				t.Logf("a request: %.3f rounds, %.3f fetches, %.3f stayed", rounds, fetches, stayed)
				if rounds > c.rounds || fetches > c.fetches || rounds < c.atLeast {
					t.Errorf("a request takes %.3f rounds and %.3f fetches of the loop, want %.3f and %.3f at most", rounds, fetches, c.rounds, c.fetches)
				}
				if stayed < c.stayed || stayed > c.stayedMost {
					t.Errorf("of each request %.3f are served by who keeps the connection", stayed)
				}
			})
		})
	}
}

// TestIdleWakeups wants a transport with idle connections to do nothing.
func TestIdleWakeups(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		stats := d.stats()
		addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.SetTimeout(time.Hour)
			_, err := out.Write(in)
			return len(in), err
		}})
		for range 10 {
			c := open(t, addr)
			send(t, c, "x")
			want(t, c, "x")
		}
		quiet := func() bool {
			before := stats()
			time.Sleep(50 * time.Millisecond)
			after := stats()
			return after.Rounds == before.Rounds && after.Fetches == before.Fetches
		}
		until(t, "it stays at rest", func() bool {
			for range 6 {
				if !quiet() {
					return false
				}
			}
			return true
		})
	})
}

// stats returns a function for the figures of the transport that the driver is going to
// serve.
func (d *driver) stats() func() transport.Stats {
	var served transport.Transport
	create := d.create
	d.create = func(c transport.Config) (transport.Transport, error) {
		var err error
		served, err = create(c)
		return served, err
	}
	return func() transport.Stats { return served.Stats() }
}
