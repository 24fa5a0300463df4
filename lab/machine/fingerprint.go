package machine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
)

// Fingerprint describes this machine, and the checkout that contains dir. Unknown fields
// are left empty.
func Fingerprint(dir string) results.Machine {
	var h Host
	return h.Fingerprint(dir)
}

// Fingerprint describes the machine, and the checkout that contains dir.
func (h *Host) Fingerprint(dir string) results.Machine {
	fs := h.fs()
	cpuinfo, err := fs.Lines("proc", "cpuinfo")
	if err != nil {
		cpuinfo = nil
	}
	m := results.Machine{
		CPU:         cpuModel(cpuinfo),
		CPUs:        cpuCount(fs),
		OS:          distribution(fs),
		Kernel:      text(fs, "proc", "sys", "kernel", "osrelease"),
		Arch:        runtime.GOARCH,
		Go:          runtime.Version(),
		Virtual:     virtual(fs, cpuinfo),
		Governor:    strings.Join(distinct(governors(fs)), ", "),
		Mitigations: mitigations(fs),
		Congestion:  text(fs, "proc", "sys", "net", "ipv4", "tcp_congestion_control"),
		Commit:      commit(dir),
	}
	if lines, err := fs.Lines("proc", "meminfo"); err == nil {
		m.MemoryBytes = procfs.Number(lines, "MemTotal") << 10
	}
	m.FileLimit, _ = fileLimits(fs, "self")
	m.PortRange, _ = portRange(fs)
	return m
}

// property returns the VALUE of a line "NAME<space>: VALUE" of /proc/cpuinfo.
func property(cpuinfo []string, name string) string {
	for _, line := range cpuinfo {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func cpuModel(cpuinfo []string) string {
	for _, name := range []string{"model name", "Model", "Hardware"} {
		if v := property(cpuinfo, name); v != "" {
			return v
		}
	}
	// ARM reports only numbers.
	if v := property(cpuinfo, "CPU implementer"); v != "" {
		return "implementer " + v + " part " + property(cpuinfo, "CPU part")
	}
	return ""
}

// cpuCount returns the number of CPUs that are online, which may be more than this process
// is allowed to use.
func cpuCount(fs procfs.FS) int {
	cpus, err := probe.ParseCPUs(text(fs, "sys", "devices", "system", "cpu", "online"))
	if err != nil {
		return runtime.NumCPU()
	}
	return len(cpus)
}

func distribution(fs procfs.FS) string {
	for _, path := range []string{"etc/os-release", "usr/lib/os-release"} {
		lines, err := fs.Lines(path)
		if err != nil {
			continue
		}
		for _, line := range lines {
			if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				return strings.Trim(v, `"'`)
			}
		}
	}
	return runtime.GOOS
}

// guests are words in the product names that hypervisors give to virtual machines.
// Bare-metal machines of a cloud have the cloud's name too, so that is no evidence.
var guests = []string{
	"QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Bochs", "Parallels",
	"OpenStack", "Firecracker", "Compute Engine", "Apple Virtualization", "bhyve",
}

// virtual guesses the hypervisor that the machine runs on; empty for none. On x86 the CPU
// reports a hypervisor, elsewhere only the firmware may.
func virtual(fs procfs.FS, cpuinfo []string) string {
	dmi := strings.TrimSpace(text(fs, "sys", "class", "dmi", "id", "sys_vendor") + " " + text(fs, "sys", "class", "dmi", "id", "product_name"))
	name := text(fs, "sys", "hypervisor", "type")
	if name == "" && slices.ContainsFunc(guests, func(g string) bool { return strings.Contains(dmi, g) }) {
		name = dmi
	}
	if name == "" && slices.Contains(strings.Fields(property(cpuinfo, "flags")), "hypervisor") {
		if name = dmi; name == "" {
			name = "unnamed hypervisor"
		}
	}
	return name
}

// governors returns the frequency governor of each CPU policy, by directory.
func governors(fs procfs.FS) map[string]string {
	dir := fs.Path("sys", "devices", "system", "cpu", "cpufreq")
	found := map[string]string{}
	names, err := fs.Names("sys", "devices", "system", "cpu", "cpufreq")
	if err != nil {
		return nil // the host of a guest, or the firmware, sets the frequency
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if g, err := procfs.ReadSetting(filepath.Join(path, "scaling_governor")); err == nil {
			found[path] = g
		}
	}
	return found
}

func distinct(m map[string]string) []string {
	var values []string
	for _, v := range m {
		values = append(values, v)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func mitigations(fs procfs.FS) map[string]string {
	names, err := fs.Names("sys", "devices", "system", "cpu", "vulnerabilities")
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, name := range names {
		if t := text(fs, "sys", "devices", "system", "cpu", "vulnerabilities", name); t != "" {
			found[name] = t
		}
	}
	return found
}

// fileLimits returns RLIMIT_NOFILE of a process; an unlimited value is the largest number.
func fileLimits(fs procfs.FS, process string) (soft, hard uint64) {
	lines, err := fs.Lines("proc", process, "limits")
	if err != nil {
		return 0, 0
	}
	words := procfs.Value(lines, "Max open files")
	if len(words) < 2 {
		return 0, 0
	}
	limit := func(w string) uint64 {
		if w == "unlimited" {
			return 1<<64 - 1
		}
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return limit(words[0]), limit(words[1])
}

func portRange(fs procfs.FS) (ports [2]int, ok bool) {
	words, err := fs.Fields("proc", "sys", "net", "ipv4", "ip_local_port_range")
	if err != nil || len(words) != 2 {
		return ports, false
	}
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil {
			return [2]int{}, false
		}
		ports[i] = n
	}
	return ports, true
}

// commit returns the commit of the checkout that contains dir, with "+dirty" if it has
// changes; empty without a checkout or without git.
func commit(dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	git := func(args ...string) (string, bool) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	id, ok := git("rev-parse", "--verify", "HEAD")
	if !ok {
		return ""
	}
	if changes, ok := git("status", "--porcelain"); !ok || changes != "" {
		id += "+dirty"
	}
	return id
}
