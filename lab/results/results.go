package results

import "time"

// SchemaName is the value of File.Schema in every results file.
const SchemaName = "redline.results"

// SchemaVersion is the version of the schema that this package writes, and the
// only one that it reads.
const SchemaVersion = 1

// File is one comparison, whole.
type File struct {
	Schema      string       `json:"schema"`  // SchemaName
	Version     int          `json:"version"` // SchemaVersion
	Tool        string       `json:"tool"`    // version and commit of the redline command
	Command     []string     `json:"command"` // the arguments it was called with
	Started     time.Time    `json:"started"`
	Ended       time.Time    `json:"ended"`
	Partial     string       `json:"partial,omitempty"` // why the plan was not carried out to its end; empty when it was
	Machine     Machine      `json:"machine"`
	Config      Config       `json:"config"`
	Subjects    []Subject    `json:"subjects"`
	Workloads   []Workload   `json:"workloads"`
	Ceiling     *Ceiling     `json:"ceiling,omitempty"` // what the rates of workloads are a share of
	Runs        []Run        `json:"runs"`
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"`
	Gates       []Gate       `json:"gates"`
	Notes       []string     `json:"notes,omitempty"` // what else has to be known of the figures, in words
}

// Machine is the fingerprint of the machine that a comparison ran on.
type Machine struct {
	CPU         string            `json:"cpu"` // model name
	CPUs        int               `json:"cpus"`
	MemoryBytes uint64            `json:"memory_bytes"`
	OS          string            `json:"os"` // distribution
	Kernel      string            `json:"kernel"`
	Arch        string            `json:"arch"`
	Go          string            `json:"go"` // version that built the command
	Virtual     string            `json:"virtual,omitempty"`
	Governor    string            `json:"governor,omitempty"`
	Mitigations map[string]string `json:"mitigations,omitempty"` // /sys/devices/system/cpu/vulnerabilities
	Congestion  string            `json:"congestion"`            // system default of TCP congestion control
	FileLimit   uint64            `json:"file_limit"`
	PortRange   [2]int            `json:"port_range"`
	Commit      string            `json:"commit,omitempty"` // of the checkout, "+dirty" when changed
}

// Config is what was asked for.
type Config struct {
	Mode          string   `json:"mode"` // quick, full or custom
	Baseline      string   `json:"baseline"`
	Blocks        int      `json:"blocks"`
	Connections   int      `json:"connections"`
	WindowSeconds float64  `json:"window_seconds"`
	WarmupSeconds float64  `json:"warmup_seconds"`
	Seed          uint64   `json:"seed"`
	ServerCPUs    []int    `json:"server_cpus"`
	GeneratorCPUs []int    `json:"generator_cpus"`
	Congestion    string   `json:"congestion"`        // set on the sockets of both sides
	Changes       []string `json:"changes,omitempty"` // what was changed on the machine, and undone
}

// Subject is a server under test.
type Subject struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`             // how the subject calls itself, with its version
	Kind    string   `json:"kind"`              // go (built from peers, has a control socket) or external
	Role    string   `json:"role"`              // subject, baseline, twin (the baseline again, for A/A) or floor
	Command []string `json:"command,omitempty"` // as started, addresses left as placeholders
}

// Workload is what is asked of a subject.
type Workload struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Unit        string `json:"unit"` // request or event
	Method      string `json:"method"`
	Path        string `json:"path"`
	BodyBytes   int    `json:"body_bytes"`
	HeaderBytes int    `json:"header_bytes"` // of the request head as sent
	Connections int    `json:"connections"`
	Pipeline    int    `json:"pipeline"`           // requests in flight a connection
	Arrivals    string `json:"arrivals,omitempty"` // of an open loop, in words; empty for a closed one
	Idle        bool   `json:"idle,omitempty"`     // connections are answered once and left alone: no requests in the window

	Varied    bool     `json:"varied,omitempty"`     // requests differ in target and fields, in the same order for every subject; Path and HeaderBytes are of the first
	Backend   string   `json:"backend,omitempty"`    // that the service asks for each answer
	Lead      Metric   `json:"lead,omitempty"`       // that it is about; empty: CPU of a closed loop, p99 of an open one
	Family    string   `json:"family,omitempty"`     // of workloads that differ in size
	NotServed []string `json:"not_served,omitempty"` // subjects that do not have it
}

// Ceiling is the closed loop that the rates of workloads are a share of, measured once
// before the first block.
type Ceiling struct {
	Subject         string  `json:"subject"`
	Rate            float64 `json:"rate"` // requests a second
	WindowSeconds   float64 `json:"window_seconds"`
	Connections     int     `json:"connections"`
	CPUPerRequestUs float64 `json:"cpu_us_per_request"`
	Bound           bool    `json:"bound"` // the generator's core was full and the server's was not
	Gates           []Gate  `json:"gates"`
}

// Backend is what a service asked in a run, on the generator's CPUs.
type Backend struct {
	Name        string  `json:"name"`
	CPUSeconds  float64 `json:"cpu_seconds"` // in the window
	Utilisation float64 `json:"utilisation"` // of the generator's CPUs, 0 to 1
}

// Run is one measured process: a fresh server and a fresh generator.
type Run struct {
	ID            string            `json:"id"` // WORKLOAD/bBLOCK/SUBJECT, with #N for a rerun
	Workload      string            `json:"workload"`
	Subject       string            `json:"subject"` // the twin of the baseline is NAME@twin
	Block         int               `json:"block"`   // from 1
	Order         int               `json:"order"`   // place within the block, from 1
	Attempt       int               `json:"attempt"` // from 1; of a block that was rerun only the last attempt counts
	Started       time.Time         `json:"started"`
	Valid         bool              `json:"valid"`            // every gate passed
	Counted       bool              `json:"counted"`          // entered the cells and comparisons
	Failed        string            `json:"failed,omitempty"` // why there is no measurement at all
	Stderr        string            `json:"stderr,omitempty"` // tail of the subject's, when it failed
	Short         string            `json:"short,omitempty"`  // that it did not reach the rate that all get, and by how much; it does not count then
	Gates         []Gate            `json:"gates"`
	WindowSeconds float64           `json:"window_seconds"` // as measured
	Requests      uint64            `json:"requests"`       // answered in the window; events for a stream
	Rate          float64           `json:"rate"`           // Requests a second
	Errors        map[string]uint64 `json:"errors,omitempty"`
	Unanswered    uint64            `json:"unanswered,omitempty"` // of a closed loop: requests without an answer at the end, whose ages are in Latency
	BytesIn       uint64            `json:"bytes_in"`             // as the generator saw them
	BytesOut      uint64            `json:"bytes_out"`
	Latency       Latency           `json:"latency"`
	CPU           CPU               `json:"cpu"`
	Memory        Memory            `json:"memory"`
	Runtime       *Runtime          `json:"runtime,omitempty"` // Go subjects only
	Process       Process           `json:"process"`
	Generator     Generator         `json:"generator"`
	Series        []Sample          `json:"series"`
	Open          *Open             `json:"open,omitempty"`    // of an open loop, whose Latency is response time
	Targets       []Target          `json:"targets,omitempty"` // of a scenario
	Workers       []Worker          `json:"workers,omitempty"` // generators, where there are several
	Held          int               `json:"held,omitempty"`    // of Workload.Idle: connections that stood when the window ended
	Backend       *Backend          `json:"backend,omitempty"` // of Workload.Backend
}

// Target is what one request of a scenario came to in the window.
type Target struct {
	Name     string            `json:"name"`
	Setup    bool              `json:"setup,omitempty"`  // done once by each user, and in none of the run's other figures
	Requests uint64            `json:"requests"`         // right answers
	Errors   uint64            `json:"errors"`           // connections that failed with the answer outstanding
	Checks   map[string]uint64 `json:"checks,omitempty"` // answers that failed a check, under its name
	Latency  Latency           `json:"latency"`          // as the run's, to two digits, or one of very many targets
}

// Failures is how many requests had no right answer: wrong ones and missing ones.
func (t *Target) Failures() uint64 { return t.Errors + CountErrors(t.Checks) }

// Open is what the arrivals of an open loop came to: those that were due in the
// window. Due is the sum of right answers, Failed and Unfinished.
type Open struct {
	TargetRate  float64 `json:"target_rate"`            // arrivals a second that were asked for
	CeilingRate float64 `json:"ceiling_rate,omitempty"` // of a closed loop, when the target is a share of it: on the same process before, or File.Ceiling
	Due         uint64  `json:"due"`                    // arrivals of the plan
	Sent        uint64  `json:"sent"`                   // of them, by the end of the window
	Waited      uint64  `json:"waited"`                 // found no connection free, those that never got one among them
	Failed      uint64  `json:"failed"`                 // came to an error, and have no latency
	Unfinished  uint64  `json:"unfinished"`             // had no answer when the run was over; their age then is in Run.Latency, as a lower bound
	Service     Latency `json:"service"`                // from the send to the answer
	SendLag     Latency `json:"send_lag"`               // from the intended send to the send
	Pacing      Latency `json:"pacing"`                 // the part of it that was the generator's own: a connection was free
}

// Latency is a distribution in microseconds. A quantile is nil when the sample
// count cannot carry it: fewer than ten samples would lie beyond it.
type Latency struct {
	Count     uint64   `json:"count"`
	MeanUs    float64  `json:"mean_us"`
	P50       *float64 `json:"p50_us"`
	P90       *float64 `json:"p90_us"`
	P99       *float64 `json:"p99_us"`
	P999      *float64 `json:"p99_9_us"`
	P9999     *float64 `json:"p99_99_us"`
	MaxUs     float64  `json:"max_us"`
	Histogram string   `json:"hdr"` // HdrHistogram V2 compressed, base64; nanoseconds
}

// CPU is the server's CPU over the window, all of its processes together.
type CPU struct {
	UserSeconds  float64 `json:"user_seconds"`
	SysSeconds   float64 `json:"sys_seconds"`
	PerRequestUs float64 `json:"per_request_us"` // (user+sys)/requests
	Utilisation  float64 `json:"utilisation"`    // of the server's CPUs, 0 to 1
}

// Memory is the server's, all of its processes together.
type Memory struct {
	RSSPeakBytes  uint64 `json:"rss_peak_bytes"`
	RSSFinalBytes uint64 `json:"rss_final_bytes"`
	VSSBytes      uint64 `json:"vss_bytes"`

	RSSBaseBytes       uint64   `json:"rss_base_bytes,omitempty"`       // of Workload.Idle: before the connections, after some requests
	PerConnectionBytes *float64 `json:"per_connection_bytes,omitempty"` // of Workload.Idle: (RSSFinalBytes - RSSBaseBytes) / Held
}

// Runtime is what the Go runtime of a subject counted over the window.
type Runtime struct {
	AllocsPerRequest float64 `json:"allocs_per_request"`
	BytesPerRequest  float64 `json:"bytes_per_request"`
	GCCycles         uint64  `json:"gc_cycles"`
	GCPauseP99Us     float64 `json:"gc_pause_p99_us"` // of the window's pauses; 0 when there were none
	HeapBytes        uint64  `json:"heap_bytes"`      // in use at the end
	Goroutines       int     `json:"goroutines"`      // at the end
	GOMAXPROCS       int     `json:"gomaxprocs"`
}

// Process is what the kernel counted for the server over the window.
type Process struct {
	Processes   int    `json:"processes"`
	Threads     int    `json:"threads"`      // at the end
	OpenFiles   int    `json:"open_files"`   // at the end
	Voluntary   uint64 `json:"voluntary"`    // context switches
	Involuntary uint64 `json:"involuntary"`  // context switches
	MinorFaults uint64 `json:"minor_faults"` // page faults without I/O
}

// Generator is the state of the load generator in the same window.
type Generator struct {
	CPUUtilisation float64  `json:"cpu_utilisation"`         // of its core, 0 to 1
	Bound          bool     `json:"bound"`                   // its core was full and the server's was not: the rate is not the subject's
	Headroom       *float64 `json:"headroom,omitempty"`      // rate of the floor in the same block over this rate
	WarmupSeconds  float64  `json:"warmup_seconds"`          // as it came out
	Steady         bool     `json:"steady"`                  // no trend was left at the end of the warm-up
	StealRatio     float64  `json:"steal_ratio"`             // of both sides' CPUs, taken by the hypervisor
	ForeignRatio   *float64 `json:"foreign_ratio,omitempty"` // of both sides' CPUs, used by processes that are not of the run; null where it is not known
	PressureRatio  float64  `json:"pressure_ratio"`          // PSI cpu "some" over the window: it counts what an idle CPU takes to wake, too
}

// Sample is one point of a run's time series, about 200 ms apart.
type Sample struct {
	T          float64     `json:"t"` // seconds since the window began; negative in the warm-up
	Rate       float64     `json:"rate"`
	P50Us      float64     `json:"p50_us"`
	P99Us      float64     `json:"p99_us"`
	Errors     uint64      `json:"errors"`
	ServerCPU  float64     `json:"server_cpu"` // CPUs in use, 1 = one whole
	RSSBytes   uint64      `json:"rss_bytes"`
	Goroutines int         `json:"goroutines,omitempty"`
	Heat       [][2]uint64 `json:"heat,omitempty"` // sparse latency counts: bucket, count; see HeatBucket

	Runtime *RuntimeSample `json:"runtime,omitempty"` // of the server, where it was read
}

// Estimate is a figure with its 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Metric names a figure that cells hold and comparisons compare.
type Metric string

// The metrics of schema version 1. All but MetricRate are better when lower.
const (
	MetricCPU    Metric = "cpu_us_per_request"
	MetricRate   Metric = "rate"
	MetricP50    Metric = "p50_us"
	MetricP99    Metric = "p99_us"
	MetricRSS    Metric = "rss_peak_bytes"
	MetricAllocs Metric = "allocs_per_request"
	MetricBytes  Metric = "bytes_per_request"
	MetricP999   Metric = "p99_9_us"
	MetricConn   Metric = "rss_bytes_per_connection"
)

// Cell is one subject under one workload, over the blocks that counted.
type Cell struct {
	Workload  string              `json:"workload"`
	Subject   string              `json:"subject"`
	Blocks    int                 `json:"blocks"`
	Failed    int                 `json:"failed"`               // runs without a measurement
	Short     int                 `json:"short,omitempty"`      // blocks in which it did not reach the rate
	Bound     int                 `json:"bound"`                // runs that were bound by the generator
	Metrics   map[Metric]Estimate `json:"metrics"`              // median over the blocks, bootstrap interval
	OverFloor *Estimate           `json:"over_floor,omitempty"` // CPU per request over that of the floor in the same block: Hodges-Lehmann, bootstrap interval
	Latency   Latency             `json:"latency"`              // histograms of all blocks, merged
}

// Verdict is what a comparison concludes.
type Verdict string

// The verdicts. Faster means better: less CPU, less time or more requests.
const (
	Faster       Verdict = "faster"
	Slower       Verdict = "slower"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	NoVerdict    Verdict = "none" // see Comparison.Reason
)

// Comparison is one subject against the baseline in one metric. The unit of
// analysis is the block.
type Comparison struct {
	Workload string   `json:"workload"`
	Subject  string   `json:"subject"`
	Baseline string   `json:"baseline"`
	Metric   Metric   `json:"metric"`
	Blocks   int      `json:"blocks"`  // pairs
	Ratio    Estimate `json:"ratio"`   // subject over baseline: Hodges-Lehmann on log ratios, bootstrap interval
	P        float64  `json:"p"`       // Wilcoxon signed rank, exact where the number of blocks allows
	PHolm    float64  `json:"p_holm"`  // corrected within the workload and metric
	Floor    float64  `json:"floor"`   // noise floor as a ratio minus one: max(2 %, spread of A/A)
	Verdict  Verdict  `json:"verdict"` // of the subject, seen from the baseline
	Reason   string   `json:"reason,omitempty"`
}

// Gate is a condition that a valid measurement has to meet.
type Gate struct {
	Name   string  `json:"name"` // steal, pressure, errors, steady, ...
	Passed bool    `json:"passed"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Text   string  `json:"text"` // the sentence to print when it failed
}
