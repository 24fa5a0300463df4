package request

import (
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// loop64 simulates 64 connections to a scripted server for ten seconds, on a clock that jumps
// from answer to answer: each sends again when it is answered. It returns the recorded
// latencies, and the expected ones by definition: each request on its own, sorted.
func loop64(s server) (*hdrhistogram.Histogram, []int64) {
	l := &loop{spec: &spec.Spec{}, rec: tally.NewRecorder()}
	var exchanges [64]exchange
	var done [64]int64
	for n := range done {
		done[n] = s(n, 0)
	}
	var truth []int64
	for n := len(done); ; n++ {
		next := slices.Index(done[:], slices.Min(done[:]))
		now := done[next]
		if now > 10*sec {
			slices.Sort(truth)
			return l.rec.Hist, truth
		}
		truth = append(truth, now-exchanges[next].sent)
		l.right(&exchanges[next], nil, 1, now)
		exchanges[next] = exchange{sent: now}
		done[next] = s(n, now)
	}
}

// The figures calculated by hand, for 64 connections over ten seconds. A closed loop shows
// the stall only in its own requests, of which 64 were in the server.
func TestClosedLoopTellsTheTruth(t *testing.T) {
	for _, tc := range []struct {
		name     string
		server   server
		requests int
		want     map[float64]int64
	}{
		{"5 ms", fixed, 64 * 2000, map[float64]int64{1: 5 * ms, 50: 5 * ms, 100: 5 * ms}},
		// Which of them wait for 50 ms is counted over all connections.
		{"bimodal", bimodal, 0, map[float64]int64{50: ms, 89.9: ms, 90.1: 50 * ms, 100: 50 * ms}},
		// 1000 rounds before the stall, the last of which ends as it begins; one of
		// 2.005 s; and 599 after it.
		{"stall", stall, 64 * 1600, map[float64]int64{50: 5 * ms, 99.9: 5 * ms, 99.93: 5 * ms, 99.94: 2005 * ms, 100: 2005 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, truth := loop64(tc.server)
			same(t, "latency", h, truth)
			quantiles(t, "latency", h, tc.want)
			if tc.requests > 0 && len(truth) != tc.requests {
				t.Errorf("%d requests, want %d", len(truth), tc.requests)
			}
		})
	}
}
