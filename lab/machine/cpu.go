package machine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/probe"
)

func cpuDir(parts ...string) []string {
	return append([]string{"sys", "devices", "system", "cpu"}, parts...)
}

func governor(fs procfs.FS) []Finding {
	const best = "performance"
	all := governors(fs)
	f := Finding{
		Name: "CPU frequency governor", Value: strings.Join(distinct(all), ", "), Disturbs: true,
		Why:    "the clock follows the load with a delay: the first requests and light loads run more slowly than the rest",
		Advice: "governor performance: cpupower frequency-set -g performance",
	}
	slower := 0
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if all[dir] == best {
			continue
		}
		slower++
		available := text(fs, relative(fs, dir), "scaling_available_governors")
		if slices.Contains(strings.Fields(available), best) {
			f.Changes = append(f.Changes, Change{Path: filepath.Join(dir, "scaling_governor"), From: all[dir], To: best})
		}
	}
	if slower == 0 {
		return nil
	}
	if len(f.Changes) == 0 {
		f.Advice = "the driver has no performance governor: set it in the firmware"
	}
	return []Finding{f}
}

func relative(fs procfs.FS, path string) string {
	return strings.TrimPrefix(path, fs.Path())
}

func turbo(fs procfs.FS) []Finding {
	for _, x := range []struct {
		file    []string
		on, off string
	}{
		{cpuDir("intel_pstate", "no_turbo"), "0", "1"},
		{cpuDir("cpufreq", "boost"), "1", "0"},
	} {
		if text(fs, x.file...) != x.on {
			continue
		}
		return []Finding{{
			Name: "turbo boost", Value: "on", Disturbs: true,
			Why:     "the clock depends on temperature and on the load of other cores, so identical runs differ",
			Advice:  "turn it off to compare; leave it on to find the highest rate",
			Changes: change(fs, x.off, x.file...),
		}}
	}
	return nil
}

// siblings finds hardware threads of one core that are used by both sides.
func (h *Host) siblings(fs procfs.FS) []Finding {
	var shared []string
	for _, cpu := range h.ServerCPUs {
		list := text(fs, cpuDir("cpu"+strconv.Itoa(cpu), "topology", "thread_siblings_list")...)
		threads, err := probe.ParseCPUs(list)
		if err != nil {
			continue // a machine that does not report siblings
		}
		for _, other := range h.GeneratorCPUs {
			if other != cpu && slices.Contains(threads, other) {
				shared = append(shared, fmt.Sprintf("%d and %d", cpu, other))
			}
		}
	}
	if len(shared) == 0 {
		return nil
	}
	return []Finding{{
		Name: "SMT siblings", Value: "CPU " + strings.Join(shared, ", ") + " are one core", Disturbs: true,
		Why:    "server and generator run on two threads of one core: each slows the other down",
		Advice: "choose CPUs of different cores with --server-cpus and --generator-cpus",
	}}
}

// vulnerabilities lists the vulnerabilities that the kernel mitigates at a cost.
func vulnerabilities(fs procfs.FS) []Finding {
	var active []string
	for name, state := range mitigations(fs) {
		if strings.HasPrefix(state, "Mitigation") {
			active = append(active, name)
		}
	}
	if len(active) == 0 {
		return nil
	}
	slices.Sort(active)
	return []Finding{{
		Name: "mitigations", Value: strings.Join(active, ", "),
		Why:    "each system call costs more than on a machine without them: subjects with more calls lose more",
		Advice: "leave them as they are in production, and compare only results of machines with the same mitigations",
	}}
}

// quota finds a limit on CPU time in the process's control groups.
func (h *Host) quota(fs procfs.FS) []Finding {
	var found []Finding
	quotas, err := fs.Quotas("self")
	if err != nil {
		return nil // a kernel without control groups
	}
	for _, q := range quotas {
		cpus := q.CPUs()
		f := Finding{
			Name: "cgroup CPU quota", Value: fmt.Sprintf("%.2g CPUs (%s)", cpus, q.Dir),
			Why:    "when the quota of a period is used up, the whole group stops until the next period: pauses of up to " + strconv.Itoa(q.Period/1000) + " ms in the latencies",
			Advice: "run in a group without a quota; use a CPU set instead",
		}
		f.Disturbs = cpus < float64(max(cpuCount(fs), len(h.ServerCPUs)+len(h.GeneratorCPUs)))
		found = append(found, f)
	}
	return found
}
