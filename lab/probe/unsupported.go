//go:build !linux

package probe

import (
	"errors"
	"fmt"
	"net"
	"runtime"
)

// Allowed returns the CPUs that this process may run on. Linux only.
func Allowed() ([]int, error) {
	return nil, fmt.Errorf("read own affinity on %s, only Linux can: %w", runtime.GOOS, errors.ErrUnsupported)
}

// AllowedTo returns the CPUs that a process may run on. Linux only.
func AllowedTo(int) ([]int, error) { return Allowed() }

// Move moves this process to the given CPUs. Linux only.
func Move([]int) (undo func() error, err error) { _, err = Allowed(); return nil, err }

// Listening returns the processes that listen on a TCP port. Linux only.
func Listening(int) ([]int, error) {
	return nil, fmt.Errorf("find the processes of a port on %s, only Linux can: %w", runtime.GOOS, errors.ErrUnsupported)
}

// ListeningUnix returns the process at the other end of a Unix socket. Elsewhere than on
// Linux it is 0: unknown.
func ListeningUnix(*net.UnixConn) (int, error) { return 0, nil }

// SetCongestion sets the congestion control of another process's listening sockets. Linux
// only.
func SetCongestion(_ []int, port int, algorithm string) error {
	return &CongestionError{
		Port: port, Algorithm: algorithm, Need: "Linux 5.6",
		Err: fmt.Errorf("on %s: %w", runtime.GOOS, errors.ErrUnsupported),
	}
}
