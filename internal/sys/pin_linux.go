package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Pin ties the calling thread to one CPU, and returns what undoes it: called on
// another thread it does nothing, and reports false. The caller has locked its
// goroutine to the thread.
func Pin(cpu int) (undo func() bool, err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	thread := unix.Gettid()
	return func() bool {
		if unix.Gettid() != thread {
			return false
		}
		// The mask was valid a moment ago; should it not be any more, the
		// thread stays where it is.
		_ = unix.SchedSetaffinity(0, &before)
		return true
	}, nil
}
