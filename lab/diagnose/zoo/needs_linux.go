package zoo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// pick returns the first n CPUs that this process may use, all of them if n is 0.
func pick(n int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read own CPUs: %w", err)
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count() && (n == 0 || len(cpus) < n); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// A group is the cgroup of one server: one directory in version 2, one for each controller in
// version 1.
type group struct {
	dirs  []string
	given procfs.Delegation
}

// period is the time that a quota is divided into, in microseconds: the kernel's default.
const period = 100_000

// serial makes the names of the cgroups of this process differ.
var serial atomic.Int64

// newGroup makes a cgroup with limits, nil if there are none. The error is [ErrNeeds] if this process
// may not make one.
func newGroup(quota float64, memory int64) (*group, error) {
	if quota == 0 && memory == 0 {
		return nil, nil
	}
	g := &group{}
	for _, limit := range []struct {
		controller string
		v1, v2     map[string]string
		set        bool
	}{
		{
			"cpu",
			map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": strconv.Itoa(int(quota * period))},
			map[string]string{"cpu.max": fmt.Sprintf("%d %d", int(quota*period), period)},
			quota > 0,
		},
		{
			"memory",
			map[string]string{"memory.limit_in_bytes": strconv.FormatInt(memory, 10)},
			map[string]string{"memory.max": strconv.FormatInt(memory, 10)},
			memory > 0,
		},
	} {
		if !limit.set {
			continue
		}
		if err := g.limit(limit.controller, limit.v1, limit.v2); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: make a cgroup of %s (as root): %w", ErrNeeds, limit.controller, err), g.remove())
		}
	}
	return g, nil
}

// limit makes the directory for one controller, unless an earlier one made it, and writes the
// limits.
func (g *group) limit(controller string, v1, v2 map[string]string) error {
	mount, version, err := hierarchy(controller)
	if err != nil {
		return err
	}
	limits := v1
	if version == 2 {
		limits = v2
	}
	dir := filepath.Join(mount, fmt.Sprintf("redline-zoo-%d-%d", os.Getpid(), serial.Add(1)))
	if version == 2 && len(g.dirs) > 0 {
		dir = g.dirs[0]
	} else {
		if version == 2 {
			d, err := procfs.PlanDelegation(mount, "cpu", "memory")
			if err != nil {
				return err
			}
			if err := d.Make(); err != nil {
				return err
			}
			g.given = d
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
	}
	for name, value := range limits {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// hierarchy finds where a controller is mounted, and the version of its hierarchy. A system may
// have both versions, but a controller belongs to one.
func hierarchy(controller string) (mount string, version int, err error) {
	groups, err := procfs.Host.Groups("self", controller)
	if err != nil {
		return "", 0, err
	}
	for _, g := range groups {
		if !g.V2 {
			return g.Mount, 1, nil
		}
	}
	if len(groups) == 0 {
		return "", 0, fmt.Errorf("no hierarchy has the controller %s", controller)
	}
	return groups[0].Mount, 2, nil
}

// procs returns the files that a process enters the cgroup by.
func (g *group) procs() []string {
	var all []string
	for _, dir := range g.dirs {
		all = append(all, filepath.Join(dir, "cgroup.procs"))
	}
	return all
}

// remove removes the cgroup. The kernel refuses for a moment after the last process has ended.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		err := os.Remove(dir)
		for try := 0; err != nil && !errors.Is(err, os.ErrNotExist) && try < 100; try++ {
			time.Sleep(20 * time.Millisecond)
			err = os.Remove(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, g.given.Undo())...)
}
