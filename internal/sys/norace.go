//go:build linux && !race

package sys

// Received tells the race detector that bytes have arrived that another goroutine has sent
// before. Without the race detector it does nothing.
func Received() {}

// Sending tells the race detector that bytes are about to be sent. Without the race
// detector it does nothing.
func Sending() {}
