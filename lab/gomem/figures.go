package gomem

import (
	"strconv"
	"time"
)

// Figures are one reading of a Go runtime. The process runs on while it is read: figures that
// the runtime changes together may come from before and after a change. Those that the garbage
// collector writes at the end of a cycle all belong to the same cycle. Sizes are bytes, times
// are nanoseconds.
type Figures struct {
	At time.Time // when the reading ended, by the clock of this machine

	// Goroutines is the result of runtime.NumGoroutine: without those of the runtime itself.
	Goroutines Value
	// Threads counts threads that the runtime has created and not freed; IdleThreads are those
	// that wait for work, SpinningThreads those that look for it. In a program with cgo, Threads
	// counts one that the runtime keeps ready for C and that does not exist yet.
	Threads, IdleThreads, SpinningThreads Value

	Procs Value // GOMAXPROCS now in force
	CPUs  Value // runtime.NumCPU: those that the process was allowed to use when it began
	Ps    Ps
	// GlobalQueue counts runnable goroutines that no P has, LocalQueues those that wait at a P,
	// LongestQueue those at the P with most of them.
	GlobalQueue, LocalQueues, LongestQueue Value

	// Switches counts how often the Ps in force have turned to another goroutine, Syscalls how
	// often goroutines on them have called the kernel or C. Each P counts modulo 1<<32.
	Switches, Syscalls Value
	Timers             Value // in the heaps of all Ps, stopped ones too until they are removed

	// HeapLive is what the collector compares with HeapTrigger: live bytes of the last cycle
	// and everything allocated since, with an allowance for what Ps have reserved. A cycle
	// starts at HeapTrigger, and should end before HeapGoal.
	HeapLive, HeapTrigger, HeapGoal, HeapMarked Value
	// HeapInUse and HeapReleased are those of runtime.MemStats, HeapIdle too. Stacks is StackInuse
	// without cgo's. Mapped is what GOMEMLIMIT bounds.
	HeapInUse, HeapIdle, HeapReleased, Stacks, Mapped Value
	// Allocated and Freed are bytes since the start. The runtime adds a P's small objects when
	// the P takes a new span, and at each cycle, so that both lag behind.
	Allocated, Freed Value

	GCPercent   Value // GOGC now in force; -1 is off
	MemoryLimit Value // GOMEMLIMIT now in force; math.MaxInt64 is none

	Cycles, Forced Value // complete collections; those that runtime.GC or similar asked for
	Phase          Value // 0 none or sweeping, 1 marking, 2 ending to mark
	LastGC         Value // when the last cycle ended, since 1970; 0 is never
	PauseTotal     Value // time during which cycles stopped the world

	// CPU is how the time of all Ps was spent until the last cycle ended.
	CPU CPU

	// States has the states of goroutines as of the last walk, which is at most a second ago;
	// nil if they cannot be read.
	States *States
}

// Ps counts Ps by status: Syscall are those whose goroutine is in a system call, until the
// runtime takes the P away from it.
type Ps struct {
	Idle, Running, Syscall, GCStop Value
}

// CPU is time of Ps in nanoseconds, as the runtime estimates it from the clock, at the end of
// each collection. Total is all that GOMAXPROCS Ps could have used.
type CPU struct {
	GC, GCAssist, Idle, User, Total Value
}

// States counts goroutines by state. Goroutines of the runtime itself are in System alone.
type States struct {
	At                                             time.Time
	Runnable, Running, Syscall, Waiting, Preempted int
	System                                         int // of any state
	Other                                          int // being created, or of a state that this package does not know
	// Reasons counts the waiting ones by what the runtime says they wait for: "IO wait",
	// "chan receive", "select". It is nil if the reasons are unknown.
	Reasons map[string]int
	// Walked is how many goroutines were looked at, of All that ever existed at once. If it is
	// less, the counts are of a sample, evenly spread over All.
	Walked, All int
}

// A Value is one figure. A figure that could not be read is not known; it is never zero
// instead. [Process.Missing] says why.
type Value struct {
	N     int64
	Known bool
}

// known is a value that was read.
func known[T ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n T) Value { return Value{int64(n), true} }

// Get returns the figure and whether it is known.
func (v Value) Get() (int64, bool) { return v.N, v.Known }

// Duration returns a figure in nanoseconds as a duration; 0 if it is not known.
func (v Value) Duration() time.Duration { return time.Duration(v.N) }

// String returns the number, or "?" if it is not known.
func (v Value) String() string {
	if !v.Known {
		return "?"
	}
	return strconv.FormatInt(v.N, 10)
}

// MarshalJSON returns the number, or null if it is not known.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, v.N, 10), nil
}

// sum adds values; it is known if all are.
func sum(vs ...Value) Value {
	total := Value{Known: true}
	for _, v := range vs {
		total.N += v.N
		total.Known = total.Known && v.Known
	}
	if !total.Known {
		return Value{}
	}
	return total
}

// less subtracts; it is known if both are.
func (v Value) less(w Value) Value {
	w.N = -w.N
	return sum(v, w)
}
