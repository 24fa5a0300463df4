//go:build !linux

package watch

import "time"

// cost runs f and returns how long it took: the samplers are those of Linux, and elsewhere there is
// no clock of a thread.
func cost(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
