package request

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// flowCount counts the iterations of one flow.
type flowCount struct {
	completed, aborted uint64
	time, waited       *hdrhistogram.Histogram // see spec.Flow
}

// newFlows returns empty counts of all flows.
func newFlows(plan *scenario.Plan) []flowCount {
	flows := make([]flowCount, len(plan.Flows()))
	digits := 2
	if len(flows) > manyTargets {
		digits = 1
	}
	for i := range flows {
		flows[i].time = hdrhistogram.New(1, tally.MaxLatency, digits)
		flows[i].waited = hdrhistogram.New(1, tally.MaxLatency, digits)
	}
	return flows
}

// reset clears the counts when the window begins.
func (f *flowCount) reset() {
	f.completed, f.aborted = 0, 0
	f.time.Reset()
	f.waited.Reset()
}

// step counts the answer to a step of a flow, after the user has received it. It may end
// the iteration.
func (l *loop) step(x *exchange, target *scenario.Target, now int64) {
	t, since := x.turn, x.sent
	if l.open != nil {
		since = x.arrival.Intended
	}
	if !t.within {
		t.within, t.began, t.waited, t.answered = true, since, 0, since
	}
	t.waited += now - max(since, t.answered) // an arrival may be due before the answer to the one before
	t.answered = now
	switch {
	case target.Last():
		if l.counted(x, target) {
			f := &l.play.flows[target.Flow()]
			f.completed++
			tally.Record(f.time, now-t.began, 1)
			tally.Record(f.waited, t.waited, 1)
		}
		t.within = false
	case t.user.Within() < 0:
		l.abort(x, target)
	}
}

// abort ends an iteration that a step has failed.
func (l *loop) abort(x *exchange, target *scenario.Target) {
	x.turn.within = false
	if l.counted(x, target) {
		l.play.flows[target.Flow()].aborted++
	}
}

// flows returns the counts of the flows. Unfinished iterations are those of this moment.
func (l *loop) flows() ([]spec.Flow, error) {
	under := make([]uint64, len(l.play.flows))
	look := func(t *turn) {
		if i := t.user.Within(); i >= 0 && (t.within || t.next == nil) { // a first step that is only chosen has not begun
			under[i]++
		}
	}
	for i := range l.conns {
		c := &l.conns[i]
		if c.mux == nil {
			look(c.turn)
			continue
		}
		for k := range c.mux.requesters {
			look(c.mux.requesters[k].turn)
		}
	}
	flows := make([]spec.Flow, 0, len(l.play.flows))
	for i, name := range l.play.plan.Flows() {
		f := &l.play.flows[i]
		out := spec.Flow{Name: name, Completed: f.completed, Aborted: f.aborted, Unfinished: under[i]}
		var err error
		if out.Histogram, err = tally.Encode(f.time); err != nil {
			return nil, err
		}
		if out.Waited, err = tally.Encode(f.waited); err != nil {
			return nil, err
		}
		flows = append(flows, out)
	}
	return flows, nil
}
