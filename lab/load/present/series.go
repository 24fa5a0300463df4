package present

import (
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// Point is one point of the time series.
type Point struct {
	results.Sample
	P95Us       float64 `json:"p95_us,omitempty"`          // microseconds; 0 without answers
	SendLag     float64 `json:"send_lag_p99_us,omitempty"` // of an open loop, microseconds
	Waiting     uint64  `json:"waiting,omitempty"`         // of an open loop: arrivals that are due and not sent
	Users       int     `json:"users,omitempty"`           // of a ramp: users at the end of the point, each with a connection or stream
	InFlight    float64 `json:"in_flight,omitempty"`       // requests sent and not answered, on average since the point before
	InFlightMax uint64  `json:"in_flight_max,omitempty"`   // and at most; not known of several generators
	Asked       float64 `json:"asked,omitempty"`           // of an open loop: arrivals a second that were planned, see Document.Ask

	GeneratorCPU *float64 `json:"generator_cpu,omitempty"` // of one generator: CPUs in use, 1 = one whole; absent when it is not known

	Threads   int `json:"threads,omitempty"`    // of the server
	OpenFiles int `json:"open_files,omitempty"` // of the server

	Stream *spec.Heard `json:"stream,omitempty"` // of subscribers

	Counted Counted `json:"-"` // what Rate and Errors come from, for those who look on

	done uint64  // right answers and errors since the point before
	used float64 // CPU seconds of the generator since its process began; 0 when they are not known
}

// Counted is what a point has counted since the one before.
type Counted struct {
	Requests uint64            // right answers, or events
	Kinds    map[string]uint64 // errors by kind; nil without errors
	BytesIn  uint64
	BytesOut uint64
}

// PointOf turns a tick into a point.
func PointOf(t *spec.Tick) Point {
	p := Point{P95Us: t.P95, InFlight: t.InFlight, InFlightMax: t.InFlightMax, SendLag: t.SendLag, Waiting: t.Waiting, Users: t.Users, Stream: t.Listen, done: t.Requests + t.Errors, used: t.Used, Sample: results.Sample{
		T: t.T, P50Us: t.P50, P99Us: t.P99, Errors: t.Errors, ServerCPU: t.ServerCPU, Heat: t.Heat,
	}}
	p.Counted = Counted{Requests: t.Requests, Kinds: t.Kinds, BytesIn: t.BytesIn, BytesOut: t.BytesOut}
	if t.Seconds > 0 {
		p.Rate = float64(t.Requests) / t.Seconds
	}
	return p
}

// fillGenerator turns what the generator had used at each point into CPUs in use.
func (d *Document) fillGenerator() {
	for i := 1; i < len(d.Series); i++ {
		d.Series[i].UsedSince(&d.Series[i-1])
	}
}

// UsedSince sets GeneratorCPU to what the generator has used since the point before. It
// leaves it alone when that is not known.
func (p *Point) UsedSince(before *Point) {
	if seconds := p.T - before.T; seconds > 0 && before.used > 0 && p.used > 0 {
		cpus := max(0, p.used-before.used) / seconds
		p.GeneratorCPU = &cpus
	}
}

// Ask puts the rate that was planned into the points of an open loop: the mean between a
// point and the one before. A nil plan is that of a closed loop.
func (d *Document) Ask(plan *arrive.Plan) {
	if plan == nil {
		return
	}
	last := 0.0
	for i := range d.Series {
		p := &d.Series[i]
		p.Asked = AskedBetween(plan, last, p.T)
		last = max(p.T, 0)
	}
}

// AskedBetween is the mean rate that an open loop's plan has between two times in seconds
// since the window began; that of the warm-up before the window.
func AskedBetween(plan *arrive.Plan, from, to float64) float64 {
	switch {
	case to <= 0:
		return plan.First().Rate
	case to <= from:
		return 0
	}
	return plan.Count(since(from), since(to)) / (to - from)
}

func since(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
