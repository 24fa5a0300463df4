//go:build !linux

package std

import (
	"net"
	"os"
	"time"
)

// sendFile sends from a file.
func sendFile(nc net.Conn, f *os.File, off int64, n int) (int, error) {
	return copyFile(nc, f, off, n)
}

// setAckTimeout has no effect.
func setAckTimeout(net.Conn, time.Duration) {}

// unacked is not known.
func unacked(net.Conn) int { return 0 }

// temper has no effect.
func temper(net.Conn, int) {}
