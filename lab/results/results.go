package results

import "time"

// SchemaName is the value of File.Schema in every results file.
const SchemaName = "redline.results"

// SchemaVersion is the version of the schema that this package writes. It also reads files from
// version 1 on, in which blocks were run again, and a run had an attempt.
const SchemaVersion = 2

const oldestVersion = 1

// File is the file of one comparison.
type File struct {
	Schema      string       `json:"schema"`  // SchemaName
	Version     int          `json:"version"` // SchemaVersion
	Tool        string       `json:"tool"`    // version and commit of the redline command
	Command     []string     `json:"command"` // command-line arguments
	Started     time.Time    `json:"started"`
	Ended       time.Time    `json:"ended"`
	Partial     string       `json:"partial,omitempty"` // why the plan was not completed; empty if it was
	Machine     Machine      `json:"machine"`
	Config      Config       `json:"config"`
	Subjects    []Subject    `json:"subjects"`
	Workloads   []Workload   `json:"workloads"`
	Ceiling     *Ceiling     `json:"ceiling,omitempty"`     // reference of rates that are a share
	CeilingTLS  *Ceiling     `json:"ceiling_tls,omitempty"` // the same, of workloads over TLS
	Runs        []Run        `json:"runs"`
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"`
	Gates       []Gate       `json:"gates"`
	Notes       []string     `json:"notes,omitempty"` // other remarks on the figures
}

// Machine is the fingerprint of the machine that a comparison ran on.
type Machine struct {
	CPU         string            `json:"cpu"` // model name
	CPUs        int               `json:"cpus"`
	MemoryBytes uint64            `json:"memory_bytes"`
	OS          string            `json:"os"` // distribution
	Kernel      string            `json:"kernel"`
	Arch        string            `json:"arch"`
	Go          string            `json:"go"` // Go version that built the command
	Virtual     string            `json:"virtual,omitempty"`
	Governor    string            `json:"governor,omitempty"`
	Mitigations map[string]string `json:"mitigations,omitempty"` // /sys/devices/system/cpu/vulnerabilities
	Congestion  string            `json:"congestion"`            // system default of TCP congestion control
	FileLimit   uint64            `json:"file_limit"`
	PortRange   [2]int            `json:"port_range"`
	Commit      string            `json:"commit,omitempty"` // of the checkout, "+dirty" when changed
}

// Config is what was requested.
type Config struct {
	Mode          string   `json:"mode"` // quick, full or custom
	Baseline      string   `json:"baseline"`
	Blocks        int      `json:"blocks"`                   // at least, unless the budget ends before
	BudgetSeconds float64  `json:"budget_seconds,omitempty"` // that the runs may take; 0: no limit
	Connections   int      `json:"connections"`
	WindowSeconds float64  `json:"window_seconds"`
	WarmupSeconds float64  `json:"warmup_seconds"`
	Seed          uint64   `json:"seed"`
	ServerCPUs    []int    `json:"server_cpus"`
	GeneratorCPUs []int    `json:"generator_cpus"`
	Congestion    string   `json:"congestion"`        // set on the sockets of both sides
	Changes       []string `json:"changes,omitempty"` // changes made to the machine, and undone

	Margins map[string]float64 `json:"margins,omitempty"` // of equivalences, as a ratio minus one: cpu, rate, memory, latency
}

// Subject is a server under test.
type Subject struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`              // name and version as reported by the subject
	Kind    string   `json:"kind"`               // go (built from peers, has a control socket) or external
	Role    string   `json:"role"`               // subject, baseline, twin (the baseline again, for A/A) or floor
	Command []string `json:"command,omitempty"`  // as started, with placeholders for addresses
	Build   *Build   `json:"build,omitempty"`    // set if it was built with a chosen toolchain
	LeftOut string   `json:"left_out,omitempty"` // why it was not built; it has no runs then
}

// Build is how a Go subject was built.
type Build struct {
	Asked     string `json:"asked"`             // version as it was written: 1.25, 1.25.3 or local
	Toolchain string `json:"toolchain"`         // that built it: go1.25.3
	Flags     string `json:"goflags,omitempty"` // GOFLAGS
}

// Workload is the load that subjects receive.
type Workload struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Unit        string `json:"unit"` // request, event or handshake
	Method      string `json:"method"`
	Path        string `json:"path"`
	BodyBytes   int    `json:"body_bytes"`
	HeaderBytes int    `json:"header_bytes"` // of the request head on the wire
	Connections int    `json:"connections"`
	Pipeline    int    `json:"pipeline"`           // requests in flight a connection
	Arrivals    string `json:"arrivals,omitempty"` // of an open loop, as text; empty for a closed loop
	Idle        bool   `json:"idle,omitempty"`     // connections have one request answered and stay idle: no requests in the window

	Published string   `json:"published,omitempty"`  // of subscribers: what the generator publishes to them, as text
	Varied    bool     `json:"varied,omitempty"`     // requests differ in target and fields, in the same order for every subject; Path and HeaderBytes are those of the first
	Backend   string   `json:"backend,omitempty"`    // that the service calls for each response
	Lead      Metric   `json:"lead,omitempty"`       // its main metric; empty: CPU of a closed loop, p99 of an open one
	Family    string   `json:"family,omitempty"`     // of workloads that differ in size
	Protocol  string   `json:"protocol,omitempty"`   // empty: HTTP/1.1 in clear
	Streams   int      `json:"streams,omitempty"`    // HTTP/2: requests in flight or subscribers on a connection
	NotServed []string `json:"not_served,omitempty"` // subjects that do not support it
}

// LeadMetric returns the main metric of the workload, by which its subjects are judged.
func (w *Workload) LeadMetric() Metric {
	switch {
	case w.Lead != "":
		return w.Lead
	case w.Idle:
		return MetricConn
	case w.Arrivals != "":
		return MetricP99
	}
	return MetricCPU
}

// Ceiling is the closed loop that rates of workloads are a share of, measured once before
// the first block.
type Ceiling struct {
	Subject         string  `json:"subject"`
	Rate            float64 `json:"rate"` // requests a second
	WindowSeconds   float64 `json:"window_seconds"`
	Connections     int     `json:"connections"`
	CPUPerRequestUs float64 `json:"cpu_us_per_request"`
	Bound           bool    `json:"bound"` // the generator's core was full and the server's was not
	Gates           []Gate  `json:"gates"`
}

// Backend is the backend that a service called in a run, on the generator's CPUs.
type Backend struct {
	Name        string  `json:"name"`
	CPUSeconds  float64 `json:"cpu_seconds"` // in the window
	Utilisation float64 `json:"utilisation"` // of the generator's CPUs, 0 to 1
}

// Run is one measured process: a new server and a new generator.
type Run struct {
	ID            string            `json:"id"` // WORKLOAD/bBLOCK/SUBJECT
	Workload      string            `json:"workload"`
	Subject       string            `json:"subject"` // the twin of the baseline is NAME@twin
	Block         int               `json:"block"`   // from 1
	Order         int               `json:"order"`   // position within the block, from 1
	Started       time.Time         `json:"started"`
	Valid         bool              `json:"valid"`            // no gate failed but those of disturbances; in files of earlier versions no gate at all
	Counted       bool              `json:"counted"`          // used in the cells and comparisons, as far as its gates allow
	Failed        string            `json:"failed,omitempty"` // why there is no measurement
	Stderr        string            `json:"stderr,omitempty"` // end of the subject's standard error, if it failed
	Short         string            `json:"short,omitempty"`  // set if the rate common to all subjects was not reached, with the deficit; the run does not count then
	Gates         []Gate            `json:"gates"`
	WindowSeconds float64           `json:"window_seconds"` // as measured
	Requests      uint64            `json:"requests"`       // answered in the window; events for a stream
	Rate          float64           `json:"rate"`           // Requests a second
	Errors        map[string]uint64 `json:"errors,omitempty"`
	Unanswered    uint64            `json:"unanswered,omitempty"` // closed loop: requests without a response at the end, whose ages are in Latency
	BytesIn       uint64            `json:"bytes_in"`             // as measured by the generator
	BytesOut      uint64            `json:"bytes_out"`
	Latency       Latency           `json:"latency"`
	CPU           CPU               `json:"cpu"`
	Memory        Memory            `json:"memory"`
	Runtime       *Runtime          `json:"runtime,omitempty"`   // Go subjects only
	Collector     *Collector        `json:"collector,omitempty"` // of subjects with a Build
	Process       Process           `json:"process"`
	Generator     Generator         `json:"generator"`
	Series        []Sample          `json:"series"`
	Open          *Open             `json:"open,omitempty"`    // open loop, where Latency is response time
	Targets       []Target          `json:"targets,omitempty"` // of a scenario
	Workers       []Worker          `json:"workers,omitempty"` // generators, if there are several
	Push          *Push             `json:"push,omitempty"`    // of Workload.Published
	Held          int               `json:"held,omitempty"`    // of Workload.Idle: connections still open when the window ended
	Backend       *Backend          `json:"backend,omitempty"` // of Workload.Backend
}

// Target is the result of one request of a scenario in the window.
type Target struct {
	Name     string            `json:"name"`
	Tags     map[string]string `json:"tags,omitempty"`
	Setup    bool              `json:"setup,omitempty"`  // a request that each user sends once, and that no other figure of the run includes
	Requests uint64            `json:"requests"`         // right responses
	Errors   uint64            `json:"errors"`           // without a response: their connection failed, or the run ended
	Checks   map[string]uint64 `json:"checks,omitempty"` // responses that failed a check, by its name
	Failed   uint64            `json:"failures"`         // sum of Errors and Checks; files of earlier versions lack it
	Latency  Latency           `json:"latency"`          // as the run's, to two digits, or one if there are very many targets
}

// Tag is the sum of the targets with the same value of a tag, setup excluded.
type Tag struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Requests uint64  `json:"requests"` // right responses
	Errors   uint64  `json:"errors"`   // wrong and missing responses
	Latency  Latency `json:"latency"`  // as that of targets
}

// Failures returns how many requests had no right response: wrong and missing ones.
func (t *Target) Failures() uint64 { return t.Errors + CountErrors(t.Checks) }

// Iterations are those of all flows of a scenario. An iteration is one pass of a user through
// a flow, from its first request to the last answer, and counts in the window in which that
// came; in an open loop it begins when its first request was due.
type Iterations struct {
	Flow
	Flows []Flow `json:"flows"` // each by itself
}

// Flow is the result of the iterations of one flow.
type Flow struct {
	Name         string  `json:"name,omitempty"`
	Completed    uint64  `json:"completed"`     // the last answer came, whatever checks said of it
	Aborted      uint64  `json:"aborted"`       // an answer was lost, a capture failed, or the user left
	Unfinished   uint64  `json:"unfinished"`    // under way when the window ended; they have no time
	Time         Latency `json:"time"`          // of the completed ones, to two digits
	WithoutThink Latency `json:"without_think"` // the sum of the latencies of their requests
}

// Open is the result of the arrivals of an open loop that were due in the window. Due is
// the sum of right responses, Failed and Unfinished.
type Open struct {
	TargetRate  float64 `json:"target_rate"`            // requested arrivals a second
	CeilingRate float64 `json:"ceiling_rate,omitempty"` // of a closed loop, if the target is a share of it: measured before on the same process, or File.Ceiling
	Due         uint64  `json:"due"`                    // arrivals of the plan
	Sent        uint64  `json:"sent"`                   // of Due, by the end of the window
	Waited      uint64  `json:"waited"`                 // found no connection free; includes those that never got one
	Failed      uint64  `json:"failed"`                 // ended with an error, and have no latency
	Unfinished  uint64  `json:"unfinished"`             // had no response when the run ended; Run.Latency has their age then, a lower bound
	Service     Latency `json:"service"`                // from the send to the response
	SendLag     Latency `json:"send_lag"`               // from the intended send to the send
	Pacing      Latency `json:"pacing"`                 // part of SendLag that the generator itself caused: a connection was free
}

// Latency is a distribution in microseconds. A quantile is nil if there are too few
// samples: fewer than ten would be beyond it.
type Latency struct {
	Count     uint64   `json:"count"`
	MeanUs    float64  `json:"mean_us"`
	P50       *float64 `json:"p50_us"`
	P90       *float64 `json:"p90_us"`
	P95       *float64 `json:"p95_us"`
	P99       *float64 `json:"p99_us"`
	P999      *float64 `json:"p99_9_us"`
	P9999     *float64 `json:"p99_99_us"`
	MaxUs     float64  `json:"max_us"`
	Histogram string   `json:"hdr"` // HdrHistogram V2 compressed, base64; nanoseconds

	Percentiles []Percentile `json:"percentiles,omitempty"` // further ones that were asked for
}

// CPU is the server's CPU time in the window, over all of its processes.
type CPU struct {
	UserSeconds  float64 `json:"user_seconds"`
	SysSeconds   float64 `json:"sys_seconds"`
	PerRequestUs float64 `json:"per_request_us"` // (user+sys)/requests
	Utilisation  float64 `json:"utilisation"`    // of the server's CPUs, 0 to 1
}

// Memory is the server's memory, over all of its processes.
type Memory struct {
	RSSPeakBytes  uint64 `json:"rss_peak_bytes"`
	RSSFinalBytes uint64 `json:"rss_final_bytes"`
	VSSBytes      uint64 `json:"vss_bytes"`

	RSSBaseBytes       uint64   `json:"rss_base_bytes,omitempty"`       // of Workload.Idle and Published: before the connections were opened, after some requests
	PerConnectionBytes *float64 `json:"per_connection_bytes,omitempty"` // of them: (RSSFinalBytes - RSSBaseBytes) / Held, or Push.Standing
}

// Runtime has the counters of a subject's Go runtime over the window.
type Runtime struct {
	AllocsPerRequest float64 `json:"allocs_per_request"`
	BytesPerRequest  float64 `json:"bytes_per_request"`
	GCCycles         uint64  `json:"gc_cycles"`
	GCPauseP99Us     float64 `json:"gc_pause_p99_us"` // of the pauses in the window; 0 if there were none
	HeapBytes        uint64  `json:"heap_bytes"`      // in use at the end
	Goroutines       int     `json:"goroutines"`      // at the end
	GOMAXPROCS       int     `json:"gomaxprocs"`
}

// Collector is what the garbage collector of a Go subject did in the window, read from the memory
// of its process. A figure that could not be read is nil.
type Collector struct {
	Absent             string   `json:"absent,omitempty"` // why there are no figures
	Cycles             uint64   `json:"cycles"`
	PerSecond          float64  `json:"cycles_per_second"`
	StoppedUsPerSecond *float64 `json:"stopped_us_per_second"` // that cycles stopped the world
	StoppedUsPerCycle  *float64 `json:"stopped_us_per_cycle"`  // nil without a cycle
	CPURatio           *float64 `json:"cpu_ratio"`             // of the CPU time that was not idle, as the runtime estimates it between cycles; nil without a cycle
}

// Process has the kernel's counters for the server over the window.
type Process struct {
	Processes   int    `json:"processes"`
	Threads     int    `json:"threads"`      // at the end
	OpenFiles   int    `json:"open_files"`   // at the end
	Voluntary   uint64 `json:"voluntary"`    // context switches
	Involuntary uint64 `json:"involuntary"`  // context switches
	MinorFaults uint64 `json:"minor_faults"` // page faults without I/O
}

// Generator is the state of the load generator in the window.
type Generator struct {
	CPUUtilisation float64  `json:"cpu_utilisation"`         // of its core, 0 to 1
	Bound          bool     `json:"bound"`                   // its core was full and the server's was not: the rate is not the subject's
	Headroom       *float64 `json:"headroom,omitempty"`      // rate of the floor in the same block over this rate
	WarmupSeconds  float64  `json:"warmup_seconds"`          // actual duration
	Steady         bool     `json:"steady"`                  // no trend was left at the end of the warm-up
	StealRatio     float64  `json:"steal_ratio"`             // of the CPUs of both sides, taken by the hypervisor
	ForeignRatio   *float64 `json:"foreign_ratio,omitempty"` // of the CPUs of both sides, used by processes outside of the run; null if unknown
	PressureRatio  float64  `json:"pressure_ratio"`          // PSI cpu "some" over the window, which includes the wake-up time of idle CPUs
}

// Sample is one point of a run's time series, at intervals of about 200 ms.
type Sample struct {
	T          float64     `json:"t"` // seconds since the window began; negative in the warm-up
	Rate       float64     `json:"rate"`
	P50Us      float64     `json:"p50_us"`
	P99Us      float64     `json:"p99_us"`
	Errors     uint64      `json:"errors"`
	ServerCPU  float64     `json:"server_cpu"` // CPUs in use; 1 is one whole CPU
	RSSBytes   uint64      `json:"rss_bytes"`
	Goroutines int         `json:"goroutines,omitempty"`
	Heat       [][2]uint64 `json:"heat,omitempty"` // sparse latency counts: bucket, count; see HeatBucket

	Runtime *RuntimeSample `json:"runtime,omitempty"` // of the server, if it was read
}

// Estimate is a figure with its 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Metric is the name of a figure of cells and comparisons.
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
	MetricCycles Metric = "gc_cycles_per_second"
	MetricStops  Metric = "gc_stopped_us_per_second"
	MetricStop   Metric = "gc_stopped_us_per_cycle"
	MetricGCCPU  Metric = "gc_cpu_ratio"
)

// Cell is one subject with one workload, over the blocks that counted.
type Cell struct {
	Workload  string              `json:"workload"`
	Subject   string              `json:"subject"`
	Blocks    int                 `json:"blocks"`
	Failed    int                 `json:"failed"`               // runs without a measurement
	Short     int                 `json:"short,omitempty"`      // blocks in which it did not reach the rate
	Bound     int                 `json:"bound"`                // runs limited by the generator
	Metrics   map[Metric]Estimate `json:"metrics"`              // median over the blocks, bootstrap interval
	OverFloor *Estimate           `json:"over_floor,omitempty"` // CPU per request divided by that of the floor in the same block: Hodges-Lehmann, bootstrap interval
	Latency   Latency             `json:"latency"`              // histograms of the blocks, merged

	// Disturbed lists the figures of which too few runs are usable: those here are then of all runs.
	Disturbed []Figure `json:"disturbed,omitempty"`
}
