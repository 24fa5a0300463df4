//go:build !linux

package sys

import "runtime"

// CPUs is the number of CPUs that the process may use. It is at least 1.
func CPUs() int { return runtime.NumCPU() }
