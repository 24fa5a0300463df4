package load

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/results"
)

// Open is what the arrivals of an open loop came to: those that were due in the
// window. Due is the sum of right answers, Failed and Unfinished.
type Open struct {
	Due        uint64 `json:"due"`         // arrivals of the plan
	Sent       uint64 `json:"sent"`        // of them, by the end of the window
	Waited     uint64 `json:"waited"`      // found no connection free
	Failed     uint64 `json:"failed"`      // came to an error, and have no latency
	Unfinished uint64 `json:"unfinished"`  // without an answer when the run was over: their latency is their age then, a lower bound
	Service    string `json:"service_hdr"` // from the send to the answer; HdrHistogram V2 as in Result
	Lag        string `json:"lag_hdr"`     // from the intended send to the send
	Pacing     string `json:"pacing_hdr"`  // the part of it that was the generator's own: a connection was free
}

// arrival is one arrival on its connection.
type arrival struct {
	intended int64
	sent     int64
	pending  bool // sent, and neither answered nor failed
}

// ledger keeps the books of an open loop. It records an arrival in the window
// to which its intended time belongs, however late its answer comes: a server
// that stalls at the end of a window does not get off.
type ledger struct {
	Open
	rec                  *recorder
	from, to             int64 // the window
	service, lag, pacing *hdrhistogram.Histogram
	fine                 fine // send lag of the present tick
}

func newLedger(rec *recorder) *ledger {
	return &ledger{rec: rec, service: newHistogram(), lag: newHistogram(), pacing: newHistogram()}
}

// begin opens the window; before, nothing is counted.
func (g *ledger) begin(from, to int64) { g.from, g.to = from, to }

func (g *ledger) within(intended int64) bool { return intended >= g.from && intended < g.to }

// sent notes that a request is handed to the kernel now.
func (g *ledger) sent(a arrive.Arrival, now int64) arrival {
	lag := now - a.Intended
	g.fine.add(lag, 1)
	if g.within(a.Intended) {
		g.Sent++
		if a.Possible > a.Intended {
			g.Waited++
		}
		record(g.lag, lag, 1)
		record(g.pacing, now-a.Possible, 1)
	}
	return arrival{intended: a.Intended, sent: now, pending: true}
}

// right notes a right answer.
func (g *ledger) right(a *arrival, now int64) {
	a.pending = false
	g.rec.fine.add(now-a.intended, 1)
	if g.within(a.intended) {
		g.rec.sample(now-a.intended, 1)
		record(g.service, now-a.sent, 1)
	}
}

// failed notes that no right answer will come, if one was still to come.
func (g *ledger) failed(a *arrival) {
	if a.pending && g.within(a.intended) {
		g.Failed++
	}
	a.pending = false
}

// unfinished notes that an arrival is left without an answer.
func (g *ledger) unfinished(intended, now int64) {
	if g.within(intended) {
		g.Unfinished++
		g.rec.sample(now-intended, 1)
	}
}

// take returns the p99 of the send lag in the present tick, in microseconds, and
// begins the next tick.
func (g *ledger) take() (p99 float64) {
	if total := g.fine.total(); total > 0 {
		p99 = g.fine.quantile(total, 0.99)
		g.fine = fine{}
	}
	return p99
}

// result returns what was counted, with the histograms.
func (g *ledger) result() (*Open, error) {
	open := g.Open
	for _, h := range []struct {
		of *hdrhistogram.Histogram
		to *string
	}{{g.service, &open.Service}, {g.lag, &open.Lag}, {g.pacing, &open.Pacing}} {
		var err error
		if *h.to, err = encode(h.of); err != nil {
			return nil, err
		}
	}
	return &open, nil
}

// The limits of the gates of an open loop.
const (
	achievedLimit = 0.99 // of the arrivals are sent within the window
	lagShare      = 0.1  // of the median response time may be send lag, at its p99,
	lagFloor      = 50.0 // or so many microseconds
	openCPULimit  = 0.80 // of the generator's core
)

// Gates says whether the figures of an open loop are those of the server: the
// load was what was asked for, requests left when they were due, and the
// generator had time to spare. A closed loop has no such gates.
func (r *Result) Gates() ([]results.Gate, error) {
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
