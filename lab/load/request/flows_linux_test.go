package request

import (
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// flowsOf returns the results of a loop's flows.
func flowsOf(t *testing.T, l *loop) []spec.Flow {
	t.Helper()
	flows, err := l.flows()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flows {
		for _, text := range []string{f.Histogram, f.Waited} {
			if n := decode(t, text).TotalCount(); uint64(n) != f.Completed {
				t.Errorf("%s: %d times of %d iterations", f.Name, n, f.Completed)
			}
		}
	}
	return flows
}

// An iteration lasts from its first request to its last answer, with any protocol.
func TestIterations(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*spec.Spec)
	}{
		{"closed loop", func(*spec.Spec) {}},
		{"fresh connections", func(s *spec.Spec) { s.PerConnection = 1 }},
		{"think", func(s *spec.Spec) { s.Scenario.Think = "3ms" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			s := serveAsked(t, 0, k.answer)
			order := scenarioSpec(s.addr, shop)
			tc.change(order)
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 100 })
			flows := flowsOf(t, l)
			k.mu.Lock()
			defer k.mu.Unlock()
			if len(flows) != 1 || flows[0].Name != "buy" || flows[0].Completed != k.seen["buy/pay"] || flows[0].Aborted != 0 ||
				flows[0].Unfinished != k.seen["buy/cart"]-k.seen["buy/pay"] {
				t.Fatalf("counted %+v, the server saw %v", flows, k.seen)
			}
			whole, waited := decode(t, flows[0].Histogram), decode(t, flows[0].Waited)
			if whole.Min() < waited.Min() || order.Scenario.Think != "" && whole.Min()-waited.Min() < int64(2900*time.Microsecond) {
				t.Errorf("iterations of %d ns and more, %d of them without think time", whole.Min(), waited.Min())
			}
		})
	}
}

// In an open loop each step is an arrival, and the iteration counts if that of the last
// one was due in the window.
func TestIterationsInAnOpenLoop(t *testing.T) {
	k := newKeeper()
	s := serveAsked(t, 0, k.answer)
	order := scenarioSpec(s.addr, shop)
	plan := openSpec(s.addr, 1000)
	order.Arrivals, order.Window, order.Tick, order.Connections = plan.Arrivals, plan.Window, plan.Tick, 8
	res := runOpen(t, order)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(res.Flows) != 1 || res.Flows[0].Completed != k.seen["buy/pay"] || res.Flows[0].Completed == 0 || res.Flows[0].Aborted != 0 ||
		res.Flows[0].Unfinished != k.seen["buy/cart"]-k.seen["buy/pay"] {
		t.Errorf("counted %+v, the server saw %v", res.Flows, k.seen)
	}
}

// A lost connection, and a capture that finds nothing, end an iteration before its last
// answer.
func TestAbortedIterations(t *testing.T) {
	var mu sync.Mutex
	var broken, blank, done uint64
	s := serveAsked(t, 0, func(a asked) string {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case a.path == "/two":
			done++
		case a.n%5 == 0:
			broken++
			a.conn.Close()
		case a.n%3 == 0:
			blank++
			return ok("nothing")
		}
		return ok("17")
	})
	order := scenarioSpec(s.addr, `flows: [{name: f, steps: [{name: one, method: POST, url: /one, captures: {me: {regexp: "[0-9]+"}}}, {name: two, url: "/two?${me}"}]}]`)
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 30 && c.Failures() >= 10 })
	flows := flowsOf(t, l)
	mu.Lock()
	defer mu.Unlock()
	if flows[0].Completed != done || flows[0].Aborted != broken+blank || broken == 0 || blank == 0 {
		t.Errorf("counted %+v; %d were done, %d connections broke, %d captures found nothing", flows[0], done, broken, blank)
	}
}
