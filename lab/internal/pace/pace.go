// Package pace makes tests take their time where there is much to do: a window in
// which a hundred answers come on an idle machine may hold none on a busy one.
package pace

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

const most = 5

// Window is a time in which something is measured: d, or up to five times as long
// as the load average (Linux, /proc/loadavg) exceeds the number of CPUs.
func Window(d time.Duration) time.Duration {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return d // another system: there is nothing to go by
	}
	return stretched(d, string(text), runtime.NumCPU())
}

func stretched(d time.Duration, loadavg string, cpus int) time.Duration {
	var load float64
	if _, err := fmt.Sscan(loadavg, &load); err != nil {
		return d
	}
	return d * time.Duration(max(1, min(most, load/float64(cpus))))
}
