//go:build !linux

package rivals

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

func unsupported(what string) error {
	return fmt.Errorf("%s on %s, only Linux can: %w", what, runtime.GOOS, errors.ErrUnsupported)
}

func cpuTime(int) (time.Duration, error) { return 0, unsupported("read the CPU clock of a process") }

type tally struct{}

func newTally(int) *tally { return &tally{} }

func (*tally) read() (uint64, error) { return 0, unsupported("read the server's sockets") }
