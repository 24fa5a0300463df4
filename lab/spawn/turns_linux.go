package spawn

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ShortTurns sets the scheduler's slice of the current threads of a process, so that it
// soon gets its turn next to a process that never sleeps. The kernel supports this since
// 6.12, and ignores it before.
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
			return fmt.Errorf("set short turns: %w", err)
		}
	}
	return nil
}
