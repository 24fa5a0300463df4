package request

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// until runs a loop until a condition holds, with a time limit.
func until(t *testing.T, l *loop, what string, done func() bool) {
	t.Helper()
	for bound := l.Now() + int64(2*time.Minute); !done(); {
		if l.Now() > bound {
			t.Fatalf("%s: not within two minutes; %d established, want %d, counted %+v", what, l.standing, l.ramp.want, l.rec.Counters)
		}
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// ramped returns a loop that begins with a number of connections. Its ramp has no window
// and follows set at once.
func ramped(t *testing.T, order *spec.Spec, from int) (l *loop, set func(int)) {
	t.Helper()
	order.Ramp = &arrive.Ramp{From: from}
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, l) })
	until(t, l, "connect", func() bool { return l.standing == from })
	l.start()
	l.ramp.origin = l.Now()
	return l, func(n int) {
		t.Helper()
		l.ramp.plan = &arrive.Ramp{From: n}
		asked := l.rec.Answered
		until(t, l, "change", func() bool { return l.standing == n && l.ramp.want == n && (n == 0 || l.rec.Answered > asked+100) })
		if l.standing != n || l.connecting != 0 || len(l.retry) != 0 {
			t.Errorf("%d established, %d connecting, %d waiting; want %d", l.standing, l.connecting, len(l.retry), n)
		}
	}
}

// Connections begin and end as the ramp requires. They finish their requests before they
// end, so that nothing fails.
func TestRamp(t *testing.T) {
	good := serveAsked(t, 0, func(asked) string { return goodAnswer })
	frames := serveFrames(t, nil, func(f *framed, id uint32, _ int) bool { return f.good(id) })
	for _, tc := range []struct {
		name   string
		order  *spec.Spec
		change func(*spec.Spec)
	}{
		{"requests", testSpec(good.addr), func(*spec.Spec) {}},
		{"pipeline", testSpec(good.addr), func(s *spec.Spec) { s.Pipeline = 4 }},
		{"fresh connections", testSpec(good.addr), func(s *spec.Spec) { s.PerConnection = 2 }},
		{"scenario", scenarioSpec(good.addr, "targets: [{url: /a}, {url: /b}]\n"), func(s *spec.Spec) { s.Scenario.Think = "exponential:100us" }},
		{"HTTP/2", testSpec(frames.addr), func(s *spec.Spec) { s.HTTP2, s.Streams = true, 3 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.order.Connections = 8
			tc.change(tc.order)
			churns := tc.order.PerConnection > 0
			l, set := ramped(t, tc.order, 2)
			for _, n := range []int{8, 3, 5, 0, 1} {
				if churns && n > 0 { // never all of them at once
					l.ramp.plan = &arrive.Ramp{From: n}
					until(t, l, "change", func() bool { return l.ramp.want == n && l.standing == n })
					continue
				}
				set(n)
				if n == 0 && tc.name == "requests" { // no users for half an hour: the run does not give up
					l.base = l.base.Add(-30 * time.Minute)
					l.nextScan = 0
					if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
						t.Error(err)
					}
				}
			}
			l.draining = true
			until(t, l, "drain", func() bool { return l.outstanding() == 0 })
			if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Sent != l.rec.Answered {
				t.Errorf("errors %v, %d sent, %d answered", e, l.rec.Sent, l.rec.Answered)
			}
			if !churns && l.rec.Connects != 2+6+2+1 {
				t.Errorf("%d connections were made, want 11", l.rec.Connects)
			}
		})
	}
}

// A user who thinks for an hour leaves at once, in the middle of its flow, and begins
// another iteration when it returns.
func TestRampAborts(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := serveAsked(t, 0, func(a asked) string {
		mu.Lock()
		defer mu.Unlock()
		seen[a.path]++
		return goodAnswer
	})
	order := scenarioSpec(s.addr, "flows: [{name: f, steps: [{name: one, url: /one, think: 1h}, {name: two, url: /two}]}]\n")
	order.Connections = 4
	l, _ := ramped(t, order, 4)
	until(t, l, "first steps", func() bool { return l.rec.Requests == 4 })
	for _, n := range []int{1, 4} {
		l.ramp.plan = &arrive.Ramp{From: n}
		until(t, l, "change", func() bool { return l.standing == n && l.ramp.want == n && l.outstanding() == 0 })
	}
	until(t, l, "first steps again", func() bool { return l.rec.Requests == 7 })
	flows := flowsOf(t, l)
	mu.Lock()
	defer mu.Unlock()
	if flows[0].Aborted != 3 || flows[0].Completed != 0 || flows[0].Unfinished != 4 || seen["/one"] != 7 || seen["/two"] != 0 {
		t.Errorf("flows %+v, the server saw %v", flows, seen)
	}
}

// A run begins without users, and its ticks report how many there are.
func TestRampOfARun(t *testing.T) {
	s := serveAsked(t, 0, func(asked) string { return goodAnswer })
	order := testSpec(s.addr)
	order.Connections = 6
	order.Window, order.Tick = 600*time.Millisecond, 100*time.Millisecond
	order.Ramp = &arrive.Ramp{Steps: []arrive.RampStep{{For: 100 * time.Millisecond}, {For: 100 * time.Millisecond, Users: 6}}}
	var events []spec.Event
	for range 4 { // as collectSome, which does not know the steps
		var err error
		if events, err = collect(context.Background(), order); err != nil {
			t.Fatal(err)
		}
		if res := events[len(events)-1].Result; res == nil || res.Requests > 0 {
			break
		}
		order.Window, order.Tick = 4*order.Window, 4*order.Tick
		for i := range order.Ramp.Steps {
			order.Ramp.Steps[i].For *= 4
		}
	}
	most, res := 0, &spec.Result{}
	for _, e := range events {
		if e.Tick != nil {
			most = max(most, e.Tick.Users)
		}
		if e.Result != nil {
			res = e.Result
		}
	}
	var counted uint64
	for _, s := range res.Ramp {
		counted += s.Requests
		if n := decode(t, s.Histogram).TotalCount(); uint64(n) != s.Requests || s.Errors != 0 {
			t.Errorf("%d latencies of a step with %+v", n, s)
		}
	}
	if len(res.Ramp) != 3 || res.Ramp[0].Requests != 0 || counted != res.Requests {
		t.Errorf("steps %+v of %d requests", res.Ramp, res.Requests)
	}
	if res.GaveUp != "" || len(res.Errors) > 0 || res.Requests == 0 || most == 0 || most > 6 || res.Connects > 6 {
		t.Errorf("at most %d users, %+v", most, res)
	}
}

func TestRampRefuses(t *testing.T) {
	for want, change := range map[string]func(*spec.Spec){
		"it requires a closed loop": func(s *spec.Spec) { s.Arrivals = &arrive.Plan{Rate: 1} },
		"up to 4 of 3 connections":  func(s *spec.Spec) { s.Ramp.From = 4 },
		"no users throughout":       func(s *spec.Spec) { s.Ramp.From = 0 },
	} {
		order := testSpec("127.0.0.1:1")
		order.Ramp = &arrive.Ramp{From: 1}
		change(order)
		if err := order.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
