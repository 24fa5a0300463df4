package kernel

import (
	"math"
	"strconv"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// unlimited is the least value of memory.limit_in_bytes that means no limit: version 1 has the
// largest number of whole pages.
const unlimited = math.MaxInt64 >> 16 << 16

// groups reads the control groups of the first process, which may be of both versions. Version
// 1 comes first where it has the controller: version 2 then counts less.
type groups struct{ t *Target }

// of returns the group of a controller, and whether there is one.
func (g *groups) of(controller string) (procfs.Group, bool) {
	all, err := g.t.fs.Groups(strconv.Itoa(g.t.pid), controller)
	if err != nil || len(all) == 0 {
		return procfs.Group{}, false
	}
	for _, one := range all {
		if !one.V2 {
			return one, true
		}
	}
	return all[0], true
}

func (g *groups) read(r *watch.Reading) error {
	g.cpu(r)
	g.throttling(r)
	g.memory(r)
	return nil
}

// miss reports that the file of a group cannot be read.
func (g *groups) miss(r *watch.Reading, path string, err error, figures ...string) {
	why := "the kernel or the group does not have this controller"
	if err != nil && !procfs.Gone(err) {
		why = reason(err)
	}
	r.Miss(path, why, figures...)
}

func (g *groups) cpu(r *watch.Reading) {
	group, ok := g.of("cpuacct")
	if !ok {
		g.miss(r, "control group", nil, "cgroup_cpu")
		return
	}
	fs, dir := g.t.fs, group.Dir()
	if !group.V2 {
		ns, err := fs.Int(dir, "cpuacct.usage")
		if err != nil {
			g.miss(r, fs.Path(dir, "cpuacct.usage"), err, "cgroup_cpu")
			return
		}
		r.Count("cgroup_cpu", 0, float64(ns)/1e9)
		return
	}
	lines, err := fs.Lines(dir, "cpu.stat")
	if err != nil {
		g.miss(r, fs.Path(dir, "cpu.stat"), err, "cgroup_cpu")
		return
	}
	r.Count("cgroup_cpu", 0, float64(procfs.Number(lines, "usage_usec"))/1e6)
}

// throttling reads the quota, and how often it was used up: in the groups that have one, or
// else in the group of the process.
func (g *groups) throttling(r *watch.Reading) {
	figures := []string{"cgroup_periods", "cgroup_throttled_periods", "cgroup_throttled"}
	group, ok := g.of("cpu")
	if !ok {
		g.miss(r, "control group", nil, append(figures, "cgroup_cpu_quota")...)
		return
	}
	fs := g.t.fs
	dirs := []string{group.Dir()}
	// Groups were found, so this finds them too.
	if quotas, err := fs.Quotas(strconv.Itoa(g.t.pid)); err == nil && len(quotas) > 0 {
		lowest := math.Inf(1)
		dirs = nil
		for _, q := range quotas {
			lowest = min(lowest, q.CPUs())
			dirs = append(dirs, q.Dir)
		}
		r.Set("cgroup_cpu_quota", lowest)
	}
	for i, dir := range dirs {
		lines, err := fs.Lines(dir, "cpu.stat")
		if err != nil || procfs.Value(lines, "nr_periods") == nil {
			g.miss(r, fs.Path(dir, "cpu.stat"), err, figures...)
			return
		}
		seconds := float64(procfs.Number(lines, "throttled_usec"))/1e6 + float64(procfs.Number(lines, "throttled_time"))/1e9
		r.Count("cgroup_periods", uint64(i), float64(procfs.Number(lines, "nr_periods")))
		r.Count("cgroup_throttled_periods", uint64(i), float64(procfs.Number(lines, "nr_throttled")))
		r.Count("cgroup_throttled", uint64(i), seconds)
	}
}

func (g *groups) memory(r *watch.Reading) {
	figures := []string{"cgroup_memory_bytes", "cgroup_memory_max", "cgroup_memory_oom_kill"}
	group, ok := g.of("memory")
	if !ok {
		g.miss(r, "control group", nil, figures...)
		return
	}
	fs, dir := g.t.fs, group.Dir()
	usage, limit := "memory.usage_in_bytes", "memory.limit_in_bytes"
	if group.V2 {
		usage, limit = "memory.current", "memory.max"
	}
	if n, err := fs.Int(dir, usage); err != nil {
		g.miss(r, fs.Path(dir, usage), err, figures...)
	} else {
		r.Set("cgroup_memory_bytes", float64(n))
	}
	lowest := math.Inf(1)
	for above := range group.Dirs() {
		// "max", the root group's missing file, and huge numbers mean no limit.
		if n, err := fs.Int(above, limit); err == nil && n < unlimited {
			lowest = min(lowest, float64(n))
		}
	}
	if !math.IsInf(lowest, 1) {
		r.Set("cgroup_memory_limit_bytes", lowest)
	}
	if group.V2 {
		lines, err := fs.Lines(dir, "memory.events")
		if err != nil {
			return // as memory.current
		}
		for _, name := range []string{"high", "max", "oom", "oom_kill"} {
			r.Count("cgroup_memory_"+name, 0, float64(procfs.Number(lines, name)))
		}
		return
	}
	if n, err := fs.Int(dir, "memory.failcnt"); err == nil {
		r.Count("cgroup_memory_max", 0, float64(n))
	}
	if lines, err := fs.Lines(dir, "memory.oom_control"); err == nil && procfs.Value(lines, "oom_kill") != nil {
		r.Count("cgroup_memory_oom_kill", 0, float64(procfs.Number(lines, "oom_kill")))
	}
}

// machinePressure are the figures of the machine: resource and tasks.
var machinePressure = []struct{ resource, tasks string }{
	{"cpu", "some"}, {"memory", "some"}, {"memory", "full"}, {"io", "some"}, {"io", "full"},
}

func (g *groups) pressure(r *watch.Reading) error {
	fs := g.t.fs
	for _, p := range machinePressure {
		figure := "pressure_" + p.resource + "_" + p.tasks
		stalled, err := fs.Stalled(p.tasks, "proc", "pressure", p.resource)
		if err != nil {
			r.Miss(fs.Path("proc", "pressure", p.resource), "pressure stall information is off; boot with psi=1", figure)
			continue
		}
		r.Count(figure, 0, stalled.Seconds())
	}
	all, err := fs.Groups(strconv.Itoa(g.t.pid), "cpu")
	if err != nil {
		return nil // reported with the other figures of the group
	}
	for _, group := range all {
		for _, resource := range []string{"cpu", "memory", "io"} {
			if !group.V2 {
				continue
			}
			file := []string{group.Dir(), resource + ".pressure"}
			stalled, err := fs.Stalled("some", file...)
			if err != nil {
				r.Miss(fs.Path(file...), "this group has no pressure stall information", "cgroup_pressure_"+resource+"_some")
				continue
			}
			r.Count("cgroup_pressure_"+resource+"_some", 0, stalled.Seconds())
		}
	}
	return nil
}
