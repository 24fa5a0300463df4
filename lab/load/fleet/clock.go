package fleet

import (
	"math"
	"time"
)

// A clock counts from a reading of the wall clock on the monotonic one.
type clock struct{ origin time.Time }

func newClock() clock { return clock{time.Now()} }

// at is a time of this process in nanoseconds.
func (c clock) at(t time.Time) int64 { return c.origin.UnixNano() + int64(t.Sub(c.origin)) }

func (c clock) now() int64 { return c.at(time.Now()) }

// until is how long it is from now to a time.
func (c clock) until(t int64) time.Duration { return time.Duration(t - c.now()) }

// drift is how far two clocks may run apart, as a share of time: that of bad
// quartz, 50 parts in a million.
const drift = 50e-6

// Offset is how far a worker's clock is ahead of the coordinator's, in
// nanoseconds.
type Offset struct {
	Nanoseconds int64 `json:"ns"`
	Uncertainty int64 `json:"uncertainty_ns"` // the truth is within Nanoseconds ± this
	Exchanges   int   `json:"exchanges"`      // that it was chosen from
}

// estimate follows a worker's offset.
type estimate struct {
	Offset
	at int64 // of the exchange that was chosen
}

// add takes an exchange: t0 and t3 are the coordinator's times, t1 and t2 the
// worker's. What an older exchange told grows less certain with the drift of the
// clocks.
func (e *estimate) add(t0, t1, t2, t3 int64) {
	trip := (t3 - t0) - (t2 - t1)
	if trip < 0 || t3 < t0 || t2 < t1 {
		return // of another life of the worker, or made up
	}
	e.Exchanges++
	aged := int64(math.MaxInt64)
	if e.Exchanges > 1 {
		aged = e.Uncertainty + int64(drift*float64(t3-e.at))
	}
	if uncertainty := trip/2 + 1; uncertainty <= aged {
		e.Nanoseconds, e.Uncertainty, e.at = ((t1-t0)+(t2-t3))/2, uncertainty, t3
	}
}

// presence is time that passes while this process runs, as it is seen by looks in
// turn. A process that stood still, on a machine with too much to do or in a
// debugger, has heard nobody meanwhile, and may find what was said in its buffers
// only after it has looked at the clock: that was not the others' silence.
type presence struct {
	every  time.Duration // between two looks, when all is well
	last   time.Time     // look
	passed time.Duration
}

// look counts the time since the last look, up to twice the usual, and returns now.
func (p *presence) look(at time.Time) time.Duration {
	if !p.last.IsZero() {
		p.passed += min(at.Sub(p.last), 2*p.every)
	}
	p.last = at
	return p.passed
}

// now is what the last look came to.
func (p *presence) now() time.Duration { return p.passed }
