// Package perfevent opens events of the kernel with perf_event_open(2), and reads their records.
//
//	Open(Config, task, CPU) ─▶ Event ──▶ Ring of its CPU ──▶ Ring.Read ──▶ Parse ──▶ Record
//	                              events of other tasks on the same CPU share the ring
//
// The package knows nothing of profiles: what a record means is for its user to say. Events exist
// on Linux only; records are parsed everywhere.
package perfevent

// Kinds of events (PERF_TYPE_*, PERF_COUNT_SW_*).
const (
	Software   = 1
	Tracepoint = 2

	CPUClock = 0 // of Software
)

// Config says what is observed. The zero value of each field is the least.
type Config struct {
	Type    uint32 // Software or Tracepoint, or that of ProbeType
	Event   uint64 // CPUClock, or the tracepoint's number
	Period  uint64 // one record each so many nanoseconds or hits
	Inherit bool   // threads that the task creates later, and its children
	Threads bool   // of these only threads; kernels before 5.13 ignore it

	Kernel   bool // what happens in the kernel counts too; needs a permission
	Stack    bool // records have the stack
	NoKernel bool // without the part in the kernel
	Raw      bool // records have the fields of the tracepoint; needs a permission
	Leaf     int  // bytes of the top of the stack, and registers, where the machine is known
	Tasks    bool // records of new tasks, names, programs and mappings too
	Returns  bool // records of tasks that run again too
	NoIdle   bool // nothing of idle CPUs

	Path     string // of Type [ProbeType]: the program whose function is observed
	Offset   uint64 // of the function's code in it
	Argument bool   // records have the first register: in Go that is the function's first argument
}
