package probe

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/procfs"
)

// Usage measures how the time of some CPUs is used: by the processes of a run, by the
// hypervisor, or by other processes, which disturb the run. It is not safe for concurrent
// use.
type Usage struct {
	cpus   []int
	own    *cputime.Processes
	others *others // nil: not all processes of the machine are visible
}

// UsageReading is the state at one time.
type UsageReading struct {
	ticks Ticks
	own   time.Duration // CPU time of the run's processes
	at    time.Time
}

// OpenUsage begins to measure cpus, or all CPUs if none are given. pids are the processes
// of the run other than the calling one; they may also use other CPUs. The caller must
// close the Usage.
func OpenUsage(cpus []int, pids ...int) (*Usage, error) {
	own, err := cputime.Open(append([]int{os.Getpid()}, pids...))
	if err != nil {
		return nil, fmt.Errorf("watch the CPUs of the run: %w", err)
	}
	u := &Usage{cpus: cpus, own: own}
	if u.others, err = newOthers(procfs.Host, append([]int{os.Getpid()}, pids...)); err != nil {
		own.Close()
		return nil, fmt.Errorf("watch other processes: %w", err)
	}
	return u, nil
}

// Add adds pids to the processes of the run; those already known are ignored.
func (u *Usage) Add(pids ...int) error {
	if u.others != nil {
		u.others.own = append(u.others.own, pids...)
	}
	return u.own.Add(pids)
}

// Others returns the CPU time that processes outside of the run have used since Open, on any CPU;
// false if it is unknown.
func (u *Usage) Others() (time.Duration, bool, error) {
	if u.others == nil {
		return 0, false, nil
	}
	used, err := u.others.used()
	return used, err == nil, err
}

// Close closes the descriptors.
func (u *Usage) Close() { u.own.Close() }

// Read returns the current state.
func (u *Usage) Read() (r UsageReading, err error) {
	r.at = time.Now()
	own, err1 := u.own.Read()
	r.own = time.Duration(own.Total)
	var err2 error
	r.ticks, err2 = ReadTicks(u.cpus)
	return r, errors.Join(err1, err2)
}

// Steal returns the share of the time since earlier that the hypervisor took, 0 to 1.
func (r UsageReading) Steal(earlier UsageReading) float64 { return r.ticks.Steal(earlier.ticks) }

// Seconds returns the time since earlier, summed over the CPUs.
func (r UsageReading) Seconds(earlier UsageReading) float64 {
	return r.at.Sub(earlier.at).Seconds() * float64(r.ticks.CPUs)
}

// Foreign returns the share of the time since earlier, 0 to 1, that was used neither by the
// processes of the run nor by the hypervisor nor idle. That includes what the kernel takes to wake
// an idle CPU, which thousands of wake-ups a second of the run's own threads make a lot: see
// Usage.Others. It is too small if a process of the
// run also ran on other CPUs. It is exact to two hundredths of a second: idle time has a
// resolution of a hundredth, at both ends.
func (r UsageReading) Foreign(earlier UsageReading) float64 {
	all := r.at.Sub(earlier.at) * time.Duration(r.ticks.CPUs)
	if all <= 0 {
		return 0
	}
	away := time.Duration(r.ticks.Idle-earlier.ticks.Idle+r.ticks.Stolen-earlier.ticks.Stolen) * tick
	return min(1, max(0, float64(all-away-(r.own-earlier.own))/float64(all)))
}

// tick is the unit of /proc/stat: USER_HZ is 100 on every architecture that Go supports.
const tick = 10 * time.Millisecond
