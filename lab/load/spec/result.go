package spec

// Result is the result of a window.
type Result struct {
	Seconds       float64           `json:"seconds"`                // the window's length, as measured
	Requests      uint64            `json:"requests"`               // right responses, or events of a stream
	Errors        map[string]uint64 `json:"errors"`                 // by kind, see the Err constants
	Statuses      map[string]uint64 `json:"statuses,omitempty"`     // complete answers of the window by status, right or wrong; open loop: to the arrivals due in it
	Bodies        *Sizes            `json:"bodies,omitempty"`       // of the right answers among them, without framing
	Drift         float64           `json:"drift,omitempty"`        // closed loop whose rate rose or fell throughout the window: the change from its first third to its last, relative to the first; 0: none
	Unanswered    uint64            `json:"unanswered,omitempty"`   // closed loop: requests without a response, although the generator waited for them after the window; Histogram has their ages, which are lower bounds
	TimedOut      uint64            `json:"timed_out,omitempty"`    // requests that failed for lack of an answer within Spec.Timeout; Histogram has their ages, which are lower bounds
	Late          uint64            `json:"late,omitempty"`         // closed loop: responses after the window that took more than twice as long as any in it; Histogram includes their latencies, Requests does not
	Waited        float64           `json:"wait_seconds,omitempty"` // seconds of the window in which the generator's thread was ready to run while another one had its CPU; 0 if the kernel does not count them
	BytesIn       uint64            `json:"bytes_in"`
	BytesOut      uint64            `json:"bytes_out"`
	Histogram     string            `json:"hdr"`         // HdrHistogram V2 compressed, base64; nanoseconds. Open loop: the response times of the arrivals due in the window
	ServerUser    float64           `json:"server_user"` // CPU seconds of ServerPIDs in the window
	ServerSys     float64           `json:"server_sys"`
	ServerCPU     float64           `json:"server_cpu"`              // user and sys from the scheduler's clock: more precise than the two above
	GeneratorCPU  float64           `json:"generator_cpu"`           // CPU seconds of the generator itself in the window
	WarmupSeconds float64           `json:"warmup_seconds"`          // actual length of the warm-up
	Steady        bool              `json:"steady"`                  // no trend left when the window began; false without a warm-up
	Sent          uint64            `json:"sent"`                    // requests written completely, since the process began
	Answered      uint64            `json:"answered"`                // complete responses, right or wrong, since the process began
	Open          *Open             `json:"open,omitempty"`          // open loop only
	InFlight      float64           `json:"in_flight,omitempty"`     // requests sent and not answered, on average over the window; not of subscribers
	InFlightMax   uint64            `json:"in_flight_max,omitempty"` // the maximum; of several generators the sum of theirs
	Held          int               `json:"held,omitempty"`          // idle connections still open when the window ended, of Spec.Idle
	Steal         float64           `json:"steal,omitempty"`         // share of the CPUs' time that the hypervisor took; set by the process that monitors the CPUs
	Foreign       *float64          `json:"foreign,omitempty"`       // share of the CPUs' time used by processes that are not part of the run; nil: unknown
	Cut           bool              `json:"cut,omitempty"`           // the window is shorter than requested: the run was cancelled, or given up
	GaveUp        string            `json:"gave_up,omitempty"`       // why the run gave up; empty: it did not
	Stalls        []Gap             `json:"stalls,omitempty"`        // the longest times, over 50 ms, in which the generator's thread did not run
	Stalled       GapSum            `json:"stalled,omitzero"`        // of all of them; of several generators the sum of theirs
	Silences      []Gap             `json:"silences,omitempty"`      // the longest times, over 100 ms, in which requests were in flight and none was answered or failed
	Gone          []int             `json:"gone,omitempty"`          // ServerPIDs of processes that ended: their CPU time is counted until then

	Targets   []Target   `json:"targets,omitempty"` // of a scenario, in its order
	Flows     []Flow     `json:"flows,omitempty"`   // of a scenario, in its order
	Ramp      []RampStep `json:"ramp,omitempty"`    // of Spec.Ramp, in the order of its Spans
	Steps     []Step     `json:"steps,omitempty"`   // of arrivals with stages, in the order of Plan.Steps
	Connects  uint64     `json:"connects"`          // connections established, since the process began
	Connect   string     `json:"connect_hdr"`       // how long each took; HdrHistogram V2 as above
	TLS       *TLSResult `json:"tls,omitempty"`     // nil without TLS
	FirstByte string     `json:"first_byte_hdr"`    // from the send to the first byte of each right response in the window; empty for a stream
	Early     uint64     `json:"early,omitempty"`   // requests that the server began to answer before they were written completely
	Dropped   uint64     `json:"dropped,omitempty"` // connections that the server closed while no request was outstanding: not an error
	Retried   uint64     `json:"retried,omitempty"` // requests sent again, once, because the server closed their connections between requests or refused them: not an error

	Listen *Subscribed `json:"listen,omitempty"` // of subscribers: their events count as requests, and the events' delays as latencies
}

// Step is the result of the arrivals that were due in one step of their plan.
type Step struct {
	Right      uint64 `json:"right"`      // answered right
	Failed     uint64 `json:"failed"`     // ended with an error
	Unfinished uint64 `json:"unfinished"` // without a response when the run ended: their latency is their age then
	Answered   uint64 `json:"answered"`   // right responses received within the step, whenever they were due
	Histogram  string `json:"hdr"`        // response times of Right and Unfinished, and the ages of those of Failed that timed out; as Result.Histogram, to two digits with more than 50 steps
}

// Target is the result of one request of a scenario.
type Target struct {
	Name      string            `json:"name"`
	Tags      map[string]string `json:"tags,omitempty"`
	Setup     bool              `json:"setup,omitempty"`  // a request that each user sends once: counted since the process began, and not part of any other figure
	Requests  uint64            `json:"requests"`         // right responses in the window
	Errors    uint64            `json:"errors,omitempty"` // connections that failed with the response outstanding
	Checks    map[string]uint64 `json:"checks,omitempty"` // responses that failed a check or a capture, by its name
	Histogram string            `json:"hdr"`              // as Result.Histogram, to two digits, or one with more than 500 targets; arrivals that were never sent belong to no target
}

// Flow is the result of the iterations of one flow of a scenario. An iteration
// lasts from its first request to the last answer, and counts in the
// window in which that arrived; in an open loop it begins when its first request was due.
type Flow struct {
	Name       string `json:"name"`
	Completed  uint64 `json:"completed"`            // the last answer arrived, even if it failed a check
	Aborted    uint64 `json:"aborted,omitempty"`    // an answer was lost, a capture failed, or the user left
	Unfinished uint64 `json:"unfinished,omitempty"` // under way when the window ended; they have no time
	Histogram  string `json:"hdr"`                  // of the completed ones, think time included; as Result.Histogram, to two digits
	Waited     string `json:"waited_hdr"`           // the time for which they waited for answers: without think time
}

// RampStep is the result of one span of a ramp.
type RampStep struct {
	Requests  uint64 `json:"requests"` // right responses received in it
	Errors    uint64 `json:"errors"`   // counted in it, or within 20 ms of its end
	Histogram string `json:"hdr"`      // latencies of Requests; as Result.Histogram, to two digits
}
