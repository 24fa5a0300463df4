package request

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// The second cancellation ends the wait for answers at its first step. What the server leaves
// unanswered is counted as ever.
func TestAgainEndsTheTail(t *testing.T) {
	quiet := make(chan struct{})
	defer close(quiet)
	var stopped atomic.Bool
	s := serveScript(t, func(c *net.TCPConn, _ int) bool {
		if stopped.Load() {
			<-quiet
			return false
		}
		return say(c, goodAnswer)
	})
	order := testSpec(s.addr)
	order.Connections = 4
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 30 })
	stopped.Store(true)
	l.draining = false
	l.start()
	if err := l.Until(l.Now() + int64(20*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	again := make(chan struct{})
	close(again)
	l.ctx = run.WithAgain(context.Background(), again)
	c := client{loop: l}
	c.Cut(l.Now())
	end, steps := newTail(l), 0
	err := end.wait(func() error {
		steps++
		return l.Until(l.Now() + int64(time.Millisecond))
	}, true)
	if err != nil || steps != 1 || len(end.flights) != 4 {
		t.Errorf("%d steps, %d requests in flight, %v", steps, len(end.flights), err)
	}
}

// A run that is cancelled twice has a result like one that is cancelled once.
func TestRunCutAgain(t *testing.T) {
	for name, change := range map[string]func(o *spec.Spec){
		"closed": func(*spec.Spec) {}, "open": func(o *spec.Spec) { o.Arrivals = &arrive.Plan{Rate: 500} }, "idle": func(o *spec.Spec) { o.Idle = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
			order := testSpec(s.addr)
			order.Window, order.Tick = 30*time.Second, 50*time.Millisecond
			change(order)
			again := make(chan struct{})
			close(again)
			ctx, cancel := context.WithCancel(run.WithAgain(context.Background(), again))
			defer cancel()
			var window bool
			var result *spec.Result
			err := Run(ctx, order, func(e spec.Event) {
				switch {
				case e.Window:
					window = true
				case e.Tick != nil && window:
					cancel()
				case e.Result != nil:
					result = e.Result
				}
			})
			if err != nil || result == nil || !result.Cut || result.Seconds >= order.Window.Seconds() {
				t.Errorf("%v, %+v", err, result)
			}
		})
	}
}
