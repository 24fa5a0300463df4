package scripted

import (
	"slices"
	"testing"
	"time"
)

var stalls = Script{Service: 2 * time.Millisecond, StallAt: 4 * time.Second, Stall: 2 * time.Second}

func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		what     string
		at, want time.Duration
	}{
		{"before the stall", time.Second, time.Second + 2*time.Millisecond},
		{"done as it begins", 3998 * time.Millisecond, 4 * time.Second},
		{"in work as it begins", 3999 * time.Millisecond, 6001 * time.Millisecond},
		{"with it", 4 * time.Second, 6002 * time.Millisecond},
		{"within", 5 * time.Second, 6002 * time.Millisecond},
		{"as it ends", 6 * time.Second, 6002 * time.Millisecond},
		{"after it", 7 * time.Second, 7002 * time.Millisecond},
	} {
		if got := stalls.Answer(c.at); got != c.want {
			t.Errorf("%s: came at %v, answered at %v, want %v", c.what, c.at, got, c.want)
		}
	}
}

// A later request is never answered earlier: the server answers in order.
func TestAnswerKeepsTheOrder(t *testing.T) {
	last := time.Duration(0)
	for at := time.Duration(0); at < 8*time.Second; at += 100 * time.Microsecond {
		got := stalls.Answer(at)
		if got < last {
			t.Fatalf("came at %v, answered at %v, before one that came earlier (%v)", at, got, last)
		}
		last = got
	}
}

// The distribution is that of the formula of Truth.
func TestTruth(t *testing.T) {
	const rate, total = 1000, 10 * time.Second
	d := stalls.Truth(rate, total)
	if len(d) != 10000 {
		t.Fatalf("%d requests", len(d))
	}
	f := stalls.Stall.Seconds() / total.Seconds()
	for _, q := range []float64{0.5, 0.75, 0.81, 0.9, 0.95, 0.99, 0.999} {
		want := stalls.Service.Seconds()
		if 1-q < f {
			want += stalls.Stall.Seconds() * (1 - (1-q)/f)
		}
		// Requests come 1 ms apart, so that their times are 1 ms apart.
		if got := d.Quantile(q).Seconds(); got < want-0.0011 || got > want+0.0011 {
			t.Errorf("quantile %g is %.4f s, the formula gives %.4f s", q, got, want)
		}
	}
	if got := d.Quantile(1); got != 2002*time.Millisecond {
		t.Errorf("maximum %v", got)
	}
}

// 64 connections that queue the requests that they cannot send are enough: their response
// times differ by half a percent. So a tool that has no more can be accurate.
func TestTruthOfFewConnections(t *testing.T) {
	const rate, connections = 1000, 64
	free := make([]time.Duration, connections) // when each is; the earliest is the one after the last taken
	var d Distribution
	for k := range 10000 {
		due := time.Duration(k) * time.Second / rate
		c := k % connections
		free[c] = stalls.Answer(max(due, free[c]))
		d = append(d, free[c]-due)
	}
	truth := stalls.Truth(rate, 10*time.Second)
	slices.Sort(d)
	for _, q := range []float64{0.5, 0.99, 1} {
		got, want := d.Quantile(q).Seconds(), truth.Quantile(q).Seconds()
		if got < want || got > want*1.005 {
			t.Errorf("quantile %g with %d connections %.4f s, with any number %.4f s", q, connections, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	var hundred Distribution
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {0.01, 1}, {0.011, 2}, {0.5, 50}, {0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := hundred.Quantile(c.q); got != c.want {
			t.Errorf("quantile %g of 1 to 100 is %d, want %d", c.q, got, c.want)
		}
	}
	if got := (Distribution{}).Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
