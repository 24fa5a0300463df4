package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Allowed returns the CPUs that this process may run on, in order.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	// The main thread's: the thread that happens to run this goroutine may have
	// been pinned for another purpose.
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("read own affinity: %w", err)
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
