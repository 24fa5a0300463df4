//go:build linux && race

package sys

import (
	"os"
	"syscall"
)

// The race detector knows what happens before what between the two ends of a
// connection by a variable that package syscall acquires when it reads, and releases
// when it writes. The calls here do not go through its Read and Write, so these are
// called in vain beside them: a Read that succeeds acquires, and a Write releases
// whatever comes of it.

// null is open for as long as the process lives.
var null = openNull()

func openNull() int {
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("race detector: " + err.Error())
	}
	return fd
}

// Received tells the race detector that bytes have come from somebody who has sent
// them before.
func Received() { _, _ = syscall.Read(null, nil) } // of no bytes: there is nothing to fail

// Sending tells the race detector that bytes are going to be sent.
func Sending() { _, _ = syscall.Write(-1, nil) } // it is to fail
