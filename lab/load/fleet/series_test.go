package fleet

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

// Ticks that overlap several points: nothing is lost or counted twice.
func TestSeriesKeepsCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	s := series{width: 100e6}
	var requests, errs, heat, worked, bytes, timeouts uint64
	for range 3 {
		at := r.Int64N(90e6)
		for range 200 {
			next := at + 80e6 + r.Int64N(150e6)
			k := &tick{Requests: r.Uint64N(1000), Errors: r.Uint64N(3), Heat: [][2]uint64{{5, r.Uint64N(50)}, {9, r.Uint64N(7)}}}
			k.BytesIn, k.BytesOut, k.Kinds = r.Uint64N(1000), r.Uint64N(1000), map[string]uint64{"timeout": k.Errors}
			s.add(at, next, k)
			bytes += k.BytesIn + k.BytesOut
			timeouts += k.Errors
			requests += k.Requests
			errs += k.Errors
			heat += k.Heat[0][1] + k.Heat[1][1]
			worked += uint64(next - at)
			at = next
		}
	}
	for i := range s.bins {
		p := s.point(i)
		requests -= p.Requests
		errs -= p.Errors
		bytes -= p.BytesIn + p.BytesOut
		timeouts -= p.Kinds["timeout"]
		for _, h := range p.Heat {
			heat -= h[1]
		}
		worked -= uint64(s.bins[i].worked)
	}
	if requests != 0 || errs != 0 || heat != 0 || worked != 0 || bytes != 0 || timeouts != 0 {
		t.Errorf("left over: %d requests, %d errors, %d timeouts, %d latencies, %d bytes, %d ns",
			int64(requests), int64(errs), int64(timeouts), int64(heat), int64(bytes), int64(worked))
	}
}

func TestPoints(t *testing.T) {
	s := series{width: 100}
	s.add(-50, 50, &tick{Requests: 30}) // the part before the start counts from 0
	s.add(50, 200, &tick{Requests: 90, Heat: [][2]uint64{{40, 90}}})
	s.add(100, 150, &tick{Requests: 20})
	s.add(400, 400, &tick{Requests: 1})                  // of no length
	s.add(0, 1<<62, &tick{Requests: 1})                  // beyond any run
	s.add(0, 10, &tick{Heat: [][2]uint64{{1 << 60, 1}}}) // of no bucket
	if len(s.bins) != 2 {
		t.Fatalf("%d points", len(s.bins))
	}
	a, b := s.point(0), s.point(1)
	if a.Requests != 60 || a.Workers != 1.1 || a.T != 100e-9 || math.Abs(a.Rate-60/100e-9) > 1 {
		t.Errorf("first point %+v", a)
	}
	if b.Requests != 80 || b.Workers != 1.5 || b.Seconds != 100e-9 {
		t.Errorf("second point %+v", b)
	}
	low, high := results.HeatFloor(40).Seconds()*1e6, results.HeatFloor(41).Seconds()*1e6
	if b.P50 < low || b.P99 > high || b.P50 >= b.P99 {
		t.Errorf("quantiles %v and %v of the bucket from %v to %v", b.P50, b.P99, low, high)
	}
}
