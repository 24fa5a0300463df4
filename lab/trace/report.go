package trace

// Schema is the value of "schema" in a report.
const Schema = "redline.trace/1"

// Report is what a trace says. All durations are in nanoseconds.
type Report struct {
	Schema  string `json:"schema"`
	Partial string `json:"partial,omitempty"` // why the rest of the trace was not read; empty: it was
	Source  string `json:"source,omitempty"`
	Go      string `json:"go"` // version of the format, such as 1.26

	Bytes      int64  `json:"bytes"`
	Events     uint64 `json:"events"`
	WindowNS   int64  `json:"window_ns"` // from the first event to the last
	Procs      int    `json:"procs"`     // GOMAXPROCS: the highest value that was seen
	Threads    int    `json:"threads"`   // that had events
	Goroutines int    `json:"goroutines"`

	Use      Use       `json:"use"`
	Waits    []Wait    `json:"waits"`
	Handoffs Handoffs  `json:"handoffs"`
	Syscalls []Call    `json:"syscalls"`
	Blocks   []Block   `json:"blocks"`
	GC       Collector `json:"gc"`
	Lives    []Life    `json:"lives"`
	Leaks    []Leak    `json:"leaks"`
	Groups   []Group   `json:"groups"`
	Slowest  []Request `json:"slowest"`
	Series   Series    `json:"series"`
	Lanes    Lanes     `json:"lanes"`
	Dropped  []Dropped `json:"dropped"`
}

// Spread is a distribution. A percentile with fewer than ten samples above it is absent.
type Spread struct {
	Count   int64  `json:"count"`
	TotalNS int64  `json:"total_ns"`
	P50NS   *int64 `json:"p50_ns,omitempty"`
	P99NS   *int64 `json:"p99_ns,omitempty"`
	MaxNS   int64  `json:"max_ns"`
}

// Use is the time of all Ps together, by what they did.
type Use struct {
	UserNS    int64 `json:"user_ns"`
	GCNS      int64 `json:"gc_ns"`      // GC workers, and goroutines while they assist or sweep
	SyscallNS int64 `json:"syscall_ns"` // of a goroutine that kept its P
	SchedNS   int64 `json:"sched_ns"`   // no goroutine ran: the scheduler looked for one
	IdleNS    int64 `json:"idle_ns"`
}

// Wait is how long goroutines were runnable before they ran.
type Wait struct {
	Cause string `json:"cause"`
	Spread
}

// Handoffs counts what happened to the Ps of goroutines in system calls.
type Handoffs struct {
	Calls   int64  `json:"calls"`
	Taken   int64  `json:"taken"`   // another thread took the P away
	Given   int64  `json:"given"`   // the goroutine gave its P up, because the call was known to block
	Blocked int64  `json:"blocked"` // calls whose goroutine had to wait for a P afterwards
	Times   Spread `json:"times"`   // of all calls
	Lost    Spread `json:"lost"`    // of those without a P at their end
}

// Call is a stack with system calls.
type Call struct {
	Where
	Count   int64 `json:"count"`
	TotalNS int64 `json:"total_ns"`
	MaxNS   int64 `json:"max_ns"`
	Lost    int64 `json:"lost"` // calls that lost their P
}

// Block is a stack on which goroutines waited.
type Block struct {
	Reason string `json:"reason"`
	Where
	Idle    bool  `json:"idle,omitempty"` // it waits for work: a request, a connection, the next collection
	Count   int64 `json:"count"`
	TotalNS int64 `json:"total_ns"`
	MaxNS   int64 `json:"max_ns"`
}

// Where is a stack: in short, and its frames, the innermost first.
type Where struct {
	Call   string   `json:"call"`
	Frames []string `json:"frames,omitempty"`
}

// Collector is the work of the garbage collector.
type Collector struct {
	Cycles      int64      `json:"cycles"` // mark phases that began in the window, or were going on at its begin
	MarkNS      int64      `json:"mark_ns"`
	Marks       [][2]int64 `json:"marks,omitempty"` // begin and end of the mark phases
	Pauses      []Pause    `json:"pauses"`
	Assists     []Assist   `json:"assists"`
	Assisted    Spread     `json:"assisted"`
	WorkerNS    int64      `json:"worker_ns"`    // running time of the GC workers
	WorkerShare float64    `json:"worker_share"` // of the time of all Ps
	Sweep       Spread     `json:"sweep"`
	SweptBytes  uint64     `json:"swept_bytes"`
	FreedBytes  uint64     `json:"freed_bytes"`
}

// Pause is a kind of stop-the-world.
type Pause struct {
	Kind string `json:"kind"`
	Spread
	At [][2]int64 `json:"at,omitempty"` // begin and end of each, of the first thousand
}

// Assist is a function whose goroutines had to mark for the collector.
type Assist struct {
	Func    string `json:"func"`
	Call    string `json:"call"`
	Count   int64  `json:"count"`
	TotalNS int64  `json:"total_ns"`
	MaxNS   int64  `json:"max_ns"`
}

// Life is the goroutines that one function began.
type Life struct {
	Func      string      `json:"func"`
	Creator   string      `json:"creator,omitempty"` // the call that created the first of those created in the window
	Existed   int64       `json:"existed"`           // at the begin of the window
	Created   int64       `json:"created"`
	Ended     int64       `json:"ended"`
	Life      Spread      `json:"life"` // of those created and ended in the window
	RunningNS int64       `json:"running_ns"`
	ReadyNS   int64       `json:"runnable_ns"`
	SyscallNS int64       `json:"syscall_ns"`
	Blocked   []BlockedBy `json:"blocked"`
}

// BlockedBy is time blocked for one reason.
type BlockedBy struct {
	Reason  string `json:"reason"`
	TotalNS int64  `json:"total_ns"`
}

// Leak is a function whose goroutines were created in the window and were blocked at its end.
type Leak struct {
	Func    string `json:"func"`
	Count   int64  `json:"count"`
	Created int64  `json:"created"` // of this function, in the window
	Reason  string `json:"reason"`
	Call    string `json:"call"`
	LeastNS int64  `json:"least_ns"` // they were all blocked for at least this long
}

// Dropped counts what a full table left out.
type Dropped struct {
	Table string `json:"table"`
	Count uint64 `json:"count"`
}

// Kinds of a [Group] and of a [Request].
const (
	KindTask   = "task"
	KindRegion = "region"
	KindHTTP   = "http"
)

// NotSeen is the name of requests of net/http in whose handlers the trace has no event.
const NotSeen = "(handler not seen)"

// Group is all requests of one name.
type Group struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // type of the task or region, or the function that handled the requests
	Spread
	Open  int64  `json:"open"` // that had not ended when the window did; they count with their age
	Spent []Part `json:"spent"`
	Hot   []Hot  `json:"hot,omitempty"` // where they ran; only if a CPU profile was taken too
}

// Hot is a call that CPU samples were in.
type Hot struct {
	Call    string `json:"call"`
	Samples int64  `json:"samples"`
}

// Part is time that was spent in one way.
type Part struct {
	State   string `json:"state"` // running, runnable, blocked, syscall or elsewhere
	Reason  string `json:"reason,omitempty"`
	Call    string `json:"call,omitempty"`
	TotalNS int64  `json:"total_ns"`
	Count   int64  `json:"count"`
}

// Request is one of the slowest requests.
type Request struct {
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Goroutine int64     `json:"goroutine"`
	BeginNS   int64     `json:"begin_ns"` // in the window
	NS        int64     `json:"ns"`
	Early     bool      `json:"early,omitempty"` // it began before the window
	Open      bool      `json:"open,omitempty"`  // it had not ended when the window did
	Spent     []Part    `json:"spent"`
	Hot       []Hot     `json:"hot,omitempty"`
	Children  []Child   `json:"children,omitempty"`
	Segments  []Segment `json:"segments"`
	Cut       int64     `json:"cut,omitempty"` // segments that were left out
}

// Child is the regions and tasks of one name within a task.
type Child struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	TotalNS int64  `json:"total_ns"`
	MaxNS   int64  `json:"max_ns"`
}

// Segment is a piece of a request's time.
type Segment struct {
	AtNS   int64  `json:"at_ns"` // since the request's begin
	NS     int64  `json:"ns"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Call   string `json:"call,omitempty"`
	By     string `json:"by,omitempty"` // what made it runnable
}

// Series is figures over time, in columns of equal width.
type Series struct {
	StepNS     int64     `json:"step_ns"`
	User       []float64 `json:"user"`    // Ps that ran code of the program
	GC         []float64 `json:"gc"`      // Ps that collected
	Syscall    []float64 `json:"syscall"` // Ps of goroutines in system calls
	Runnable   []float64 `json:"runnable"`
	MaxReady   []int64   `json:"max_runnable"`
	Threads    []float64 `json:"threads"` // that ran or were in a system call
	Goroutines []float64 `json:"goroutines"`
	Heap       []int64   `json:"heap_bytes"` // 0: not known
}

// Lanes is what each P did over time: shares of columns, and the longest spans.
type Lanes struct {
	StepNS int64  `json:"step_ns"`
	Lanes  []Lane `json:"lanes"`
	More   int    `json:"more,omitempty"` // Ps beyond the first that are not in Lanes

	Names   []string   `json:"names"`    // of functions
	Spans   [][6]int64 `json:"spans"`    // lane, begin, length, kind, goroutine, index of the function or -1
	LeastNS int64      `json:"least_ns"` // shorter spans are only in the columns
}

// Lane is one P. Its values are percent of a column; the rest is idle.
type Lane struct {
	P       int64   `json:"p"`
	User    []uint8 `json:"user"`
	GC      []uint8 `json:"gc"`
	Syscall []uint8 `json:"syscall"`
	Sched   []uint8 `json:"sched"`
}
