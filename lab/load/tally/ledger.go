package tally

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// Arrival is one arrival on its connection.
type Arrival struct {
	Intended int64
	Sent     int64
	Pending  bool // sent, and neither answered nor failed
}

// Ledger does the accounting of an open loop. It records an arrival in the window that
// contains its intended time, no matter how late the response is: a server that stalls at
// the end of a window does not look better for it.
type Ledger struct {
	spec.Open
	Rec                                 *Recorder
	From, To                            int64 // the window
	ServiceTimes, LagTimes, PacingTimes *hdrhistogram.Histogram
	fine                                fine // send lag of the current tick
	steps                               steps
	TimedOut                            uint64 // of Failed, those of TimeOut
	closed                              bool   // answers are no longer counted where they come
}

// NewLedger returns a ledger without a window, which records response times in rec.
func NewLedger(rec *Recorder) *Ledger {
	return &Ledger{Rec: rec, ServiceTimes: NewHistogram(), LagTimes: NewHistogram(), PacingTimes: NewHistogram()}
}

// Begin opens the window; nothing is counted before.
func (g *Ledger) Begin(from, to int64) { g.From, g.To = from, to }

// Divide counts the arrivals of the window by the steps of their plan as well. It follows
// Begin.
func (g *Ledger) Divide(plan []arrive.Step) { g.steps = newSteps(g.From, plan) }

// CloseSteps ends the window for answers, which from then on do not belong to the step in
// which they come.
func (g *Ledger) CloseSteps() { g.closed = true }

// Steps returns what became of the arrivals of each step; nil without steps.
func (g *Ledger) Steps() ([]spec.Step, error) { return g.steps.result() }

// Within reports whether an arrival belongs to the window.
func (g *Ledger) Within(intended int64) bool { return intended >= g.From && intended < g.To }

// Send records that a request is passed to the kernel now.
func (g *Ledger) Send(a arrive.Arrival, now int64) Arrival {
	lag := now - a.Intended
	g.fine.add(lag, 1)
	if g.Within(a.Intended) {
		g.Sent++
		if a.Possible > a.Intended {
			g.Waited++
		}
		Record(g.LagTimes, lag, 1)
		Record(g.PacingTimes, now-a.Possible, 1)
	}
	return Arrival{Intended: a.Intended, Sent: now, Pending: true}
}

// Right records a right response.
func (g *Ledger) Right(a *Arrival, now int64) {
	a.Pending = false
	g.Rec.fine.add(now-a.Intended, 1)
	if !g.closed {
		g.steps.answered(now)
	}
	if g.Within(a.Intended) {
		g.steps.right(a.Intended, now)
		g.Rec.sample(now-a.Intended, 1)
		Record(g.ServiceTimes, now-a.Sent, 1)
	}
}

// Fail records that no right response will arrive, if the arrival was pending.
func (g *Ledger) Fail(a *Arrival) {
	if a.Pending && g.Within(a.Intended) {
		g.Failed++
		g.steps.failed(a.Intended)
	}
	a.Pending = false
}

// TimeOut is Fail for an arrival that had no answer in time, after age nanoseconds. It counts as a
// response time, a lower bound: a server is not faster for what it never answers.
func (g *Ledger) TimeOut(a *Arrival, age int64) {
	if !a.Pending {
		return
	}
	a.Pending = false
	g.Rec.fine.add(age, 1)
	if g.Within(a.Intended) {
		g.Failed++
		g.TimedOut++
		g.steps.timedOut(a.Intended, age)
		g.Rec.sample(age, 1)
	}
}

// GiveUp records that an arrival remains without a response.
func (g *Ledger) GiveUp(intended, now int64) {
	if g.Within(intended) {
		g.Unfinished++
		g.steps.unfinished(intended, now)
		g.Rec.sample(now-intended, 1)
	}
}

// Abandon is GiveUp for an arrival that was never sent because no connection was free.
func (g *Ledger) Abandon(intended, now int64) {
	if g.Within(intended) {
		g.Waited++
	}
	g.GiveUp(intended, now)
}

// Take returns the p99 of the send lag in the current tick, in microseconds, and begins the
// next tick.
func (g *Ledger) Take() (p99 float64) {
	if total := g.fine.total(); total > 0 {
		p99 = g.fine.quantile(total, 0.99)
		g.fine = fine{}
	}
	return p99
}

// Result returns the counts, with the histograms.
func (g *Ledger) Result() (*spec.Open, error) {
	open := g.Open
	for _, h := range []struct {
		of *hdrhistogram.Histogram
		to *string
	}{{g.ServiceTimes, &open.Service}, {g.LagTimes, &open.Lag}, {g.PacingTimes, &open.Pacing}} {
		var err error
		if *h.to, err = Encode(h.of); err != nil {
			return nil, err
		}
	}
	return &open, nil
}
