package stacks

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/pprof/profile"
)

// Kind is what a profile is of.
type Kind string

// Kinds of profiles.
const (
	CPU    Kind = "cpu"    // CPU time
	OffCPU Kind = "offcpu" // time in which threads blocked
)

// Options say what is taken.
type Options struct {
	PIDs []int         // processes
	Tree bool          // their descendants too, and children that are created meanwhile
	Kind Kind          // CPU if it is empty
	For  time.Duration // length of the window
	Hz   int           // samples per second of CPU time, 99 if it is 0; of Kind CPU
	// Kernel adds the frames of the kernel, below those of the program. Without it, time in the
	// kernel is that of the function which made the system call.
	Kernel bool
	// Lines reads the debugging information of programs that are not written in Go, for source
	// files and lines. It takes memory: up to 256 MiB for a program.
	Lines bool
	// Slices divides the window into so many parts, 1000 at most, which the samples of Kind CPU name: two
	// with the same stack in different parts are not merged. 0: they are.
	Slices int
}

// Taken is a profile with what there is to say about it.
type Taken struct {
	// Profile has the values samples/count and cpu/nanoseconds, or waits/count and
	// offcpu/nanoseconds, and the labels pid, thread and comm. Samples of Kind OffCPU also have
	// the label state: S (interruptible), D (uninterruptible), T (stopped) or I (idle). With
	// Slices they have the label slice: the part of the window, from 0. One that is not told apart has none.
	// Frames of the kernel have the mapping [kernel].
	Profile *profile.Profile
	Lost    uint64   // records for which the kernel found no room
	Notes   []string // what limits the profile, in sentences
}

// Errors of [Take], to be tested with [errors.Is].
var (
	// ErrPermission says that the kernel does not let this user take the profile.
	ErrPermission = errors.New("not allowed")
	// ErrOtherUser says that the process belongs to another user.
	ErrOtherUser = errors.New("the process belongs to another user: be that user or root, or have CAP_PERFMON and CAP_SYS_PTRACE")
	// ErrNoProcess says that there was no such process.
	ErrNoProcess = errors.New("no such process")
	// ErrNoTracepoint says that the kernel does not show its tracepoints.
	ErrNoTracepoint = errors.New("the kernel shows no tracepoints: be root, or let root mount tracefs at /sys/kernel/tracing and make it readable")
)

const (
	defaultHz = 99 // not a divisor of the rates at which programs do something themselves
	maxHz     = 10_000
	maxFor    = time.Hour
	maxSlices = 1000
)

// check completes the options.
func (o Options) check() (Options, error) {
	if o.Kind == "" {
		o.Kind = CPU
	}
	if o.Kind != CPU && o.Kind != OffCPU {
		return o, fmt.Errorf("%q is no kind of profile: it is cpu or offcpu", o.Kind)
	}
	if len(o.PIDs) == 0 {
		return o, errors.New("no process is named")
	}
	if o.For <= 0 || o.For > maxFor {
		return o, fmt.Errorf("a window of %v: it is longer than 0 and at most %v", o.For, maxFor)
	}
	if o.Hz == 0 {
		o.Hz = defaultHz
	}
	if o.Hz < 1 || o.Hz > maxHz {
		return o, fmt.Errorf("%d samples per second: it is 1 to %d", o.Hz, maxHz)
	}
	if o.Slices < 0 || o.Slices > maxSlices {
		return o, fmt.Errorf("%d parts of the window: it is 0 to %d", o.Slices, maxSlices)
	}
	return o, nil
}
