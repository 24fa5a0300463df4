package scripted

import (
	"time"

	"golang.org/x/sys/unix"
)

// sharpen lets the calling thread's sleeps end when they should: by default the
// kernel adds up to 50 µs. Where it is refused they stay as they are.
func sharpen() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleep blocks the thread for d, less when a signal comes.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // whether it slept is seen from the time
}
