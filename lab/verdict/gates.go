package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// The limits of the gates of an open loop.
const (
	achievedLimit = 0.99 // of the arrivals are sent within the window
	lagShare      = 0.1  // of the median response time may be send lag, at its p99,
	lagFloor      = 50.0 // or so many microseconds
	openCPULimit  = 0.80 // of the generator's core
)

// Open says whether the figures of an open loop are those of the server: the
// load was what was asked for, requests left when they were due, and the
// generator had time to spare. A closed loop has no such gates.
func Open(r *spec.Result) ([]results.Gate, error) {
	if r.Open == nil {
		return nil, nil
	}
	response, err := results.ParseLatency(r.Histogram)
	if err != nil {
		return nil, err
	}
	lag, err := p99(r.Open.Lag)
	if err != nil {
		return nil, err
	}
	pacing, err := p99(r.Open.Pacing)
	if err != nil {
		return nil, err
	}
	limit := lagFloor
	if response.P50 != nil {
		limit = max(limit, lagShare**response.P50)
	}
	why := fmt.Sprintf("%.1f %% of the arrivals waited for a connection: more of them, or a lower rate", 100*share(r.Open.Waited, r.Open.Due))
	if pacing > limit && 2*pacing > lag {
		why = fmt.Sprintf("the generator itself was late (p99 %.0f us): something disturbs its core, or the rate is too much for it", pacing)
	}
	achieved := share(r.Open.Sent, r.Open.Due)
	cpu := r.GeneratorCPU / r.Seconds
	return []results.Gate{
		{
			Name: "achieved", Passed: achieved >= achievedLimit, Value: achieved, Limit: achievedLimit,
			Text: fmt.Sprintf("only %.1f %% of the arrivals were sent by the end of the window (%d of %d): the server, or its connections, did not keep up",
				100*achieved, r.Open.Sent, r.Open.Due),
		},
		{
			Name: "send lag", Passed: lag <= limit, Value: lag, Limit: limit,
			Text: fmt.Sprintf("requests left too late, p99 of the send lag %.0f us with %.0f allowed; %s", lag, limit, why),
		},
		{
			Name: "generator", Passed: cpu <= openCPULimit, Value: cpu, Limit: openCPULimit,
			Text: fmt.Sprintf("the generator's core was %.0f %% busy, more than the %.0f %% that leave room to be on time", 100*cpu, 100*openCPULimit),
		},
	}, nil
}

// Pacing is Open for a server that is not given more connections than its closed
// loop has: that arrivals wait for one is its doing, and in its response time. In place of
// the send lag stands the part of it that was the generator's own, of which floor
// microseconds are allowed, or a tenth of the median response time.
func Pacing(r *spec.Result, floor float64) ([]results.Gate, error) {
	gates, err := Open(r)
	if err != nil || gates == nil {
		return nil, err
	}
	response, err := results.ParseLatency(r.Histogram)
	if err != nil {
		return nil, err
	}
	pacing, err := p99(r.Open.Pacing)
	if err != nil {
		return nil, err
	}
	limit := floor
	if response.P50 != nil {
		limit = max(limit, lagShare**response.P50)
	}
	for i := range gates {
		if gates[i].Name == "send lag" {
			gates[i] = results.Gate{
				Name: "pacing", Passed: pacing <= limit, Value: pacing, Limit: limit,
				Text: fmt.Sprintf("the generator itself was late, p99 %.0f us with %.0f allowed: something disturbs its core, or the rate is too much for it", pacing, limit),
			}
		}
	}
	return gates, nil
}

// p99 of an encoded histogram in microseconds, whatever the number of samples:
// it is held against a limit, not published.
func p99(encoded string) (float64, error) {
	h, err := results.Latency{Histogram: encoded}.Decode()
	if err != nil {
		return 0, err
	}
	return float64(h.ValueAtQuantile(99)) / 1e3, nil
}

// share is a of b; all when there is nothing.
func share(a, b uint64) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}
