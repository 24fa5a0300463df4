package trace

// Kinds of a [Group] and of a [Request].
const (
	KindTask   = "task"
	KindRegion = "region"
	KindHTTP   = "http"
)

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
