//go:build linux && !race

package sys

// Received tells the race detector that bytes have come from somebody who has sent
// them before. Without it, it is nothing.
func Received() {}

// Sending tells the race detector that bytes are going to be sent. Without it, it is
// nothing.
func Sending() {}
