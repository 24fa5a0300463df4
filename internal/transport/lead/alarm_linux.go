package lead

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/sys"
)

// An alarm goes off once at a time that is set. It is none of the runtime's timers:
// while one of these is near, each thread that goes to sleep programs the hardware for
// it, and on a virtual machine that costs more than most requests.
type alarm struct {
	timer sys.Timer
	file  *os.File
	raw   syscall.RawConn
}

func newAlarm() (*alarm, error) {
	timer, err := sys.NewTimer()
	if err != nil {
		return nil, err
	}
	a := &alarm{timer: timer, file: os.NewFile(uintptr(timer), "alarm")}
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil, fmt.Errorf("wait for timer: %w", err)
	}
	return a, nil
}

// set has it go off in d, in place of what was set before. It must not be closed.
func (a *alarm) set(d time.Duration) { a.timer.Set(d) } // it fails for bad arguments alone

// wait returns true when it has gone off, and false when it is closed.
func (a *alarm) wait() bool {
	return a.raw.Read(func(uintptr) bool { return a.timer.Expired() }) == nil
}

func (a *alarm) close() error { return a.file.Close() }
