package sys

import (
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CheckCPUs returns an error that names the CPUs that the process may not use.
func CheckCPUs(cpus []int) error {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		return fmt.Errorf("look up usable CPUs: %w", err)
	}
	for _, cpu := range cpus {
		if cpu < 0 || !usable.IsSet(cpu) {
			return fmt.Errorf("this process may not use CPU %d: it may use %s", cpu, list(&usable))
		}
	}
	return nil
}

// list formats CPUs as taskset and cpuset files do: 0-3,8.
func list(set *unix.CPUSet) string {
	var b []byte
	for cpu, end := 0, 8*int(unsafe.Sizeof(*set)); cpu < end; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		first := cpu
		for cpu+1 < end && set.IsSet(cpu+1) {
			cpu++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		if b = strconv.AppendInt(b, int64(first), 10); cpu > first {
			b = strconv.AppendInt(append(b, '-'), int64(cpu), 10)
		}
	}
	return string(b)
}

// Pin ties the calling thread to one CPU, and returns a function that reverses it: if
// called on another thread, it does nothing and reports false. The caller has locked its
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
		// The mask was valid before; if it no longer is, the thread stays where it is.
		_ = unix.SchedSetaffinity(0, &before)
		return true
	}, nil
}
