package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const selfPID = 50

func stat(pid int, comm string, parent int, ticks uint64) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 900 0 0 0\n", pid, comm, parent, ticks)
}

// quiet is a machine on which nothing disturbs.
func quiet() map[string]string {
	const cpu, ipv4 = "sys/devices/system/cpu/", "proc/sys/net/ipv4/"
	return map[string]string{
		"proc/stat":                                         "cpu  1000 0 0 1000 0 0 0 0 0 0\n",
		"proc/50/stat":                                      stat(50, "redline", 40, 10),
		"proc/40/stat":                                      stat(40, "bash", 1, 10),
		"proc/40/limits":                                    "Limit Soft Limit Hard Limit Units\nMax open files            524288               524288               files\n",
		"proc/self/limits":                                  "Max open files            20000               524288               files\n",
		"proc/loadavg":                                      "0.20 0.10 0.05 1/100 50\n",
		"proc/meminfo":                                      "MemTotal:       1024 kB\nSwapTotal: 100 kB\nSwapFree: 100 kB\n",
		"proc/cpuinfo":                                      "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu sse2\n",
		"proc/sys/kernel/osrelease":                         "6.18.0\n",
		"proc/sys/kernel/numa_balancing":                    "1\n",
		"proc/sys/net/core/somaxconn":                       "4096\n",
		ipv4 + "tcp_congestion_control":                     "cubic\n",
		ipv4 + "tcp_available_congestion_control":           "reno bbr cubic\n",
		ipv4 + "ip_local_port_range":                        "10000\t65535\n",
		ipv4 + "tcp_max_syn_backlog":                        "65535\n",
		ipv4 + "tcp_tw_reuse":                               "2\n",
		"sys/kernel/mm/transparent_hugepage/enabled":        "always [madvise] never\n",
		"sys/devices/system/node/online":                    "0\n",
		cpu + "online":                                      "0-3\n",
		cpu + "cpu0/topology/thread_siblings_list":          "0,2\n",
		cpu + "cpufreq/policy0/scaling_governor":            "performance\n",
		cpu + "cpufreq/policy0/scaling_available_governors": "performance powersave\n",
		cpu + "intel_pstate/no_turbo":                       "1\n",
		cpu + "vulnerabilities/meltdown":                    "Not affected\n",
		"etc/os-release":                                    "ID=debian\nPRETTY_NAME=\"Debian 12\"\n",
	}
}

func build(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// look returns the findings on the quiet machine with some files changed, some of them
// during the sample.
func look(t *testing.T, before, during map[string]string) (string, []Finding) {
	t.Helper()
	files := quiet()
	maps.Copy(files, before)
	root := build(t, files)
	h := &Host{Root: root, ServerCPUs: []int{0}, GeneratorCPUs: []int{3}, self: selfPID, wait: func(context.Context, time.Duration) error {
		put(t, root, "proc/stat", "cpu  1100 0 0 1300 0 0 0 0 0 0\n") // 100 ticks a CPU
		for name, text := range during {
			put(t, root, name, text)
		}
		return nil
	}}
	found, err := h.Disturbances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return root, found
}

func TestQuietMachine(t *testing.T) {
	if _, found := look(t, nil, nil); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestDisturbances(t *testing.T) {
	const cpu, ipv4 = "sys/devices/system/cpu/", "proc/sys/net/ipv4/"
	type files = map[string]string
	for _, c := range []struct {
		before, during files
		name, value    string // of the one finding
		changes        []string
	}{
		{before: files{cpu + "cpufreq/policy0/scaling_governor": "powersave\n"}, name: "CPU frequency governor", value: "powersave", changes: []string{"/" + cpu + "cpufreq/policy0/scaling_governor: powersave -> performance"}},
		{before: files{cpu + "cpufreq/policy0/scaling_governor": "powersave\n", cpu + "cpufreq/policy0/scaling_available_governors": "powersave\n"}, name: "CPU frequency governor"},
		{before: files{cpu + "intel_pstate/no_turbo": "0\n"}, name: "turbo boost", changes: []string{"/" + cpu + "intel_pstate/no_turbo: 0 -> 1"}},
		{before: files{cpu + "cpufreq/boost": "1\n"}, name: "turbo boost", changes: []string{"/" + cpu + "cpufreq/boost: 1 -> 0"}},
		{before: files{cpu + "cpu0/topology/thread_siblings_list": "0,3\n"}, name: "SMT siblings", value: "0 and 3"},
		{before: files{cpu + "vulnerabilities/retbleed": "Mitigation: IBRS\n"}, name: "mitigations", value: "retbleed"},
		{before: files{ipv4 + "tcp_congestion_control": "bbr\n"}, name: "congestion control", changes: []string{"net.ipv4.tcp_congestion_control: bbr -> cubic"}},
		{before: files{ipv4 + "tcp_congestion_control": "bbr\n", ipv4 + "tcp_available_congestion_control": "reno bbr\n"}, name: "congestion control"},
		{before: files{ipv4 + "ip_local_port_range": "32768\t60999\n"}, name: "local ports", value: "28232", changes: []string{"net.ipv4.ip_local_port_range: 32768 60999 -> 10000 65535"}},
		{before: files{"proc/sys/net/core/somaxconn": "128\n"}, name: "accept backlog", changes: []string{"net.core.somaxconn: 128 -> 65535"}},
		{before: files{ipv4 + "tcp_max_syn_backlog": "128\n"}, name: "SYN backlog", changes: []string{"net.ipv4.tcp_max_syn_backlog: 128 -> 65535"}},
		{before: files{ipv4 + "tcp_tw_reuse": "0\n"}, name: "ports in TIME_WAIT", changes: []string{"net.ipv4.tcp_tw_reuse: 0 -> 2"}},
		{before: files{"proc/40/limits": "Max open files            1024                 unlimited            files\n"}, name: "open files", value: "1024, can be raised to unlimited"},
		{before: files{"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, name: "transparent huge pages", changes: []string{"/sys/kernel/mm/transparent_hugepage/enabled: always -> madvise"}},
		{before: files{"sys/devices/system/node/online": "0-1\n"}, name: "NUMA balancing", changes: []string{"kernel.numa_balancing: 1 -> 0"}},
		{before: files{"proc/meminfo": "MemTotal: 1 kB\nSwapTotal: 4096 kB\nSwapFree: 2048 kB\n"}, name: "swap", value: "2 MiB"},
		{before: files{"sys/class/power_supply/BAT0/type": "Battery\n", "sys/class/power_supply/BAT0/status": "Discharging\n"}, name: "battery", value: "BAT0"},
		{before: files{
			"sys/class/thermal/thermal_zone0/temp": "96000\n", "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
			"sys/class/thermal/thermal_zone0/trip_point_0_type": "active\n", "sys/class/thermal/thermal_zone0/trip_point_0_temp": "50000\n",
			"sys/class/thermal/thermal_zone0/trip_point_1_type": "passive\n", "sys/class/thermal/thermal_zone0/trip_point_1_temp": "95000\n",
		}, name: "temperature", value: "x86_pkg_temp 96 °C, throttled from 95 °C"},
		{before: files{"proc/cpuinfo": "flags\t: fpu hypervisor\n", "sys/class/dmi/id/product_name": "m5.large\n"}, name: "virtual machine", value: "m5.large"},
		{before: files{"proc/loadavg": "3.50 1 1 1/1 1\n"}, name: "load average", value: "3.50"},
		{during: files{"proc/40/stat": stat(40, "make all", 1, 50)}, name: "other processes", value: "make all (40) 40 %"},
		{during: files{"proc/60/stat": stat(60, "cc1", 40, 6)}, name: "other processes", value: "cc1 (60) 6.0 %"},
		{during: files{"proc/stat": "cpu  1100 0 0 1260 0 0 0 40 0 0\n"}, name: "steal", value: "10 %"},
		{before: files{"proc/pressure/cpu": "some avg10=0 total=0\n"}, during: files{"proc/pressure/cpu": "some avg10=0 total=99999999999\n"}, name: "CPU pressure", value: "100 %"},
		{before: files{cpu + "cpu1/thermal_throttle/core_throttle_count": "4\n"}, during: files{cpu + "cpu1/thermal_throttle/core_throttle_count": "6\n"}, name: "thermal throttling", value: "2 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, found := look(t, c.before, c.during)
			if len(found) != 1 {
				t.Fatalf("found %+v, want one", found)
			}
			f := found[0]
			if f.Name != c.name || !strings.Contains(f.Value, c.value) || f.Value == "" || f.Why == "" || f.Advice == "" {
				t.Errorf("found %+v, want %q %q", f, c.name, c.value)
			}
			var changes []string
			for _, x := range Changes(found) {
				changes = append(changes, strings.TrimPrefix(x.String(), root))
			}
			if !slices.Equal(changes, c.changes) {
				t.Errorf("it would change %q, want %q", changes, c.changes)
			}
		})
	}
}

func TestOwnLoadIsNone(t *testing.T) {
	if _, found := look(t, nil, map[string]string{"proc/50/stat": stat(50, "redline", 40, 90)}); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestQuota(t *testing.T) {
	const (
		v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
		v2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
	)
	type files = map[string]string
	for _, c := range []struct {
		name  string
		files files
		value string // empty: nothing is found
		mild  bool
	}{
		{name: "v2", value: "0.5 CPUs (/sys/fs/cgroup/a/b)", files: files{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n"}},
		{name: "v2, of the group around", value: "2 CPUs (/sys/fs/cgroup/a)", files: files{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "200000 100000\n"}},
		{name: "v2 in a container", value: "1 CPUs (/sys/fs/cgroup)", files: files{"proc/self/cgroup": "0::/docker/x\n", "proc/self/mountinfo": strings.Replace(v2, " / ", " /docker/x ", 1), "sys/fs/cgroup/cpu.max": "100000 100000\n"}},
		{name: "v2 without", files: files{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/cpu.max": "max 100000\n"}},
		{name: "v1", value: "1.5 CPUs (/sys/fs/cgroup/cpu/a)", files: files{"proc/self/cgroup": "4:memory:/m\n1:cpu,cpuacct:/a\n0::/\n", "proc/self/mountinfo": v1, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n"}},
		{name: "v1 without", files: files{"proc/self/cgroup": "1:cpu:/\n", "proc/self/mountinfo": v1, "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}},
		{name: "v1 of another controller", files: files{"proc/self/cgroup": "1:cpuset:/\n", "proc/self/mountinfo": v1, "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "1000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}},
		{name: "wider than the machine", mild: true, value: "8 CPUs", files: files{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/cpu.max": "800000 100000\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, found := look(t, c.files, nil)
			if c.value == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Name != "cgroup CPU quota" || !strings.Contains(found[0].Value, c.value) || found[0].Disturbs == c.mild {
				t.Errorf("found %+v, want %s", found, c.value)
			}
		})
	}
}

func TestDisturbancesFail(t *testing.T) {
	h := &Host{Root: t.TempDir()}
	if _, err := h.Disturbances(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without /proc: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h = &Host{Root: build(t, quiet()), Sample: time.Hour}
	if _, err := h.Disturbances(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	files := quiet()
	files["proc/cpuinfo"] = "model name\t: Fast CPU\nflags\t: hypervisor\n"
	files["sys/class/dmi/id/sys_vendor"] = "QEMU\n"
	h := Host{Root: build(t, files)}
	m := h.Fingerprint(t.TempDir())
	if m.CPU != "Fast CPU" || m.CPUs != 4 || m.MemoryBytes != 1<<20 || m.OS != "Debian 12" || m.Kernel != "6.18.0" ||
		m.Arch != runtime.GOARCH || m.Go != runtime.Version() || m.Virtual != "QEMU" || m.Governor != "performance" ||
		!maps.Equal(m.Mitigations, map[string]string{"meltdown": "Not affected"}) || m.Congestion != "cubic" ||
		m.FileLimit != 20000 || m.PortRange != [2]int{10000, 65535} || m.Commit != "" {
		t.Errorf("%+v", m)
	}
}

func TestCPUModel(t *testing.T) {
	for in, want := range map[string]string{
		"model name\t: A": "A",
		"CPU implementer\t: 0x41\nCPU part\t: 0xd0c": "implementer 0x41 part 0xd0c",
		"processor : 0\nModel\t\t: Raspberry Pi 5":   "Raspberry Pi 5",
		"": "",
	} {
		if got := cpuModel(strings.Split(in, "\n")); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	if got := commit(dir); got != "" {
		t.Errorf("without a commit: %q", got)
	}
	git("commit", "-q", "--allow-empty", "--no-verify", "-m", "x")
	id := git("rev-parse", "HEAD")
	if got := commit(dir); got != id {
		t.Errorf("clean: %q, want %q", got, id)
	}
	put(t, dir, "new", "")
	if got := commit(dir); got != id+"+dirty" {
		t.Errorf("changed: %q, want %q", got, id+"+dirty")
	}
}
