package sys

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Timer is a timerfd: a descriptor that becomes readable when its time has come. The
// kernel's timer is programmed when it is set, and not each time that a thread goes to
// sleep, as for the timers of Go's runtime.
type Timer int

// NewTimer returns a timer that is not set. Its descriptor is non-blocking, so that
// [os.NewFile] adds it to the runtime's poller, and close-on-exec.
func NewTimer() (Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("create timer: %w", os.NewSyscallError("timerfd_create", err))
	}
	return Timer(fd), nil
}

// Set makes the timer fire once after d, and replaces the previous setting. A value that is
// not positive means now.
func (t Timer) Set(d time.Duration) syscall.Errno {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))}
	_, _, errno := syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(t), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	return errno
}

// Expired reports whether the timer has fired since the last call.
func (t Timer) Expired() bool {
	var times uint64
	n, _, _ := syscall.RawSyscall(unix.SYS_READ, uintptr(t), uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
	return n == unsafe.Sizeof(times)
}
