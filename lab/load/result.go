package load

import (
	"fmt"

	"github.com/redline-go/redline/lab/load/listen"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
)

// Event is one line of a generator process's standard output. Exactly one field
// is set.
type Event struct {
	Standing  int     `json:"standing,omitempty"`  // of subscribers that are not all there yet: how many listen
	Connected bool    `json:"connected,omitempty"` // all connections stand, the warm-up begins
	Window    bool    `json:"window,omitempty"`    // the window begins
	Tick      *Tick   `json:"tick,omitempty"`
	Result    *Result `json:"result,omitempty"` // the last line of a run that measured
	Error     string  `json:"error,omitempty"`  // the last line of one that could not
}

// Tick is one point of the time series: what happened since the one before.
type Tick struct {
	T         float64     `json:"t"`                         // seconds since the window began, at the tick's end; negative in the warm-up
	Seconds   float64     `json:"seconds"`                   // the tick's length
	Requests  uint64      `json:"requests"`                  // answers, or events of a stream
	Errors    uint64      `json:"errors"`                    //
	P50       float64     `json:"p50_us"`                    // microseconds; 0 without answers
	P99       float64     `json:"p99_us"`                    //
	ServerCPU float64     `json:"server_cpu"`                // CPU seconds a second
	Heat      [][2]uint64 `json:"heat"`                      // sparse latency counts, see HeatBucket
	SendLag   float64     `json:"send_lag_p99_us,omitempty"` // of an open loop, p99 of those sent
	Listen    *Heard      `json:"listen,omitempty"`          // of subscribers
	Waiting   uint64      `json:"waiting,omitempty"`         // of an open loop: arrivals that are due and not sent, at the tick's end
	Counts    string      `json:"counts,omitempty"`          // of Spec.Member, in the window: what Result.Histogram grew by, see package delta
}

// Heard is what a tick has of subscribers.
type Heard struct {
	Standing   int     `json:"standing"` // at the tick's end
	BytesIn    uint64  `json:"bytes_in"`
	GapP50     float64 `json:"gap_p50_us"` // between two events of a subscriber, microseconds; 0 without any
	GapP99     float64 `json:"gap_p99_us"`
	LagP99     float64 `json:"lag_p99_us"` // of reads, see package listen
	Missed     uint64  `json:"missed"`     // ids
	Duplicated uint64  `json:"duplicated"` // ids
	Reconnects uint64  `json:"reconnects"`
}

// Result is what a window came to.
type Result struct {
	Seconds       float64           `json:"seconds"`           // the window's length, as measured
	Requests      uint64            `json:"requests"`          // answers that were right, or events of a stream
	Errors        map[string]uint64 `json:"errors"`            // by kind, see the Err constants
	BytesIn       uint64            `json:"bytes_in"`          //
	BytesOut      uint64            `json:"bytes_out"`         //
	Histogram     string            `json:"hdr"`               // HdrHistogram V2 compressed, base64; nanoseconds. Of an open loop: the response times of what was due in the window
	ServerUser    float64           `json:"server_user"`       // CPU seconds of ServerPIDs in the window
	ServerSys     float64           `json:"server_sys"`        //
	ServerCPU     float64           `json:"server_cpu"`        // user and sys from the scheduler's clock: finer than the two above
	GeneratorCPU  float64           `json:"generator_cpu"`     // CPU seconds of the generator itself in the window
	WarmupSeconds float64           `json:"warmup_seconds"`    // as it came out
	Steady        bool              `json:"steady"`            // no trend left when the window began; false without a warm-up
	Sent          uint64            `json:"sent"`              // requests written to the end, since the process began
	Answered      uint64            `json:"answered"`          // complete answers, right or wrong, since the process began
	Open          *Open             `json:"open,omitempty"`    // of an open loop
	Held          int               `json:"held,omitempty"`    // idle connections that stood when the window ended, of Spec.Idle
	Steal         float64           `json:"steal,omitempty"`   // share of its CPUs' time that the hypervisor took in the window; only of a worker
	Cut           bool              `json:"cut,omitempty"`     // the window is shorter than was asked for: the run was cancelled, or given up
	GaveUp        string            `json:"gave_up,omitempty"` // why it was given up; empty: it was not
	Gone          []int             `json:"gone,omitempty"`    // of ServerPIDs, those that ended: their CPU time is that until then

	Targets   []Target `json:"targets,omitempty"` // of a scenario, in its order
	Connects  uint64   `json:"connects"`          // connections made, since the process began
	Connect   string   `json:"connect_hdr"`       // how long that took, each; HdrHistogram V2 as above
	TLS       *TLSDone `json:"tls,omitempty"`     // of secure connections
	FirstByte string   `json:"first_byte_hdr"`    // from the send to the first byte of each right answer in the window; empty for a stream
	Early     uint64   `json:"early,omitempty"`   // requests that the server began to answer before they were written to the end
	Dropped   uint64   `json:"dropped,omitempty"` // connections that the server ended while nothing was asked of it: no error

	Listen *listen.Result `json:"listen,omitempty"` // of subscribers, whose events are the requests and their delays the latencies
}

// TLSDone is what the handshakes since the process began came to.
type TLSDone = tally.TLSResult

// Target is what one request of a scenario came to.
type Target struct {
	Name      string            `json:"name"`
	Setup     bool              `json:"setup,omitempty"`  // what users do once, counted since the process began, and left out of all other figures
	Requests  uint64            `json:"requests"`         // right answers in the window
	Errors    uint64            `json:"errors,omitempty"` // connections that failed with the answer outstanding
	Checks    map[string]uint64 `json:"checks,omitempty"` // answers that failed a check, or a capture, under its name
	Histogram string            `json:"hdr"`              // as Result.Histogram, to two digits, or one with more than 500 targets; arrivals that were not even sent belong to no target
}

// The kinds of errors that a generator counts, see package tally.
const (
	ErrConnect   = tally.ErrConnect
	ErrReset     = tally.ErrReset
	ErrClosed    = tally.ErrClosed
	ErrShort     = tally.ErrShort
	ErrStatus    = tally.ErrStatus
	ErrLength    = tally.ErrLength
	ErrBody      = tally.ErrBody
	ErrMalformed = tally.ErrMalformed
	ErrTimeout   = tally.ErrTimeout
	ErrUnasked   = tally.ErrUnasked
	ErrHeader    = tally.ErrHeader
	ErrChunk     = tally.ErrChunk
	ErrEndless   = tally.ErrEndless
	ErrCheck     = tally.ErrCheck
	ErrTLS       = tally.ErrTLS
	ErrGoaway    = tally.ErrGoaway
)

// Open is what the arrivals of an open loop came to.
type Open = tally.Open

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

// PacingGates is Gates for a server that is not given more connections than its closed
// loop has: that arrivals wait for one is its doing, and in its response time. In place of
// the send lag stands the part of it that was the generator's own, of which floor
// microseconds are allowed, or a tenth of the median response time.
func (r *Result) PacingGates(floor float64) ([]results.Gate, error) {
	gates, err := r.Gates()
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
