package lead

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/sys"
)

// An alarm fires once at a set time. It does not use the runtime's timers: while one of
// these is due soon, each thread that goes to sleep programs the hardware for it, and on a
// virtual machine that costs more than most requests.
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

// set makes it fire after d and replaces the previous setting. The alarm must not be
// closed.
func (a *alarm) set(d time.Duration) { a.timer.Set(d) } // fails only for invalid arguments

// wait returns true when the alarm has fired, and false when it is closed.
func (a *alarm) wait() bool {
	return a.raw.Read(func(uintptr) bool { return a.timer.Expired() }) == nil
}

func (a *alarm) close() error { return a.file.Close() }
