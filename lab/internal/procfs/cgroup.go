package procfs

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Group is the control group of a process in the hierarchy of one controller.
type Group struct {
	Mount string // where the hierarchy is mounted
	Path  string // of the process's group below the mount; begins with /
	V2    bool
}

// Dir returns the directory of the group.
func (g Group) Dir() string { return path.Join(g.Mount, g.Path) }

// Dirs returns the directories of the group and of all groups above it, in this order.
func (g Group) Dirs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := g.Path; yield(path.Join(g.Mount, dir)) && dir != "/"; dir = path.Dir(dir) {
		}
	}
}

// Groups finds the groups of a process (an id, or self) for a controller, of both versions of
// control groups, which may be mounted at the same time: /proc/PID/cgroup has the path within
// a hierarchy, /proc/self/mountinfo where a part of that hierarchy is mounted; see cgroups(7)
// and proc_pid_mountinfo(5). That a group of version 2 has the controller is not checked.
func (f FS) Groups(process, controller string) ([]Group, error) {
	lines, err := f.Lines("proc", process, "cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := f.Lines("proc", "self", "mountinfo")
	if err != nil {
		return nil, err
	}
	var found []Group
	for _, line := range lines {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[0] == "0" && parts[1] == ""
		if !v2 && !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		for _, m := range mounts {
			root, mount, ok := groupMount(m, controller, v2)
			if !ok {
				continue
			}
			// A container may see only a part of the hierarchy, and its path may or may not
			// be relative to that part.
			inside := strings.TrimPrefix(parts[2], strings.TrimSuffix(root, "/"))
			found = append(found, Group{Mount: mount, Path: path.Join("/", inside), V2: v2})
			break
		}
	}
	return found, nil
}

// groupMount returns the root of the hierarchy and its mount point from a line of mountinfo,
// if it is the hierarchy with the controller:
//
//	32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
//	           3 4                  (optional)    +1            +3
func groupMount(line, controller string, v2 bool) (root, mount string, ok bool) {
	words := strings.Fields(line)
	dash := slices.Index(words, "-")
	if dash < 5 || len(words) < dash+4 {
		return "", "", false
	}
	if v2 {
		ok = words[dash+1] == "cgroup2"
	} else {
		ok = words[dash+1] == "cgroup" && slices.Contains(strings.Split(words[dash+3], ","), controller)
	}
	return words[3], words[4], ok
}

// A Quota is the CPU time that a control group may use in a period, both in microseconds.
type Quota struct {
	Dir           string // of the group
	Quota, Period int
}

// CPUs returns the quota as a number of CPUs.
func (q Quota) CPUs() float64 { return float64(q.Quota) / float64(q.Period) }

// Quotas returns the limits on the CPU time of a process (an id, or self): those of its groups
// and of all groups above them, for both versions.
func (f FS) Quotas(process string) ([]Quota, error) {
	groups, err := f.Groups(process, "cpu")
	if err != nil {
		return nil, err
	}
	var found []Quota
	for _, g := range groups {
		for dir := range g.Dirs() {
			if q, ok := f.quota(dir, g.V2); ok {
				found = append(found, q)
			}
		}
	}
	return found, nil
}

// quota reads the quota of a group. A group without one, or without the file, has none.
func (f FS) quota(dir string, v2 bool) (Quota, bool) {
	var words []string
	if v2 {
		words, _ = f.Fields(dir, "cpu.max") // "max 100000" or "50000 100000"
	} else {
		quota, _ := f.Text(dir, "cpu.cfs_quota_us") // -1 means no limit
		period, _ := f.Text(dir, "cpu.cfs_period_us")
		words = []string{quota, period}
	}
	if len(words) != 2 {
		return Quota{}, false
	}
	used, err := strconv.Atoi(words[0])
	if err != nil || used <= 0 {
		return Quota{}, false
	}
	period, err := strconv.Atoi(words[1])
	if err != nil || period <= 0 {
		return Quota{}, false
	}
	return Quota{Dir: dir, Quota: used, Period: period}, true
}
