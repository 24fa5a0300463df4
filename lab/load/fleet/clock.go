package fleet

import (
	"math"
	"time"
)

// clock counts from one reading of the wall clock with the monotonic clock.
type clock struct{ origin time.Time }

func newClock() clock { return clock{time.Now()} }

// at converts a time of this process to nanoseconds since 1970.
func (c clock) at(t time.Time) int64 { return c.origin.UnixNano() + int64(t.Sub(c.origin)) }

func (c clock) now() int64 { return c.at(time.Now()) }

// until returns the time from now until t.
func (c clock) until(t int64) time.Duration { return time.Duration(t - c.now()) }

// drift is the assumed maximum drift between two clocks, as a share of time: 50 parts per
// million, as of poor quartz.
const drift = 50e-6

// Offset is how far a worker's clock is ahead of the coordinator's, in
// nanoseconds.
type Offset struct {
	Nanoseconds int64 `json:"ns"`
	Uncertainty int64 `json:"uncertainty_ns"` // the true offset is Nanoseconds ± this
	Exchanges   int   `json:"exchanges"`      // number of exchanges, of which the best was chosen
}

// estimate is the current estimate of a worker's offset.
type estimate struct {
	Offset
	at int64 // time of the chosen exchange
}

// add adds an exchange: t0 and t3 are the coordinator's times, t1 and t2 the worker's. The
// uncertainty of an older exchange increases with the drift of the clocks.
func (e *estimate) add(t0, t1, t2, t3 int64) {
	trip := (t3 - t0) - (t2 - t1)
	if trip < 0 || t3 < t0 || t2 < t1 {
		return // from an earlier process of the worker, or forged
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

// awakeClock measures the time during which this process runs. A process that is suspended,
// by an overloaded machine or a debugger, receives no messages meanwhile, and may read them
// only after it has read the clock. That time must not count as silence of the others.
type awakeClock struct {
	every  time.Duration // regular interval between two calls of look
	last   time.Time     // time of the last look
	passed time.Duration
}

// look adds the time since the last look, limited to twice the interval, and returns now.
func (p *awakeClock) look(at time.Time) time.Duration {
	if !p.last.IsZero() {
		p.passed += min(at.Sub(p.last), 2*p.every)
	}
	p.last = at
	return p.passed
}

// now returns the time at the last look.
func (p *awakeClock) now() time.Duration { return p.passed }
