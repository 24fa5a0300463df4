//go:build !linux

package inetdiag

import (
	"errors"
	"fmt"
	"runtime"
)

// Conn is a netlink connection, on Linux.
type Conn struct{}

// Open connects to the network namespace of a process. Linux only.
func Open(int) (*Conn, error) {
	return nil, fmt.Errorf("list TCP sockets on %s, only Linux can: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Close closes the connection.
func (*Conn) Close() error { return nil }

// Each calls f for every TCP socket in one of the states. Linux only.
func (*Conn) Each(States, func(Socket)) error { return errors.ErrUnsupported }
