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
			k.TargetHeat = [][][2]uint64{nil, k.Heat, {{1 << 60, 1}}} // the last of no bucket
			k.BytesIn, k.BytesOut, k.Kinds = r.Uint64N(1000), r.Uint64N(1000), map[string]uint64{"timeout": k.Errors}
			s.add(at, next, k)
			bytes += k.BytesIn + k.BytesOut
			timeouts += k.Errors
			requests += k.Requests
			errs += k.Errors
			heat += 2 * (k.Heat[0][1] + k.Heat[1][1]) // of all, and of the targets
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
		for _, counts := range append(p.TargetHeat, p.Heat) {
			for _, h := range counts {
				heat -= h[1]
			}
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

// A point begins with the window, and the last one ends with it, and has what clocks move beyond.
func TestPointsOfWindow(t *testing.T) {
	s := seriesOf(&Plan{Warmup: 250, Window: 430, Tick: 100})
	s.add(0, 250, &tick{Requests: 250})
	for at := int64(255); at < 685; at += 43 { // a worker whose clock is late
		s.add(at, at+43, &tick{Requests: 43})
	}
	want := []struct {
		end      float64
		requests uint64
	}{{50, 50}, {150, 100}, {250, 100}, {350, 95}, {450, 100}, {550, 100}, {650, 100}, {680, 35}}
	if len(s.bins) != len(want) {
		t.Fatalf("%d points, want %d", len(s.bins), len(want))
	}
	for i, w := range want {
		if p := s.point(i); math.Abs(p.T*1e9-w.end) > 1e-6 || p.Requests != w.requests {
			t.Errorf("point %d ends at %.1f with %d requests, want %.0f and %d", i, p.T*1e9, p.Requests, w.end, w.requests)
		}
	}
	for _, c := range []struct {
		at      int64
		through bool
		want    int64
	}{{-80, false, 0}, {49, false, 0}, {50, false, 1}, {251, false, 3}, {680, false, 7}, {690, false, 7}, {679, true, 8}} {
		if n := s.whole(c.at, c.through); n != c.want {
			t.Errorf("%d whole points at %d, window over: %v; want %d", n, c.at, c.through, c.want)
		}
	}
}

// With a number of requests, the last point ends with the last of them.
func TestPointsOfRequests(t *testing.T) {
	s := seriesOf(&Plan{Window: 1e12, Tick: 100})
	s.add(0, 130, &tick{Requests: 13})
	if p := s.point(1); math.Abs(p.T*1e9-130) > 1e-6 || math.Abs(p.Seconds*1e9-30) > 1e-6 {
		t.Errorf("%+v", p)
	}
}
