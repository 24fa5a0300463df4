//go:build linux && race

package sys

import (
	"os"
	"syscall"
)

// The race detector orders events at the two ends of a connection by a variable that
// package syscall acquires when it reads, and releases when it writes. The calls here do
// not use its Read and Write, so these are called in addition, without effect: a successful
// Read acquires, and a Write releases even if it fails.

// null is open while the process lives.
var null = openNull()

func openNull() int {
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("race detector: " + err.Error())
	}
	return fd
}

// Received tells the race detector that bytes have arrived that another goroutine has sent
// before.
func Received() { _, _ = syscall.Read(null, nil) } // of no bytes: this cannot fail

// Sending tells the race detector that bytes are about to be sent.
func Sending() { _, _ = syscall.Write(-1, nil) } // it fails on purpose
