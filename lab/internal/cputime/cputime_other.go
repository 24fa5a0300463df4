//go:build !linux

package cputime

import (
	"errors"
	"fmt"
	"time"
)

var errSystem = fmt.Errorf("read the CPU clocks of other processes: %w", errors.ErrUnsupported)

// Processes reads the CPU clocks of the server's processes, on Linux.
type Processes struct{}

// Open prepares to read the clocks of processes.
func Open([]int) (*Processes, error) { return nil, errSystem }

// Read sums the clocks of all processes.
func (*Processes) Read() (Time, error) { return Time{}, errSystem }

// Add begins to read the clocks of more processes.
func (*Processes) Add([]int) error { return errSystem }

// Close releases resources.
func (*Processes) Close() {}

// Gone lists the processes that have ended.
func (*Processes) Gone() []int { return nil }

// OfThread runs f and returns how long it took: the clocks of threads are read on Linux only.
func OfThread(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
