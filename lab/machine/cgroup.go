package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// A quota is the CPU time that a control group may use in a period, both in microseconds.
type quota struct {
	dir           string
	quota, period int
}

// quotas returns the limits of the process's group and all of its ancestors, for both
// versions of control groups, which may be mounted at the same time.
func quotas(fs procfs.FS) []quota {
	var found []quota
	for _, g := range cpuGroups(fs) {
		for dir := g.path; ; dir = path.Dir(dir) {
			if q, ok := g.read(fs, path.Join(g.mount, dir)); ok {
				found = append(found, q)
			}
			if dir == "/" {
				break
			}
		}
	}
	return found
}

// A group is the location of the process's group in the cpu controller of one version.
type group struct {
	mount string // where the hierarchy is mounted
	path  string // of the process's group below the mount; begins with /
	v2    bool
}

func (g group) read(fs procfs.FS, dir string) (quota, bool) {
	var words []string
	if g.v2 {
		words = strings.Fields(text(fs, dir, "cpu.max")) // "max 100000" or "50000 100000"
	} else {
		words = []string{text(fs, dir, "cpu.cfs_quota_us"), text(fs, dir, "cpu.cfs_period_us")} // -1 means no limit
	}
	if len(words) != 2 {
		return quota{}, false
	}
	used, err := strconv.Atoi(words[0])
	if err != nil || used <= 0 {
		return quota{}, false
	}
	period, err := strconv.Atoi(words[1])
	if err != nil || period <= 0 {
		return quota{}, false
	}
	return quota{dir: dir, quota: used, period: period}, true
}

// cpuGroups finds the process's groups: /proc/self/cgroup has the path within a
// hierarchy, /proc/self/mountinfo where a part of that hierarchy is mounted; see
// cgroups(7) and proc_pid_mountinfo(5).
func cpuGroups(fs procfs.FS) []group {
	lines, err := fs.Lines("proc", "self", "cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.Lines("proc", "self", "mountinfo")
	if err != nil {
		return nil
	}
	var found []group
	for _, line := range lines {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[0] == "0" && parts[1] == ""
		if !v2 && !slices.Contains(strings.Split(parts[1], ","), "cpu") {
			continue
		}
		for _, m := range mounts {
			root, mount, ok := cgroupMount(m, v2)
			if !ok {
				continue
			}
			// A container may see only a part of the hierarchy, and its path may or may not
			// be relative to that part.
			inside := strings.TrimPrefix(parts[2], strings.TrimSuffix(root, "/"))
			found = append(found, group{mount: mount, path: path.Join("/", inside), v2: v2})
			break
		}
	}
	return found
}

// cgroupMount returns the root of the hierarchy and its mount point from a line of
// mountinfo, if it is the hierarchy with the cpu controller:
//
//	32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
//	           3 4                  (optional)    +1            +3
func cgroupMount(line string, v2 bool) (root, mount string, ok bool) {
	words := strings.Fields(line)
	dash := slices.Index(words, "-")
	if dash < 5 || len(words) < dash+4 {
		return "", "", false
	}
	if v2 {
		ok = words[dash+1] == "cgroup2"
	} else {
		ok = words[dash+1] == "cgroup" && slices.Contains(strings.Split(words[dash+3], ","), "cpu")
	}
	return words[3], words[4], ok
}
