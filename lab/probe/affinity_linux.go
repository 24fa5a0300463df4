package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Allowed returns the CPUs that this process may run on, in order.
func Allowed() ([]int, error) { return AllowedTo(os.Getpid()) }

// AllowedTo returns the CPUs that the main thread of a process may run on, in
// order: the thread that happens to run a goroutine may have been pinned for
// another purpose.
func AllowedTo(pid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return nil, fmt.Errorf("read affinity of process %d: %w", pid, err)
	}
	var cpus []int
	for c, left := 0, set.Count(); left > 0; c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
			left--
		}
	}
	return cpus, nil
}
