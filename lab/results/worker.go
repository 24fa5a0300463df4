package results

// Worker is one of several generators that made the load of a run together.
type Worker struct {
	Index       int               `json:"index"`
	Host        string            `json:"host"`
	PID         int               `json:"pid"`
	Connections int               `json:"connections"`
	Lost        string            `json:"lost,omitempty"` // why it came to no result, and what is counted of it
	Clock       Clock             `json:"clock"`
	Gates       []Gate            `json:"gates"` // of this worker alone; none of a lost one
	Errors      map[string]uint64 `json:"errors,omitempty"`

	Seconds           float64 `json:"seconds"`  // for which it was measured
	Requests          uint64  `json:"requests"` // right answers of that time
	RequestsPerSecond float64 `json:"requests_per_second"`
	Sent              uint64  `json:"sent,omitempty"`     // requests since its process began, warm-up and all; absent of a lost one, which has not told, and of subscribers
	Answered          uint64  `json:"answered,omitempty"` // the same

	CPUUtilisation float64  `json:"cpu_utilisation,omitempty"` // of its core, 0 to 1; absent of a lost one
	SendLagP99     *float64 `json:"send_lag_p99_us,omitempty"` // of an open loop, microseconds
	PacingP99      *float64 `json:"pacing_p99_us,omitempty"`   // the same
}

// Clock is how well a worker kept the agreed time. All of it is milliseconds.
type Clock struct {
	OffsetMs      float64 `json:"offset_ms"`      // of its clock from the coordinator's, which was allowed for
	UncertaintyMs float64 `json:"uncertainty_ms"` // of that
	LateMs        float64 `json:"late_ms"`        // by which it began after the agreed time
}

// RuntimeSample is the server's Go runtime in a [Sample]: what a reading said, and
// what changed since the one before. It is left out of samples without a reading.
type RuntimeSample struct {
	HeapBytes         uint64  `json:"heap_bytes"`                     // in use
	LiveBytes         uint64  `json:"live_bytes,omitempty"`           // that the last collection found in use
	AllocsPerSecond   float64 `json:"allocs_per_second"`              //
	BytesPerSecond    float64 `json:"alloc_bytes_per_second"`         //
	GCCycles          uint64  `json:"gc_cycles"`                      // since the reading before
	GCPauseP99Us      float64 `json:"gc_pause_p99_us"`                // of them; 0 without any
	SchedLatencyP99Us float64 `json:"sched_latency_p99_us,omitempty"` // goroutines that could run, until they did
}
