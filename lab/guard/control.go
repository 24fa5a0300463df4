package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// removeControl kills the processes of a control group until it has none, and removes the group.
// The kernel refuses to remove it until the last process is gone completely.
func removeControl(dir string) error {
	for deadline := time.Now().Add(killWait); ; time.Sleep(5 * time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it still has processes %v after SIGKILL: %w", killWait, err)
		}
		if err := killMembers(dir); err != nil {
			return err
		}
	}
}

// killMembers kills the processes of a control group, but never another one that has reused a pid:
// its start is read between two lists that both have the pid.
func killMembers(dir string) error {
	first, err := members(dir)
	if err != nil {
		return err
	}
	seen := map[int]procfs.Stat{}
	for pid := range first {
		s, err := procfs.Host.Stat(pid)
		if procfs.Gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !s.Dead() {
			seen[pid] = s
		}
	}
	second, err := members(dir)
	if err != nil {
		return err
	}
	var errs []error
	for pid, s := range seen {
		if second[pid] {
			errs = append(errs, kill(s))
		}
	}
	return errors.Join(errs...)
}

// members returns the processes of a control group; none if the group is gone.
func members(dir string) (map[int]bool, error) {
	words, err := procfs.Host.Fields(filepath.Join(dir, "cgroup.procs"))
	if procfs.Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pids := map[int]bool{}
	for _, w := range words {
		// 0 is a process of another pid namespace, which cannot be reached.
		if pid, err := strconv.Atoi(w); err == nil && pid > 0 {
			pids[pid] = true
		}
	}
	return pids, nil
}
