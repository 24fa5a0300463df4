package spec

// Event is one line of a generator process's standard output. Exactly one field
// is set.
type Event struct {
	PID       int     `json:"pid,omitempty"`       // of a generator that has started on this machine; never on the generator's output
	Standing  int     `json:"standing,omitempty"`  // subscribers connected so far, while some are not
	Connected bool    `json:"connected,omitempty"` // all connections are established, the warm-up begins
	Window    bool    `json:"window,omitempty"`    // the window begins
	Tick      *Tick   `json:"tick,omitempty"`
	Result    *Result `json:"result,omitempty"` // last line of a run that measured
	Error     string  `json:"error,omitempty"`  // last line of a run that could not measure
}

// MaxTargetHeat is how many targets of a scenario have points of their own.
const MaxTargetHeat = 50

// Tick is one point of the time series: the counts since the previous point.
type Tick struct {
	T           float64     `json:"t"`        // seconds since the start of the window, at the end of the tick; negative in the warm-up
	Seconds     float64     `json:"seconds"`  // length of the tick
	Requests    uint64      `json:"requests"` // responses, or events of a stream
	Errors      uint64      `json:"errors"`
	P50         float64     `json:"p50_us"` // microseconds; without responses the ages of the requests that wait, 0 without any
	P95         float64     `json:"p95_us"`
	P99         float64     `json:"p99_us"`
	ServerCPU   float64     `json:"server_cpu"`                // CPU seconds a second
	Used        float64     `json:"used,omitempty"`            // CPU seconds of the generator itself since its process began, at the tick's end
	Heat        [][2]uint64 `json:"heat"`                      // sparse latency counts, see HeatBucket
	SendLag     float64     `json:"send_lag_p99_us,omitempty"` // open loop: p99 of the requests sent
	Listen      *Heard      `json:"listen,omitempty"`          // of subscribers, else nil
	Users       int         `json:"users,omitempty"`           // Spec.Ramp: established connections, or their streams, at the end of the tick
	InFlight    float64     `json:"in_flight,omitempty"`       // requests sent and not answered, on average over the tick; not of subscribers
	InFlightMax uint64      `json:"in_flight_max,omitempty"`   // the maximum
	Waiting     uint64      `json:"waiting,omitempty"`         // open loop: arrivals that are due and not sent, at the end of the tick
	Counts      string      `json:"counts,omitempty"`          // of Spec.Member, in the window: the growth of Result.Histogram, see tally.Delta

	Held       float64       `json:"held,omitempty"`        // share of the tick for which the generator's thread did not run, but was to: it was stopped, or waited for a CPU
	TargetHeat [][][2]uint64 `json:"target_heat,omitempty"` // of a scenario with several targets: Heat of each, in its order, of at most MaxTargetHeat

	Kinds    map[string]uint64 `json:"kinds,omitempty"` // Errors by kind, see the Err constants; nil without errors
	BytesIn  uint64            `json:"bytes_in,omitempty"`
	BytesOut uint64            `json:"bytes_out,omitempty"`
}

// Heard is what a tick reports about subscribers.
type Heard struct {
	Standing   int     `json:"standing"` // connected at the end of the tick
	BytesIn    uint64  `json:"bytes_in"`
	GapP50     float64 `json:"gap_p50_us"` // between two events of a subscriber, microseconds; 0 without any
	GapP99     float64 `json:"gap_p99_us"`
	LagP99     float64 `json:"lag_p99_us"` // of reads, see package subscribe
	Missed     uint64  `json:"missed"`     // ids
	Duplicated uint64  `json:"duplicated"` // ids
	Reconnects uint64  `json:"reconnects"`
}
