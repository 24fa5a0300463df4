package tally

import (
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/results"
)

// What was due in a step is that of the step, however late its answer comes; what came in
// it is, too.
func TestSteps(t *testing.T) {
	g := NewLedger(NewRecorder())
	g.Begin(1000, 4000)
	g.Divide([]arrive.Step{{To: 1000 * time.Nanosecond}, {To: 3000 * time.Nanosecond}})
	arrival := func(at int64) *Arrival {
		a := g.Send(arrive.Arrival{Intended: at, Possible: at}, at)
		return &a
	}
	g.Right(arrival(900), 1100)  // due in the warm-up, answered in the first step
	g.Right(arrival(1000), 2500) // answered in the second
	g.Right(arrival(2000), 3999) // due and answered in the second
	g.Fail(arrival(1999))        // of the first
	g.Fail(arrival(900))         // of none
	g.Right(arrival(3999), 4005) // at the edge: the tick that ends the window comes a little late
	g.CloseSteps()               // the window is over
	g.Right(arrival(3000), 9000) // of the second, answered later
	g.Abandon(1500, 10_000)      // of the first
	g.GiveUp(3500, 10_000)       // of the second
	g.Right(arrival(4000), 9000) // of none
	list, err := g.Steps()
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range [][5]uint64{{1, 1, 1, 1, 2}, {3, 0, 1, 3, 4}} {
		s := list[i]
		l, err := results.ParseLatency(s.Histogram)
		if got := [5]uint64{s.Right, s.Failed, s.Unfinished, s.Answered, l.Count}; err != nil || got != want {
			t.Errorf("step %d: right, failed, unfinished, answered and latencies %v, want %v (%v)", i, got, want, err)
		}
	}
	if list, err := NewLedger(NewRecorder()).Steps(); list != nil || err != nil {
		t.Errorf("without steps: %v, %v", list, err)
	}
}
