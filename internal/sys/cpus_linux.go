package sys

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs is the number of CPUs that the process may use: those of its affinity
// mask, or fewer where a cgroup (version 1 or 2) limits its time, rounded up. It
// is at least 1.
func CPUs() int {
	n := runtime.NumCPU()
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		n = set.Count()
	}
	if q := quota("/proc/self/cgroup", "/proc/self/mountinfo"); q > 0 {
		n = min(n, int(q+0.999))
	}
	return max(n, 1)
}

// quota is the tightest limit of CPU time on the process's cgroups and those
// above them, in CPUs; 0 is none. Both files are described in cgroups(7) and
// proc(5).
func quota(cgroup, mountinfo string) float64 {
	groups := cgroupPaths(cgroup)
	least := 0.0
	for _, m := range cgroupMounts(mountinfo) {
		group, ok := groups[m.version]
		if !ok {
			continue
		}
		// In a container the mount may show a part of the hierarchy only.
		rel, below := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
		if !below {
			rel = "/"
		}
		for dir := path.Join("/", rel); ; dir = path.Dir(dir) {
			if q := limit(m.version, path.Join(m.point, dir)); q > 0 && (least == 0 || q < least) {
				least = q
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// cgroupPaths returns the process's cgroup by version: that of the controller
// cpu for 1.
func cgroupPaths(file string) map[int]string {
	groups := map[int]string{}
	for line := range lines(file) {
		f := strings.SplitN(line, ":", 3)
		if len(f) < 3 {
			continue
		}
		if f[0] == "0" && f[1] == "" {
			groups[2] = f[2]
		}
		for _, controller := range strings.Split(f[1], ",") {
			if controller == "cpu" {
				groups[1] = f[2]
			}
		}
	}
	return groups
}

type cgroupMount struct {
	version     int
	root, point string
}

// cgroupMounts returns where the hierarchies are mounted.
func cgroupMounts(file string) []cgroupMount {
	var mounts []cgroupMount
	for line := range lines(file) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		switch g[0] {
		case "cgroup2":
			mounts = append(mounts, cgroupMount{2, f[3], f[4]})
		case "cgroup":
			for _, option := range strings.Split(g[2], ",") {
				if option == "cpu" {
					mounts = append(mounts, cgroupMount{1, f[3], f[4]})
				}
			}
		}
	}
	return mounts
}

// limit reads the limit of one cgroup, in CPUs; 0 is none.
func limit(version int, dir string) float64 {
	var quota, period string
	if version == 2 {
		f := strings.Fields(content(path.Join(dir, "cpu.max")))
		if len(f) != 2 {
			return 0
		}
		quota, period = f[0], f[1]
	} else {
		quota = content(path.Join(dir, "cpu.cfs_quota_us"))
		period = content(path.Join(dir, "cpu.cfs_period_us"))
	}
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil || q <= 0 {
		return 0 // "max" and -1 are no limit
	}
	p, err := strconv.ParseFloat(period, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return q / p
}

// content is the text of a small file, empty when there is none to be had.
func content(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// lines ranges over the lines of a file, none when it cannot be read.
func lines(file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		f, err := os.Open(file)
		if err != nil {
			return
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if !yield(s.Text()) {
				return
			}
		}
	}
}

// Pin ties the calling thread to one CPU, and returns what undoes it: called on
// another thread it does nothing, and reports false. The caller has locked its
// goroutine to the thread.
func Pin(cpu int) (undo func() bool, err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	thread := unix.Gettid()
	return func() bool {
		if unix.Gettid() != thread {
			return false
		}
		// The mask was valid a moment ago; should it not be any more, the
		// thread stays where it is.
		_ = unix.SchedSetaffinity(0, &before)
		return true
	}, nil
}
