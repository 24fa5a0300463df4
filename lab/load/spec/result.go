package spec

// Result is what a window came to.
type Result struct {
	Seconds       float64           `json:"seconds"`              // the window's length, as measured
	Requests      uint64            `json:"requests"`             // answers that were right, or events of a stream
	Errors        map[string]uint64 `json:"errors"`               // by kind, see the Err constants
	Unanswered    uint64            `json:"unanswered,omitempty"` // of a closed loop: requests that had waited for an answer at the window's end for more than twice as long as any other, and for a tenth of a second; Histogram has their age then, a lower bound
	BytesIn       uint64            `json:"bytes_in"`             //
	BytesOut      uint64            `json:"bytes_out"`            //
	Histogram     string            `json:"hdr"`                  // HdrHistogram V2 compressed, base64; nanoseconds. Of an open loop: the response times of what was due in the window
	ServerUser    float64           `json:"server_user"`          // CPU seconds of ServerPIDs in the window
	ServerSys     float64           `json:"server_sys"`           //
	ServerCPU     float64           `json:"server_cpu"`           // user and sys from the scheduler's clock: finer than the two above
	GeneratorCPU  float64           `json:"generator_cpu"`        // CPU seconds of the generator itself in the window
	WarmupSeconds float64           `json:"warmup_seconds"`       // as it came out
	Steady        bool              `json:"steady"`               // no trend left when the window began; false without a warm-up
	Sent          uint64            `json:"sent"`                 // requests written to the end, since the process began
	Answered      uint64            `json:"answered"`             // complete answers, right or wrong, since the process began
	Open          *Open             `json:"open,omitempty"`       // of an open loop
	Held          int               `json:"held,omitempty"`       // idle connections that stood when the window ended, of Spec.Idle
	Steal         float64           `json:"steal,omitempty"`      // share of the CPUs' time that the hypervisor took; put in by who watches them
	Foreign       *float64          `json:"foreign,omitempty"`    // share of it that processes used which are not of the run; nil: not known
	Cut           bool              `json:"cut,omitempty"`        // the window is shorter than was asked for: the run was cancelled, or given up
	GaveUp        string            `json:"gave_up,omitempty"`    // why it was given up; empty: it was not
	Gone          []int             `json:"gone,omitempty"`       // of ServerPIDs, those that ended: their CPU time is that until then

	Targets   []Target   `json:"targets,omitempty"` // of a scenario, in its order
	Connects  uint64     `json:"connects"`          // connections made, since the process began
	Connect   string     `json:"connect_hdr"`       // how long that took, each; HdrHistogram V2 as above
	TLS       *TLSResult `json:"tls,omitempty"`     // of secure connections
	FirstByte string     `json:"first_byte_hdr"`    // from the send to the first byte of each right answer in the window; empty for a stream
	Early     uint64     `json:"early,omitempty"`   // requests that the server began to answer before they were written to the end
	Dropped   uint64     `json:"dropped,omitempty"` // connections that the server ended while nothing was asked of it: no error

	Listen *Subscribed `json:"listen,omitempty"` // of subscribers, whose events are the requests and their delays the latencies
}

// Target is what one request of a scenario came to.
type Target struct {
	Name      string            `json:"name"`
	Setup     bool              `json:"setup,omitempty"`  // what users do once, counted since the process began, and left out of all other figures
	Requests  uint64            `json:"requests"`         // right answers in the window
	Errors    uint64            `json:"errors,omitempty"` // connections that failed with the answer outstanding
	Checks    map[string]uint64 `json:"checks,omitempty"` // answers that failed a check, or a capture, under its name
	Histogram string            `json:"hdr"`              // as Result.Histogram, to two digits, or one with more than 500 targets; arrivals that were not even sent belong to no target
}
