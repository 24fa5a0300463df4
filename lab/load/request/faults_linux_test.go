package request

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/wire"
)

func TestFreshConnections(t *testing.T) {
	for _, pipeline := range []int{1, 4} {
		var most, conns atomic.Int64
		s := serveScript(t, func(c *net.TCPConn, n int) bool {
			if n == 1 {
				conns.Add(1)
			}
			for was := most.Load(); int64(n) > was && !most.CompareAndSwap(was, int64(n)); was = most.Load() {
			}
			return say(c, goodAnswer)
		})
		order := testSpec(s.addr)
		order.PerConnection, order.Pipeline = 3, pipeline
		l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 120 })
		want := int64(3)
		if pipeline > 1 {
			want = 4 // whole batches
		}
		if e := errorsOf(&l.rec.Counters); len(e) > 0 || most.Load() != want {
			t.Errorf("errors %v, %d requests on one connection", e, most.Load())
		}
		if got, least := l.rec.Connects, l.rec.Requests/uint64(want); got < least || got > least+2*uint64(order.Connections) || got < uint64(conns.Load()) {
			t.Errorf("%d connections for %d requests, the server saw %d", got, l.rec.Requests, conns.Load())
		}
	}
}

func TestSources(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		mu.Lock()
		seen[c.RemoteAddr().(*net.TCPAddr).IP.String()]++
		mu.Unlock()
		_, _ = c.Read(make([]byte, 1)) // until the client closes
	})
	order := testSpec(s.addr)
	order.Connections, order.Sources = 9, []string{"127.0.0.2", "127.0.3.1-127.0.3.2"}
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	for bound := l.Now() + int64(2*time.Minute); ; {
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
			t.Fatalf("%d connections established, %v", l.standing, err)
		}
		mu.Lock()
		n := seen["127.0.0.2"] == 3 && seen["127.0.3.1"] == 3 && seen["127.0.3.2"] == 3
		if len(seen) > 3 {
			t.Fatalf("connections from %v", seen)
		}
		mu.Unlock()
		if n {
			return
		}
	}
}

// The bound holds at any time, at any speed of the machine.
func TestConnectRate(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Connections, order.ConnectRate = 60, 500
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	for bound := l.Now() + int64(2*time.Minute); l.standing < order.Connections; {
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
			t.Fatalf("%d connections established, %v", l.standing, err)
		}
		most := 1 + order.ConnectRate*float64(l.Now()+dialArrears)/1e9
		if got := float64(l.standing + l.connecting); got > most {
			t.Fatalf("%v connections where %v are allowed", got, most)
		}
	}
}

// A slow reader stays below its rate, and reads everything in the end; so does a
// slow writer.
func TestSlowClients(t *testing.T) {
	body := strings.Repeat("x", 20_000)
	s := serveAsked(t, 0, func(a asked) string {
		if len(a.body) > 0 && string(a.body) != body {
			return ok("wrong")
		}
		return ok(body)
	})
	for name, slow := range map[string]spec.Slow{
		"reader":          {Read: 200_000},
		"writer":          {Write: 200_000},
		"both":            {Read: 300_000, Write: 300_000},
		"one of them all": {Read: 200_000, Connections: 1},
	} {
		t.Run(name, func(t *testing.T) {
			order := single(s.addr, scenario.Request{Method: "POST", Body: body})
			order.Slow = slow
			l, err := newLoop(context.Background(), order)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, l)
			l.start()
			begin := l.Now()
			for bound := l.Now() + int64(2*time.Minute); l.rec.Requests < 6; {
				if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
					t.Fatalf("%d right answers, %v", l.rec.Requests, err)
				}
				most := func(rate int64) uint64 {
					return uint64(order.Connections) * (uint64(float64(rate)*float64(l.Now()-begin)/1e9) + 2*uint64(step(rate)))
				}
				if slow.Connections == 0 && slow.Read > 0 && l.rec.BytesIn > most(slow.Read) {
					t.Fatalf("%d bytes read where %d are allowed", l.rec.BytesIn, most(slow.Read))
				}
				if slow.Write > 0 && l.rec.BytesOut > most(slow.Write)+l.rec.Answered*uint64(step(slow.Write)) {
					t.Fatalf("%d bytes written where %d are allowed", l.rec.BytesOut, most(slow.Write))
				}
			}
			if e := errorsOf(&l.rec.Counters); len(e) > 0 {
				t.Errorf("errors %v", e)
			}
		})
	}
}

// Bodies larger than any buffer, as the server receives them.
func TestStreamedUploads(t *testing.T) {
	const size = 3 << 20
	for name, r := range map[string]scenario.Request{
		"length":  {Method: "PUT", Size: size},
		"chunked": {Method: "PUT", Size: size, Chunked: true},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var first []byte
			bodies, differ := uint64(0), 0
			s := serveAsked(t, 0, func(a asked) string {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = a.body
				}
				if len(a.body) != size || string(first) != string(a.body) {
					differ++
				}
				bodies++
				return ok("thanks")
			})
			order := single(s.addr, r)
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 12 })
			mu.Lock()
			defer mu.Unlock()
			if e := errorsOf(&l.rec.Counters); len(e) > 0 || differ > 0 || bodies != l.rec.Requests || l.rec.Sent != bodies {
				t.Errorf("errors %v, %d of %d bodies differ, %d right answers, %d sent", e, differ, bodies, l.rec.Requests, l.rec.Sent)
			}
			if l.rec.BytesOut < bodies*size || cap(l.piece) > 2*wire.PieceSize {
				t.Errorf("%d bytes sent, a piece has %d", l.rec.BytesOut, cap(l.piece))
			}
		})
	}
	t.Run("file that lost its end", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		s := serveAsked(t, 0, func(asked) string { return ok("thanks") })
		order := single(s.addr, scenario.Request{Method: "PUT", File: name})
		order.Window = 2 * time.Minute
		err := Run(context.Background(), order, func(e spec.Event) {
			if e.Window {
				if err := os.Truncate(name, size/2); err != nil {
					t.Error(err)
				}
			}
		})
		if err == nil || !strings.Contains(err.Error(), "read body to send: ") {
			t.Errorf("error %v", err)
		}
	})
}

// An upload that is answered half way: by a refusal that closes the connection, and by
// an answer after which the rest is read.
func TestEarlyAnswersToUploads(t *testing.T) {
	const size = 32 << 20 // more than the buffers of both sides
	early := func(answer string, finish bool) func(*scripted, *net.TCPConn) {
		return func(s *scripted, c *net.TCPConn) {
			in := make([]byte, 1<<16)
			for {
				n, err := io.ReadAtLeast(c, in, 1000)
				if err != nil {
					return
				}
				s.answered.Add(1)
				if !say(c, answer) || !finish {
					return
				}
				whole := strings.Index(string(in[:n]), "\r\n\r\n") + 4 + size
				if _, err := io.CopyN(io.Discard, c, int64(whole-n)); err != nil {
					return
				}
			}
		}
	}
	t.Run("goes on", func(t *testing.T) {
		s := serve(t, early(goodAnswer, true))
		l := drive(t, single(s.addr, scenario.Request{Method: "PUT", Size: size}), func(c *tally.Counters) bool { return c.Requests >= 10 })
		if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Requests != s.answered.Load() || l.rec.Sent != l.rec.Requests || l.rec.Early == 0 {
			t.Errorf("errors %v, %d right, %d sent, %d early answers of %d", e, l.rec.Requests, l.rec.Sent, l.rec.Early, s.answered.Load())
		}
	})
	t.Run("refuses", func(t *testing.T) {
		s := serve(t, early("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false))
		l := drive(t, single(s.addr, scenario.Request{Method: "PUT", Size: size}), func(c *tally.Counters) bool { return c.Errors[tally.KindCheck] >= 5 })
		if e := errorsOf(&l.rec.Counters); len(e) != 1 || l.rec.Requests != 0 || l.rec.Sent+l.rec.Early != e[spec.ErrCheck] {
			t.Errorf("errors %v, %d right, %d sent, %d early", e, l.rec.Requests, l.rec.Sent, l.rec.Early)
		}
	})
}

// cork holds back writes until the connection is closed.
func cork(t *testing.T, c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err == nil {
		stop := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1)
		})
		err = errors.Join(stop, err)
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// A server that closes idle connections makes no errors, and the users get another
// connection after their think time.
func TestConnectionsClosedBetweenRequests(t *testing.T) {
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in := make([]byte, 4096)
		if n, err := c.Read(in); err == nil && n > 0 && cork(t, c) {
			say(c, goodAnswer)
		}
		// Close at once. The answer is sent together with the end, so that no request
		// can come in between.
	})
	order := scenarioSpec(s.addr, "targets: [{url: /}]\n")
	order.Scenario.Think = "50ms"
	l := drive(t, order, func(c *tally.Counters) bool { return c.Dropped >= 12 })
	if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Requests < l.rec.Dropped {
		t.Errorf("errors %v, %d right answers, %d dropped", e, l.rec.Requests, l.rec.Dropped)
	}
	if l.timers.Len() > 4*order.Connections {
		t.Errorf("%d timers", l.timers.Len())
	}
}

// With Persist a run ends when its time is over, whatever the server does.
func TestPersist(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*scripted, *net.TCPConn)
		kind string
	}{
		{"garbage", func(_ *scripted, c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			say(c, "garbage\r\n\r\n")
		}, spec.ErrMalformed},
		{"silence", func(_ *scripted, c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }, spec.ErrTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tc.do)
			order := testSpec(s.addr)
			order.Window, order.Tick, order.Timeout, order.Persist = 400*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond, true
			for range 4 { // the server may not be scheduled in a short window
				events, err := collect(context.Background(), order)
				if err != nil {
					t.Fatal(err)
				}
				res := events[len(events)-1].Result
				if res.Requests != 0 {
					t.Errorf("result %+v", res)
				}
				if res.Errors[tc.kind] > 0 {
					return
				}
				order.Window *= 4
			}
			t.Errorf("nothing failed in a window of %v", order.Window/4)
		})
	}
}

// In an open loop with connections that are replaced and users that think, every arrival
// is sent.
func TestOpenLoopWithFreshConnections(t *testing.T) {
	s := serveAsked(t, 0, func(asked) string { return ok("hello") })
	for think, text := range map[string]string{
		"constant": "targets: [{url: /}]\n",
		"varying":  "variables: {id: {counter: 1}}\ntargets: [{url: '/${id}'}]\n",
		"thinking": "variables: {id: {counter: 1}}\ntargets: [{url: '/${id}', think: 'uniform:100us,2ms'}]\n",
	} {
		t.Run(think, func(t *testing.T) {
			order := scenarioSpec(s.addr, text)
			plan := openSpec(s.addr, 500)
			order.Arrivals, order.Window, order.Tick = plan.Arrivals, plan.Window, plan.Tick
			order.PerConnection, order.ConnectRate, order.Connections = 2, 2000, 8
			res := runOpen(t, order)
			if o := res.Open; o.Due != due(order) || o.Failed != 0 || o.Unfinished != 0 || len(res.Errors) > 0 {
				t.Errorf("%+v, errors %v; want %d due", o, res.Errors, due(order))
			}
			if res.Connects < res.Open.Due/2 || uint64(decode(t, res.Connect).TotalCount()) != res.Connects {
				t.Errorf("%d connections for %d arrivals, %d connect times", res.Connects, res.Open.Due, decode(t, res.Connect).TotalCount())
			}
			if res.Targets[0].Requests != res.Open.Due {
				t.Errorf("target %+v, %d arrivals", res.Targets[0], res.Open.Due)
			}
		})
	}
}
