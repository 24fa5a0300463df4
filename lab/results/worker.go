package results

// Worker is one of several generators that together made the load of a run.
type Worker struct {
	Index       int               `json:"index"`
	Host        string            `json:"host"`
	PID         int               `json:"pid"`
	Connections int               `json:"connections"`
	Lost        string            `json:"lost,omitempty"` // why it returned no result, and what is counted for it
	Clock       Clock             `json:"clock"`
	Gates       []Gate            `json:"gates"` // of this worker alone; empty for a lost one
	Errors      map[string]uint64 `json:"errors,omitempty"`

	Seconds           float64 `json:"seconds"`  // measured time
	Requests          uint64  `json:"requests"` // right responses in that time
	RequestsPerSecond float64 `json:"requests_per_second"`
	Sent              uint64  `json:"sent,omitempty"`     // requests since its process began, including the warm-up; missing for a lost one, and for subscribers
	Answered          uint64  `json:"answered,omitempty"` // as Sent

	CPUUtilisation float64  `json:"cpu_utilisation,omitempty"` // of its core, 0 to 1; missing for a lost one
	SendLagP99     *float64 `json:"send_lag_p99_us,omitempty"` // open loop, microseconds
	PacingP99      *float64 `json:"pacing_p99_us,omitempty"`   // open loop, microseconds
}

// Clock is how precisely a worker kept the agreed time. All values are milliseconds.
type Clock struct {
	OffsetMs      float64 `json:"offset_ms"`      // of its clock from the coordinator's; start times are corrected for it
	UncertaintyMs float64 `json:"uncertainty_ms"` // of OffsetMs
	LateMs        float64 `json:"late_ms"`        // delay of its start relative to the agreed time
}

// RuntimeSample is the state of the server's Go runtime in a [Sample]: a reading, and the
// changes since the reading before. Samples without a reading have none.
type RuntimeSample struct {
	HeapBytes         uint64  `json:"heap_bytes"`           // in use
	LiveBytes         uint64  `json:"live_bytes,omitempty"` // in use according to the last collection
	AllocsPerSecond   float64 `json:"allocs_per_second"`
	BytesPerSecond    float64 `json:"alloc_bytes_per_second"`
	GCCycles          uint64  `json:"gc_cycles"`                      // since the reading before
	GCPauseP99Us      float64 `json:"gc_pause_p99_us"`                // since the reading before; 0 if there were none
	SchedLatencyP99Us float64 `json:"sched_latency_p99_us,omitempty"` // time that goroutines were runnable before they ran
}
