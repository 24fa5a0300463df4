package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
)

// Spec is what a generator process is asked to do. It travels as JSON on the
// process's standard input.
type Spec struct {
	Addr        string        `json:"addr"`        // host:port of the server, numeric
	Request     []byte        `json:"request"`     // one whole request, head and body, as it goes on the wire
	Expect      Expect        `json:"expect"`      // what every answer must be
	Connections int           `json:"connections"` // kept open throughout
	Pipeline    int           `json:"pipeline"`    // requests in flight a connection, at least 1
	Stream      bool          `json:"stream"`      // the answer never ends: server-sent events are counted instead
	Idle        bool          `json:"idle"`        // each connection has one request answered before the warm-up, and is left alone then
	Warmup      time.Duration `json:"warmup"`      // at least this long; longer while the rate has a trend, three times at most
	Window      time.Duration `json:"window"`      // measured time
	Tick        time.Duration `json:"tick"`        // distance of the time series' points
	Timeout     time.Duration `json:"timeout"`     // for connecting, and for one answer
	Arrivals    *arrive.Plan  `json:"arrivals"`    // of an open loop, from the window's begin on; nil: a closed loop
	Congestion  string        `json:"congestion"`  // TCP congestion control of the sockets; empty leaves the default
	ServerPIDs  []int         `json:"server_pids"` // processes whose CPU is read at the window's edges and every tick
}

// validate names the first field that cannot be meant.
func (s *Spec) validate() error {
	bad := func(field string, value any) error {
		return fmt.Errorf("spec: %s is %v", field, value)
	}
	switch {
	case len(s.Request) == 0:
		return errors.New("spec: request is empty")
	case s.Connections < 1:
		return bad("connections", s.Connections)
	case s.Pipeline < 1:
		return bad("pipeline", s.Pipeline)
	case s.Stream && s.Pipeline != 1:
		return bad("pipeline of a stream", s.Pipeline)
	case s.Arrivals != nil && s.Pipeline != 1:
		return bad("pipeline of an open loop", s.Pipeline)
	case s.Arrivals != nil && s.Stream:
		return errors.New("spec: arrivals of a stream")
	case s.Idle && (s.Pipeline != 1 || s.Stream || s.Arrivals != nil):
		return errors.New("spec: idle connections with a pipeline, a stream or arrivals")
	case s.Expect.Status < 200 || s.Expect.Status > 999:
		return bad("expected status", s.Expect.Status)
	case s.Warmup < 0:
		return bad("warmup", s.Warmup)
	case s.Window <= 0:
		return bad("window", s.Window)
	case s.Tick <= 0:
		return bad("tick", s.Tick)
	case s.Timeout <= 0:
		return bad("timeout", s.Timeout)
	}
	if s.Arrivals != nil {
		if err := s.Arrivals.Validate(); err != nil {
			return fmt.Errorf("spec: arrivals: %w", err)
		}
	}
	return nil
}

// Expect is what every answer must be. Status and length are checked on every
// answer, the body's bytes on a sample.
type Expect struct {
	Status int    `json:"status"`
	Body   []byte `json:"body"` // nil: any body
}

// Event is one line of a generator process's standard output. Exactly one field
// is set.
type Event struct {
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
	Waiting   uint64      `json:"waiting,omitempty"`         // of an open loop: arrivals that are due and not sent, at the tick's end
}

// Result is what a window came to.
type Result struct {
	Seconds       float64           `json:"seconds"`        // the window's length, as measured
	Requests      uint64            `json:"requests"`       // answers that were right, or events of a stream
	Errors        map[string]uint64 `json:"errors"`         // by kind, see the Err constants
	BytesIn       uint64            `json:"bytes_in"`       //
	BytesOut      uint64            `json:"bytes_out"`      //
	Histogram     string            `json:"hdr"`            // HdrHistogram V2 compressed, base64; nanoseconds. Of an open loop: the response times of what was due in the window
	ServerUser    float64           `json:"server_user"`    // CPU seconds of ServerPIDs in the window
	ServerSys     float64           `json:"server_sys"`     //
	ServerCPU     float64           `json:"server_cpu"`     // user and sys from the scheduler's clock: finer than the two above
	GeneratorCPU  float64           `json:"generator_cpu"`  // CPU seconds of the generator itself in the window
	WarmupSeconds float64           `json:"warmup_seconds"` // as it came out
	Steady        bool              `json:"steady"`         // no trend left when the window began; false without a warm-up
	Sent          uint64            `json:"sent"`           // requests written to the end, since the process began
	Answered      uint64            `json:"answered"`       // complete answers, right or wrong, since the process began
	Open          *Open             `json:"open,omitempty"` // of an open loop
	Held          int               `json:"held,omitempty"` // idle connections that stood when the window ended, of Spec.Idle
	Cut           bool              `json:"cut,omitempty"`  // the run was cancelled: the window is shorter than was asked for
}

// The kinds of errors that a generator counts.
const (
	ErrConnect   = "connect"   // a connection could not be made
	ErrReset     = "reset"     // the peer reset the connection
	ErrClosed    = "closed"    // the peer closed between answers with requests outstanding
	ErrShort     = "short"     // the peer closed within an answer
	ErrStatus    = "status"    // another status than expected
	ErrLength    = "length"    // a body of another length than expected
	ErrBody      = "body"      // a body of other bytes than expected
	ErrMalformed = "malformed" // not an HTTP/1.1 answer
	ErrTimeout   = "timeout"   // no answer within Spec.Timeout
	ErrUnasked   = "unasked"   // bytes that no request asked for
)
