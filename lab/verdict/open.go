package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// The limits of the gates of an open loop.
const (
	achievedLimit = 0.99 // share of the arrivals sent within the window, at least
	lagShare      = 0.1  // the send lag may be at most this share of a quantile of the response times,
	lagFloor      = 50.0 // or this many microseconds
	spareLimit    = 0.80 // share of the generator's core
)

// Open judges whether the figures of an open loop are valid for the server: the requested
// load was made, requests were sent when they were due, and the generator had CPU time to
// spare. objective is the tightest latency objective of the run in microseconds, 0 without
// one: a send lag of a tenth of it is allowed. A closed loop has no such gates.
func Open(r *spec.Result, objective float64) ([]results.Gate, error) {
	if r.Open == nil {
		return nil, nil
	}
	q, err := quantilesOf(r)
	if err != nil {
		return nil, err
	}
	late := q.late(q.lag, max(lagFloor, lagShare*objective))
	why := fmt.Sprintf("%.1f %% of the arrivals waited for a connection: use more connections, or a lower rate", 100*share(r.Open.Waited, r.Open.Due))
	if own := q.late(q.pacing, late.limit); own.late && 2*own.value > late.value {
		why = fmt.Sprintf("the generator itself was late (%s %s): something disturbs its core, or the rate is too high for it", own.name, report.Micros(own.value, " "))
	}
	return []results.Gate{achieved(r), {
		Name: "send lag", Passed: !late.late, Value: late.value, Limit: late.limit,
		Text:   fmt.Sprintf("requests left too late, %s of the send lag %s with %s allowed; %s", late.name, report.Micros(late.value, " "), report.Micros(late.limit, " "), why),
		Spoils: []results.Figure{results.FigureLatency},
	}, Spare(r.GeneratorCPU / r.Seconds)}, nil
}

// Unasked is Open for a load whose number of connections was not asked for: that arrivals wait for one
// is the server's doing, which Pacing describes. The requests that a stalled server leaves unanswered
// may take any number of connections.
func Unasked(r *spec.Result, objective float64) ([]results.Gate, error) {
	return Pacing(r, max(lagFloor, lagShare*objective))
}

// Pacing is Open for a server that gets no more connections than its closed loop has: the
// server causes the time that arrivals wait for a connection, which is part of its response
// time. Instead of the send lag, the part of it that the generator itself caused is judged,
// with a limit of at least floor microseconds.
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
		Text:   fmt.Sprintf("the generator itself was late: %s is %s, the limit is %s; something disturbs its core, or the rate is too high for it", late.name, report.Micros(late.value, " "), report.Micros(late.limit, " ")),
		Spoils: []results.Figure{results.FigureLatency},
	}, Spare(r.GeneratorCPU / r.Seconds)}, nil
}

// achieved passes if the requested load was made.
func achieved(r *spec.Result) results.Gate {
	sent := share(r.Open.Sent, r.Open.Due)
	return results.Gate{
		Name: "achieved", Passed: sent >= achievedLimit, Value: sent, Limit: achievedLimit,
		Text: fmt.Sprintf("only %.1f %% of the arrivals were sent by the end of the window (%d of %d): the server, or its connections, did not keep up",
			100*sent, r.Open.Sent, r.Open.Due),
		Spoils: []results.Figure{results.FigureCPU, results.FigureLatency},
	}
}

// Spare passes if the generator had CPU time to spare: cpu is the share of its core that was
// busy.
func Spare(cpu float64) results.Gate {
	return results.Gate{
		Name: "generator", Passed: cpu <= spareLimit, Value: cpu, Limit: spareLimit,
		Text:   fmt.Sprintf("the generator's core was %.0f %% busy, more than the %.0f %% that leave room to be on time", 100*cpu, 100*spareLimit),
		Spoils: []results.Figure{results.FigureLatency},
	}
}

// quantiles are p50 and p99, in microseconds, of the distributions of an open loop. A send
// lag at one quantile affects the response times from that quantile on: few late requests
// do not affect the median.
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
		// For any number of samples: they are compared with a limit, not published.
		*d.to = [2]float64{float64(h.ValueAtQuantile(50)) / 1e3, float64(h.ValueAtQuantile(99)) / 1e3}
	}
	return q, nil
}

// lateness is a quantile with its limit.
type lateness struct {
	name         string
	value, limit float64
	late         bool
}

// late compares quantiles with a tenth of those of the response times, or with floor. It
// returns the first one that exceeds its limit, or the last one.
func (q *quantiles) late(of [2]float64, floor float64) (l lateness) {
	for i, name := range names {
		limit := max(floor, lagShare*q.response[i])
		if l = (lateness{name, of[i], limit, of[i] > limit}); l.late {
			return l
		}
	}
	return l
}

// share returns a divided by b; 1 if b is 0.
func share(a, b uint64) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}
