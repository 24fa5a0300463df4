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
	SendLag     float64 `json:"send_lag_p99_us,omitempty"` // open loop, microseconds
	Waiting     uint64  `json:"waiting,omitempty"`         // open loop: arrivals that are due and not sent
	Users       int     `json:"users,omitempty"`           // ramp: users at the end of the point, each with a connection or stream
	InFlight    float64 `json:"in_flight,omitempty"`       // requests sent and not answered, mean since the previous point
	InFlightMax uint64  `json:"in_flight_max,omitempty"`   // maximum; unknown with several generators
	Asked       float64 `json:"asked,omitempty"`           // open loop: planned arrivals a second, see Document.Ask

	GeneratorCPU *float64 `json:"generator_cpu,omitempty"` // with one generator: CPUs in use, 1 = one whole CPU; absent if unknown

	Held    float64  `json:"held,omitempty"`    // share of the time for which the generator's thread did not run, but was to: it was stopped, or waited for a CPU
	Steal   *float64 `json:"steal,omitempty"`   // share of the CPUs' time that the hypervisor took since the previous reading, about one a second; absent if it was not read
	Foreign *float64 `json:"foreign,omitempty"` // the same, used by processes that are not part of the run

	Targets []TargetPoint `json:"targets,omitempty"` // of a scenario with several targets, in the order of Document.Targets, at most spec.MaxTargetHeat

	Threads   int `json:"threads,omitempty"`    // of the server
	OpenFiles int `json:"open_files,omitempty"` // of the server

	Stream *spec.Heard `json:"stream,omitempty"` // of subscribers

	Counted Counted `json:"-"` // counts behind Rate and Errors, for observers

	done uint64  // right answers and errors since the previous point
	used float64 // CPU seconds of the generator since its process began; 0 if unknown
}

// TargetPoint is what a point says about one target of a scenario.
type TargetPoint struct {
	Rate  float64 `json:"rate"`   // right answers a second
	P50Us float64 `json:"p50_us"` // microseconds, from counts whose buckets are 14 to 25 % wide; 0 without answers
	P99Us float64 `json:"p99_us"`
}

// Counted holds the counts of a point since the previous one.
type Counted struct {
	Requests uint64            // right answers, or events
	Kinds    map[string]uint64 // errors by kind; nil without errors
	BytesIn  uint64
	BytesOut uint64
}

// PointOf converts a tick to a point.
func PointOf(t *spec.Tick) Point {
	p := Point{P95Us: t.P95, InFlight: t.InFlight, InFlightMax: t.InFlightMax, SendLag: t.SendLag, Waiting: t.Waiting, Users: t.Users, Stream: t.Listen, done: t.Requests + t.Errors, used: t.Used, Sample: results.Sample{
		T: t.T, P50Us: t.P50, P99Us: t.P99, Errors: t.Errors, ServerCPU: t.ServerCPU, Heat: t.Heat,
	}}
	p.Counted = Counted{Requests: t.Requests, Kinds: t.Kinds, BytesIn: t.BytesIn, BytesOut: t.BytesOut}
	p.Held = t.Held
	if t.Seconds > 0 {
		p.Rate = float64(t.Requests) / t.Seconds
		for _, heat := range t.TargetHeat {
			p.Targets = append(p.Targets, targetPoint(heat, t.Seconds))
		}
	}
	return p
}

// targetPoint converts the answers of a target in so many seconds.
func targetPoint(heat [][2]uint64, seconds float64) (p TargetPoint) {
	var counts [results.HeatBuckets]uint64
	for _, h := range heat {
		if h[0] < results.HeatBuckets {
			counts[h[0]] += h[1]
			p.Rate += float64(h[1]) / seconds
		}
	}
	p.P50Us, _ = results.HeatQuantile(&counts, 0.50)
	p.P99Us, _ = results.HeatQuantile(&counts, 0.99)
	return p
}

// fillGenerator converts the generator's CPU time at each point to CPUs in use.
func (d *Document) fillGenerator() {
	for i := 1; i < len(d.Series); i++ {
		d.Series[i].UsedSince(&d.Series[i-1])
	}
}

// UsedSince sets GeneratorCPU to the CPUs that the generator used since the previous point. It
// does not set it if that is unknown.
func (p *Point) UsedSince(before *Point) {
	if seconds := p.T - before.T; seconds > 0 && before.used > 0 && p.used > 0 {
		cpus := max(0, p.used-before.used) / seconds
		p.GeneratorCPU = &cpus
	}
}

// Ask sets the planned rate of each point of an open loop: the mean between the previous point
// and this one. A nil plan is a closed loop.
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

// AskedBetween returns the mean rate that an open loop's plan has between two times, in seconds
// since the window began. Before the window it is the rate of the warm-up.
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
