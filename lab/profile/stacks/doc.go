// Package stacks takes profiles of running processes from outside: where they spend CPU time,
// and where they block. The program needs no preparation, and may be written in any language.
//
//	perf_event_open(2) ─▶ rings ─▶ records in order of time ─▶ samples by stack
//	                                                              │ symbols
//	                                                              ▼
//	                                                  *profile.Profile of pprof
//
// # CPU
//
// The software event cpu-clock ticks on each CPU that is not idle, and the samples of other
// processes are dropped. This needs CAP_PERFMON. Without it the event is attached to each thread on each
// CPU, and inherited by what the thread starts: then the kernel programs a timer at each
// context switch, which takes about two microseconds in a virtual machine.
//
// # Off-CPU
//
// The tracepoint sched:sched_switch has the stack and the state of a thread that stops running,
// sched:sched_wakeup ends its wait. Only voluntary waits count: a thread that was preempted wants
// to run. Of threads that block often, one wait in N is looked at and counts N times, with its
// time; the notes say so. Threads of Go programs block for the scheduler of Go most of the time; what
// their goroutines wait for is in the memory of the process (package gomem).
//
// # Stacks
//
// The kernel follows frame pointers. Go has them on amd64 and arm64. On amd64, what they leave out
// is added: for a Go function without a frame of its own, such as a system call, the caller is
// found by Go's table of stack depths; programs that are not written in Go are unwound by their
// tables for exceptions (.eh_frame), in the first 8 KiB of the stack, whether they have frame
// pointers or not. Code that was compiled at run time needs frame pointers. The notes say how
// many stacks are cut, and how many samples have a single frame.
package stacks
