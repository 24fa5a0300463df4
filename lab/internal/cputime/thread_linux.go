package cputime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// OfThread runs f and returns the CPU time that its thread used: not the time for which it was
// preempted, or waited.
func OfThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var begin, end unix.Timespec
	// These calls fail only for a clock that the kernel does not have. It has had this one since 2.6.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &begin)
	f()
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &end)
	return time.Duration(end.Nano() - begin.Nano())
}
