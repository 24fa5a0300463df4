package fleet

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The estimate contains the true offset for any latencies of the two directions, while the
// clocks drift.
func TestEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		offset := r.Int64N(2e9) - 1e9
		speed := (r.Float64()*2 - 1) * drift
		at := func(now int64) int64 { return now + offset + int64(speed*float64(now)) }
		var e estimate
		var now int64
		for range 50 {
			now += r.Int64N(500e6)
			t0 := now
			t1 := t0 + r.Int64N(5e6)
			t2 := t1 + r.Int64N(1e6)
			t3 := t2 + r.Int64N(5e6)
			e.add(t0, at(t1), at(t2), t3)
			now = t3
			truth := at(now) - now
			allowed := e.Uncertainty + int64(drift*float64(now-e.at)) + 1000
			if d := e.Nanoseconds - truth; d > allowed || -d > allowed {
				t.Fatalf("offset %d ± %d, truth %d", e.Nanoseconds, e.Uncertainty, truth)
			}
		}
		if e.Exchanges != 50 {
			t.Fatalf("%d exchanges", e.Exchanges)
		}
	}
}

func TestEstimateTakesTheShortestTrip(t *testing.T) {
	var e estimate
	e.add(0, 1000+50, 1000+50, 100)         // exact
	e.add(1000, 1000+1900, 1000+1900, 2000) // slow on the way to the worker
	e.add(3000, 3900, 3800, 3900)           // invalid: the worker's clock went back
	e.add(5000, 6000, 6100, 5050)           // invalid: shorter than the worker's part
	if e.Nanoseconds != 1000 || e.Uncertainty != 51 || e.Exchanges != 2 {
		t.Errorf("got %+v", e)
	}
}

// The time during which this process was suspended does not count.
func TestAwakeClock(t *testing.T) {
	p := awakeClock{every: time.Second}
	at := time.Now()
	for _, c := range []struct{ later, want time.Duration }{
		{0, 0}, {time.Second, time.Second}, {time.Second / 2, 3 * time.Second / 2}, {time.Hour, 7 * time.Second / 2}, {time.Second, 9 * time.Second / 2},
	} {
		at = at.Add(c.later)
		if got := p.look(at); got != c.want || p.now() != got {
			t.Errorf("%v later it is %v, want %v", c.later, got, c.want)
		}
	}
}
