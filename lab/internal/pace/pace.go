// Package pace lengthens the windows of tests on a busy machine: a window in which a
// hundred responses arrive on an idle machine may have none on a busy one.
package pace

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

const (
	most  = 5
	twice = 2 // processes that share a CPU and still each have half of it
)

// Window returns the length of a measurement: d, or up to five times as long in proportion
// to the load average (Linux, /proc/loadavg) in excess of two processes a CPU. Tests that load
// servers are what makes a machine busy: to stretch them earlier would only add to its load.
func Window(d time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return d // another system: the load is unknown
	}
	return stretched(d, string(text), runtime.NumCPU())
}

func stretched(d time.Duration, loadavg string, cpus int) time.Duration {
	var load float64
	if _, err := fmt.Sscan(loadavg, &load); err != nil {
		return d
	}
	return time.Duration(float64(d) * max(1, min(most, load/float64(twice*cpus)))).Truncate(time.Millisecond)
}
