package procfs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ticks is CPU time since boot, in clock ticks, summed over some CPUs.
type Ticks struct {
	Stolen uint64 // wanted, but the hypervisor gave it to another guest
	Idle   uint64 // includes waiting for I/O
	Total  uint64 // of all kinds, including idle and stolen
	CPUs   int    // number of CPUs summed
}

// Steal returns the share of the time since earlier that the hypervisor took,
// 0 to 1.
func (t Ticks) Steal(earlier Ticks) float64 {
	if t.Total <= earlier.Total || t.Stolen <= earlier.Stolen {
		return 0
	}
	return float64(t.Stolen-earlier.Stolen) / float64(t.Total-earlier.Total)
}

// Ticks reads /proc/stat for the given CPUs, or for all of them if none are given. A CPU
// that does not exist is an error.
func (f FS) Ticks(cpus []int) (Ticks, error) {
	lines, err := f.Lines("proc", "stat")
	if err != nil {
		return Ticks{}, err
	}
	names := []string{"cpu"}
	if len(cpus) > 0 {
		names = names[:0]
		for _, c := range cpus {
			names = append(names, "cpu"+strconv.Itoa(c))
		}
	}
	sum := Ticks{CPUs: len(cpus)}
	if len(cpus) == 0 {
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, "cpu"); ok && rest != "" && rest[0] != ' ' {
				sum.CPUs++
			}
		}
	}
	for _, name := range names {
		words := Value(lines, name)
		// user nice system idle iowait irq softirq steal; the guest columns after them are
		// included in user and nice.
		const kinds = 8
		if len(words) < kinds {
			return Ticks{}, fmt.Errorf("read /proc/stat: no line %s with %d figures", name, kinds)
		}
		for i, w := range words[:kinds] {
			n, err := strconv.ParseUint(w, 10, 64)
			if err != nil {
				return Ticks{}, fmt.Errorf("read /proc/stat: %w", err)
			}
			sum.Total += n
			switch i {
			case 3, 4:
				sum.Idle += n
			case kinds - 1:
				sum.Stolen += n
			}
		}
	}
	return sum, nil
}

// Pressure returns for how long, since boot, some runnable task waited for a CPU: "some ...
// total=" of /proc/pressure/cpu.
func (f FS) Pressure() (time.Duration, error) { return f.Stalled("some", "proc", "pressure", "cpu") }

// Stalled returns for how long tasks waited for a resource, since boot or since the control
// group exists, from a file with pressure stall information: "some ... total=" for at least
// one task, "full ... total=" for all of them.
func (f FS) Stalled(tasks string, file ...string) (time.Duration, error) {
	lines, err := f.Lines(file...)
	if err != nil {
		return 0, err
	}
	for _, w := range Value(lines, tasks) {
		if text, ok := strings.CutPrefix(w, "total="); ok {
			us, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read %s: %w", f.Path(file...), err)
			}
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, fmt.Errorf("read %s: no total of %q", f.Path(file...), tasks)
}

// Waited returns for how long the calling thread has been ready to run while another one
// had its CPU: field 2 of /proc/thread-self/schedstat (Linux, Documentation/scheduler/sched-stats.rst).
// The error is [fs.ErrNotExist] if the kernel does not count it (CONFIG_SCHED_INFO).
func (f FS) Waited() (time.Duration, error) {
	words, err := f.Fields("proc", "thread-self", "schedstat")
	if err != nil {
		return 0, err
	}
	if len(words) != 3 {
		return 0, fmt.Errorf("schedstat has %d fields, want 3", len(words))
	}
	ns, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse schedstat: %w", err)
	}
	return time.Duration(ns), nil
}
