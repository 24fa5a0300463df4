package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// The limits of the gates of an open loop.
const (
	achievedLimit = 0.99 // of the arrivals are sent within the window
	lagShare      = 0.1  // of a quantile of the response times may be that of the send lag,
	lagFloor      = 50.0 // or so many microseconds
	openCPULimit  = 0.80 // of the generator's core
)

// Open says whether the figures of an open loop are those of the server: the load was what
// was asked for, requests left when they were due, and the generator had time to spare.
// objective is the tightest latency, in microseconds, that the run is held against, 0
// without one: a send lag of a tenth of it is allowed. A closed loop has no such gates.
func Open(r *spec.Result, objective float64) ([]results.Gate, error) {
	if r.Open == nil {
		return nil, nil
	}
	q, err := quantilesOf(r)
	if err != nil {
		return nil, err
	}
	late := q.late(q.lag, max(lagFloor, lagShare*objective))
	why := fmt.Sprintf("%.1f %% of the arrivals waited for a connection: more of them, or a lower rate", 100*share(r.Open.Waited, r.Open.Due))
	if own := q.late(q.pacing, late.limit); own.late && 2*own.value > late.value {
		why = fmt.Sprintf("the generator itself was late (%s %.0f us): something disturbs its core, or the rate is too much for it", own.name, own.value)
	}
	return []results.Gate{achieved(r), {
		Name: "send lag", Passed: !late.late, Value: late.value, Limit: late.limit,
		Text: fmt.Sprintf("requests left too late, %s of the send lag %.0f us with %.0f allowed; %s", late.name, late.value, late.limit, why),
	}, spare(r)}, nil
}

// Pacing is Open for a server that is not given more connections than its closed loop has:
// that arrivals wait for one is its doing, and in its response time. The send lag is
// replaced by the part of it that was the generator's own, of which floor microseconds
// are allowed at least.
func Pacing(r *spec.Result, floor float64) ([]results.Gate, error) {
	if r.Open == nil {
		return nil, nil
	}
	q, err := quantilesOf(r)
	if err != nil {
		return nil, err
	}
	late := q.late(q.pacing, floor)
	return []results.Gate{achieved(r), {
		Name: "pacing", Passed: !late.late, Value: late.value, Limit: late.limit,
		Text: fmt.Sprintf("the generator itself was late, %s %.0f us with %.0f allowed: something disturbs its core, or the rate is too much for it", late.name, late.value, late.limit),
	}, spare(r)}, nil
}

// achieved passes when the load was what was asked for.
func achieved(r *spec.Result) results.Gate {
	sent := share(r.Open.Sent, r.Open.Due)
	return results.Gate{
		Name: "achieved", Passed: sent >= achievedLimit, Value: sent, Limit: achievedLimit,
		Text: fmt.Sprintf("only %.1f %% of the arrivals were sent by the end of the window (%d of %d): the server, or its connections, did not keep up",
			100*sent, r.Open.Sent, r.Open.Due),
	}
}

// spare passes when the generator had time to be on time.
func spare(r *spec.Result) results.Gate {
	cpu := r.GeneratorCPU / r.Seconds
	return results.Gate{
		Name: "generator", Passed: cpu <= openCPULimit, Value: cpu, Limit: openCPULimit,
		Text: fmt.Sprintf("the generator's core was %.0f %% busy, more than the %.0f %% that leave room to be on time", 100*cpu, 100*openCPULimit),
	}
}

// quantiles are p50 and p99, in microseconds, of the distributions of an open loop.
// What is late at a quantile moves the response times from there on: few late
// requests say nothing about the median.
type quantiles struct{ response, lag, pacing [2]float64 }

var names = [2]string{"p50", "p99"}

func quantilesOf(r *spec.Result) (q quantiles, err error) {
	for _, d := range []struct {
		encoded string
		to      *[2]float64
	}{{r.Histogram, &q.response}, {r.Open.Lag, &q.lag}, {r.Open.Pacing, &q.pacing}} {
		h, err := results.Latency{Histogram: d.encoded}.Decode()
		if err != nil {
			return q, err
		}
		// Whatever the number of samples: they are held against a limit, not published.
		*d.to = [2]float64{float64(h.ValueAtQuantile(50)) / 1e3, float64(h.ValueAtQuantile(99)) / 1e3}
	}
	return q, nil
}

// lateness is a quantile and its limit.
type lateness struct {
	name         string
	value, limit float64
	late         bool
}

// late holds quantiles against a tenth of those of the response times, or floor. It
// returns the one that is too late, or the last.
func (q *quantiles) late(of [2]float64, floor float64) (l lateness) {
	for i, name := range names {
		limit := max(floor, lagShare*q.response[i])
		if l = (lateness{name, of[i], limit, of[i] > limit}); l.late {
			return l
		}
	}
	return l
}

// share is a of b; all when there is nothing.
func share(a, b uint64) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}
