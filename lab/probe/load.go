package probe

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Ticks is CPU time since boot, in clock ticks, summed over some CPUs. Its method Steal
// returns the share that the hypervisor took since an earlier reading.
type Ticks = procfs.Ticks

// ReadTicks reads the time of the given CPUs, or of all if none are given.
func ReadTicks(cpus []int) (Ticks, error) {
	t, err := procfs.Host.Ticks(cpus)
	if err != nil {
		return Ticks{}, fmt.Errorf("read CPU ticks: %w", err)
	}
	return t, nil
}

// ReadPressure returns for how long, since boot, some runnable task waited for a CPU. It
// returns an error if the kernel has no pressure stall information.
func ReadPressure() (time.Duration, error) {
	d, err := procfs.Host.Pressure()
	if err != nil {
		return 0, fmt.Errorf("read CPU pressure: %w", err)
	}
	return d, nil
}
