package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Allowed returns the CPUs that this process may run on, in order.
func Allowed() ([]int, error) { return AllowedTo(os.Getpid()) }

// AllowedTo returns the CPUs that the main thread of a process may run on, in order. The
// thread that runs a goroutine at the moment may have been pinned for another purpose.
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

// movePasses is how often the threads are listed again: a thread that has not been moved
// yet may start another.
const movePasses = 3

// Move moves all threads of this process to the given CPUs, including threads started
// later. The caller must call undo to move it back to the CPUs of the main thread.
func Move(cpus []int) (undo func() error, err error) {
	before, err := Allowed()
	if err != nil {
		return nil, err
	}
	undo = func() error { return moveAll(before) }
	if err := moveAll(cpus); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

func moveAll(cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	for range movePasses {
		threads, err := procfs.Host.Threads(os.Getpid())
		if err != nil {
			return fmt.Errorf("move to CPUs %s: %w", FormatCPUs(cpus), err)
		}
		for _, tid := range threads {
			if err := unix.SchedSetaffinity(tid, &set); err != nil && !procfs.Gone(err) {
				return fmt.Errorf("move thread %d to CPUs %s: %w", tid, FormatCPUs(cpus), err)
			}
		}
	}
	return nil
}
