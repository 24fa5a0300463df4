package request

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/verdict"
)

func decode(t *testing.T, encoded string) *hdrhistogram.Histogram {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// runOpen runs an open loop and checks that its counts add up: every arrival
// that was due is counted once.
func runOpen(t *testing.T, order *spec.Spec) *spec.Result {
	t.Helper()
	return runOpenSeen(t, order, func(spec.Event) {})
}

// runOpenSeen is runOpen with a function that is called for each event.
func runOpenSeen(t *testing.T, order *spec.Spec, see func(spec.Event)) *spec.Result {
	t.Helper()
	var last spec.Event
	if err := Run(context.Background(), order, func(e spec.Event) { see(e); last = e }); err != nil {
		t.Fatal(err)
	}
	res := last.Result
	if res == nil || res.Open == nil {
		t.Fatalf("the last event is %+v", last)
	}
	o := res.Open
	response, service := decode(t, res.Histogram).TotalCount(), decode(t, o.Service).TotalCount()
	lag, pacing := decode(t, o.Lag).TotalCount(), decode(t, o.Pacing).TotalCount()
	if uint64(response) != o.Due-o.Failed+res.TimedOut || uint64(service) != o.Due-o.Failed-o.Unfinished || lag != pacing || uint64(lag) > o.Due || o.Sent > uint64(lag) {
		t.Errorf("%d response times, %d service times, %d and %d lags of %d due, %d sent, %d failed, %d unfinished",
			response, service, lag, pacing, o.Due, o.Sent, o.Failed, o.Unfinished)
	}
	return res
}

func openSpec(addr string, rate float64) *spec.Spec {
	order := testSpec(addr)
	order.Window, order.Tick = 300*time.Millisecond, 50*time.Millisecond
	order.Arrivals = &arrive.Plan{Rate: rate, Poisson: true, Seed: 3}
	return order
}

// due returns how many arrivals a plan has in the window of spec.
func due(order *spec.Spec) uint64 {
	q := arrive.NewQueue(1)
	q.Begin(order.Arrivals, 0, int64(order.Window))
	return q.Due(int64(order.Window))
}

func TestOpenLoop(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := openSpec(s.addr, 2000)
	order.Warmup, order.Connections = 100*time.Millisecond, 8
	res := runOpen(t, order)
	if o := res.Open; o.Due != due(order) || o.Failed != 0 || o.Unfinished != 0 || len(res.Errors) > 0 {
		t.Errorf("%+v, errors %v, want %d due and no error", res.Open, res.Errors, due(order))
	}
	if gates, err := verdict.Open(res, 0); err != nil || len(gates) != 3 {
		t.Errorf("gates %v, %v", gates, err)
	}
}

// Arrivals that one slow connection cannot send in time are all sent late.
func TestOpenLoopNeverSkips(t *testing.T) {
	var served atomic.Uint64
	s := serveScript(t, func(c *net.TCPConn, _ int) bool {
		served.Add(1)
		time.Sleep(2 * time.Millisecond)
		return say(c, goodAnswer)
	})
	order := openSpec(s.addr, 1000)
	order.Connections = 1
	res := runOpen(t, order)
	if o := res.Open; o.Failed+o.Unfinished != 0 || o.Sent >= o.Due || served.Load() != o.Due || o.Waited < o.Due/2 {
		t.Errorf("%+v, %d served", res.Open, served.Load())
	}
	gates, err := verdict.Open(res, 0)
	if err != nil || gates[0].Passed || gates[1].Passed { // TestGates looks at what they say: a busy machine makes the generator late, too
		t.Errorf("gates %+v, %v", gates, err)
	}
}

// Errors are counted under their names, and each fails one arrival.
func TestOpenLoopErrors(t *testing.T) {
	for _, tc := range misbehaviours {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serveScript(t, func(c *net.TCPConn, n int) bool {
				if n%5 == 0 {
					return tc.do(c)
				}
				return say(c, goodAnswer)
			})
			order := openSpec(s.addr, 700)
			order.Window = 100 * time.Millisecond
			if tc.post {
				order.Request = []byte(postRequest)
			}
			if tc.timeout > 0 {
				order.Timeout, order.Persist = tc.timeout, true
			}
			res := runOpen(t, order)
			switch {
			case tc.kind == "" && (res.Open.Failed > 0 || len(res.Errors) > 0):
				t.Errorf("failed %d, errors %v", res.Open.Failed, res.Errors)
			case tc.kind == spec.ErrUnasked: // counted on a connection whose arrival was answered
			case tc.timeout > 0 && res.Open.Failed+res.Open.Unfinished > 0: // a late arrival is given up before its timeout
			case tc.kind != "" && res.Open.Failed == 0:
				t.Errorf("none failed, errors %v, %+v", res.Errors, res.Open)
			}
			for kind := range res.Errors {
				if kind != tc.kind {
					t.Errorf("errors %v, want %s alone", res.Errors, tc.kind)
				}
			}
		})
	}
}

// When a server stops answering, its unanswered arrivals are counted, sent or not.
func TestOpenLoopGivesUp(t *testing.T) {
	t.Parallel()
	s := serveScript(t, func(c *net.TCPConn, n int) bool {
		if n > 20 {
			_, _ = c.Read(make([]byte, 1)) // until the client closes
			return false
		}
		return say(c, goodAnswer)
	})
	order := openSpec(s.addr, 1000)
	order.Timeout, order.Persist = 1500*time.Millisecond, true
	res := runOpen(t, order)
	if o := res.Open; o.Due != due(order) || o.Unfinished == 0 {
		t.Errorf("%+v", res.Open)
	}
	// Unsent arrivals wait for a connection until the end.
	if o := res.Open; o.Waited+uint64(order.Connections) < o.Unfinished {
		t.Errorf("%d waited for a connection, though %d of %d had no answer on %d", o.Waited, o.Unfinished, o.Due, order.Connections)
	}
	if oldest := decode(t, res.Histogram).Max(); oldest < int64(order.Timeout) {
		t.Errorf("the oldest arrival was given up at %v", time.Duration(oldest))
	}
}

func TestOpenLoopRefuses(t *testing.T) {
	for want, change := range map[string]func(*spec.Spec){
		"pipeline of an open loop is 2":            func(s *spec.Spec) { s.Pipeline = 2 },
		"arrivals: the rate is 0 throughout":       func(s *spec.Spec) { s.Arrivals = &arrive.Plan{} },
		"arrivals: stage 1: a rate of -1 a second": func(s *spec.Spec) { s.Arrivals.Stages = []arrive.Stage{{For: 1, Rate: -1}} },
	} {
		order := openSpec("127.0.0.1:1", 10)
		change(order)
		if err := order.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// An open loop does not allocate either.
func TestOpenLoopAllocates(t *testing.T) {
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in, out := make([]byte, len(getRequest)), []byte(goodAnswer)
		for {
			if n, err := c.Read(in); err != nil || n < len(in) {
				return
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	})
	l, err := newLoop(context.Background(), openSpec(s.addr, 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	wantFewAllocs(t, l)
}
