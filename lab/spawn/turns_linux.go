package spawn

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ShortTurns has the threads that a process has now run in turns of that length: it gets
// its turn soon beside one that never sleeps. The kernel takes it from 6.12 on, and
// passes over it before.
func ShortTurns(pid int, turn time.Duration) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return err
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(filepath.Base(t))
		if err != nil {
			return err
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Runtime: uint64(turn)}
		if err := unix.SchedSetAttr(tid, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("ask for short turns: %w", err)
		}
	}
	return nil
}
