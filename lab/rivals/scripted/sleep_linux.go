package scripted

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen reduces the timer slack of the calling thread: by default the kernel may delay
// the end of a sleep by up to 50 µs. If that is refused, nothing changes.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleep blocks the thread for d, or less if a signal arrives.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // the caller checks the time
}
