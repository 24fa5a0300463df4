package fleet

import (
	"math"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// Point is one point of the common time series.
type Point struct {
	T        float64     `json:"t"`       // seconds from the agreed start to the end of the point
	Seconds  float64     `json:"seconds"` // length of the part that workers reported
	Requests uint64      `json:"requests"`
	Errors   uint64      `json:"errors"`
	Rate     float64     `json:"rate"`    // requests per second
	Workers  float64     `json:"workers"` // number of workers that reported, averaged over Seconds
	P50      float64     `json:"p50_us"`  // microseconds, from Heat, interpolated within a bucket, which is 19 % wide; 0 without answers
	P95      float64     `json:"p95_us"`
	P99      float64     `json:"p99_us"`
	Heat     [][2]uint64 `json:"heat"` // sparse latency counts, see results.HeatBucket

	SendLag   float64 `json:"send_lag_p99_us,omitempty"` // maximum over the workers
	Waiting   uint64  `json:"waiting,omitempty"`         // arrivals without a connection, of all workers
	Users     float64 `json:"users,omitempty"`           // of a ramp, of all workers, on average
	InFlight  float64 `json:"in_flight,omitempty"`       // requests sent and not answered, of all workers, on average
	ServerCPU float64 `json:"server_cpu"`                // CPU seconds per second
	Held      float64 `json:"held,omitempty"`            // share of the time for which a worker's thread did not run, but was to; maximum over the workers

	TargetHeat [][][2]uint64 `json:"target_heat,omitempty"` // Heat of each target of a scenario

	Kinds    map[string]uint64 `json:"kinds,omitempty"` // Errors by kind
	BytesIn  uint64            `json:"bytes_in,omitempty"`
	BytesOut uint64            `json:"bytes_out,omitempty"`
}

// series accumulates the points. One of them begins with the window, and the last ends with it:
// the first point may be shorter than the others, and so may the last.
type series struct {
	width    int64 // of a point, nanoseconds
	from, to int64 // of the window, nanoseconds since the start; to 0: without end
	bins     []bin
}

// seriesOf returns the empty series of a run.
func seriesOf(p *Plan) series {
	return series{width: int64(p.Tick), from: int64(p.Warmup), to: int64(p.Warmup + p.Window)}
}

// bin returns the index of the point that contains the time at. The window's last point
// contains what comes later too: clocks differ.
func (s *series) bin(at int64) int64 {
	if s.to > 0 {
		at = min(at, s.to-1)
	}
	return (at + s.ahead()) / s.width
}

// ahead is how much of the first point is before the start.
func (s *series) ahead() int64 { return (s.width - s.from%s.width) % s.width }

// end returns the time at which a point ends.
func (s *series) end(i int64) int64 {
	end := (i+1)*s.width - s.ahead()
	if s.to > 0 {
		end = min(end, s.to)
	}
	return end
}

type bin struct {
	requests, errors uint64
	in, out          uint64            // bytes
	kinds            map[string]uint64 // of errors
	heat             [results.HeatBuckets]uint64
	from, to         int64 // reported interval, nanoseconds since the start
	worked           int64 // reported nanoseconds, sum over all workers
	lag, held        float64
	targets          [][results.HeatBuckets]uint64
	ages             [3]float64 // quantiles of ticks without an answer: ages of what waits
	waiting, cpu     float64    // multiplied by nanoseconds
	users            float64    // the same
	flight           float64    // the same
}

// whole returns the number of points to which a worker adds no more. It has passed the time at,
// and through is whether its window is over.
func (s *series) whole(at int64, through bool) int64 {
	n := max(0, at+s.ahead()) / s.width
	switch {
	case s.to == 0:
		return n
	case through:
		return s.bin(s.to) + 1
	}
	return min(n, s.bin(s.to))
}

// maxPoints bounds the series: 28 hours at 100 ms.
const maxPoints = 1 << 20

// add divides a worker's tick, for an interval in nanoseconds since the start, among the
// points.
func (s *series) add(from, to int64, t *tick) {
	from = max(from, 0)
	if to <= from || to > maxPoints*s.width {
		return
	}
	length := float64(to - from)
	for at := from; at < to; {
		i := s.bin(at)
		end := to
		if e := s.end(i); at < e {
			end = min(e, to)
		}
		for int64(len(s.bins)) <= i {
			s.bins = append(s.bins, bin{from: math.MaxInt64})
		}
		b := &s.bins[i]
		// Rounding the running total instead of each part leaves no remainder.
		low, high := float64(at-from)/length, float64(end-from)/length
		part := func(n uint64) uint64 {
			return uint64(math.Round(float64(n)*high)) - uint64(math.Round(float64(n)*low))
		}
		b.requests += part(t.Requests)
		b.errors += part(t.Errors)
		b.in += part(t.BytesIn)
		b.out += part(t.BytesOut)
		for kind, n := range t.Kinds {
			if n = part(n); n > 0 && b.kinds == nil {
				b.kinds = map[string]uint64{}
			}
			if n > 0 {
				b.kinds[kind] += n
			}
		}
		for _, h := range t.Heat {
			if h[0] < results.HeatBuckets {
				b.heat[h[0]] += part(h[1])
			}
		}
		b.from, b.to = min(b.from, at), max(b.to, end)
		b.worked += end - at
		for len(b.targets) < min(len(t.TargetHeat), spec.MaxTargetHeat) {
			b.targets = append(b.targets, [results.HeatBuckets]uint64{})
		}
		for i := range b.targets[:min(len(b.targets), len(t.TargetHeat))] {
			for _, h := range t.TargetHeat[i] {
				if h[0] < results.HeatBuckets {
					b.targets[i][h[0]] += part(h[1])
				}
			}
		}
		b.lag, b.held = max(b.lag, t.SendLag), max(b.held, t.Held)
		if len(t.Heat) == 0 {
			b.ages = [3]float64{max(b.ages[0], t.P50), max(b.ages[1], t.P95), max(b.ages[2], t.P99)}
		}
		b.waiting += float64(t.Waiting) * float64(end-at)
		b.users += float64(t.Users) * float64(end-at)
		b.flight += t.InFlight * float64(end-at)
		b.cpu += t.ServerCPU * float64(end-at)
		at = end
	}
}

// point returns the i-th point. If no worker reported on it, only T is set.
func (s *series) point(i int) Point {
	b := &s.bins[i]
	p := Point{T: float64(s.end(int64(i))) / 1e9, Heat: [][2]uint64{}}
	if b.worked == 0 {
		return p
	}
	if i == len(s.bins)-1 { // the window may have ended earlier, after a number of requests
		p.T = min(p.T, float64(b.to)/1e9)
	}
	p.Seconds = float64(b.to-b.from) / 1e9
	p.Requests, p.Errors, p.Kinds = b.requests, b.errors, b.kinds
	p.BytesIn, p.BytesOut = b.in, b.out
	p.Rate = float64(b.requests) / p.Seconds
	p.Workers = float64(b.worked) / float64(b.to-b.from)
	p.SendLag, p.Held, p.ServerCPU = b.lag, b.held, b.cpu/float64(b.worked)
	p.InFlight = b.flight / float64(b.to-b.from)
	p.Waiting = uint64(math.Round(b.waiting / float64(b.to-b.from)))
	p.Users = b.users / float64(b.to-b.from)
	p.Heat = sparse(&b.heat)
	for i := range b.targets {
		p.TargetHeat = append(p.TargetHeat, sparse(&b.targets[i]))
	}
	p.P50, p.P95, p.P99 = quantile(p.Heat, 0.50), quantile(p.Heat, 0.95), quantile(p.Heat, 0.99)
	if len(p.Heat) == 0 {
		p.P50, p.P95, p.P99 = b.ages[0], b.ages[1], b.ages[2]
	}
	return p
}

// sparse returns the counts that are not 0, with their buckets.
func sparse(counts *[results.HeatBuckets]uint64) [][2]uint64 {
	list := [][2]uint64{}
	for h, n := range counts {
		if n > 0 {
			list = append(list, [2]uint64{uint64(h), n})
		}
	}
	return list
}

// quantile returns a quantile in microseconds, interpolated within a bucket.
func quantile(heat [][2]uint64, q float64) float64 {
	var total, below float64
	for _, h := range heat {
		total += float64(h[1])
	}
	for _, h := range heat {
		n := float64(h[1])
		if below+n >= q*total {
			low := results.HeatFloor(int(h[0])).Seconds()
			high := results.HeatFloor(int(h[0]) + 1).Seconds()
			return 1e6 * (low + (high-low)*(q*total-below)/n)
		}
		below += n
	}
	return 0
}
