package kernel

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/watch"
)

const (
	mountV2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	mountV1 = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)

// filesV2 are those of a process in a group of version 2.
var filesV2 = map[string]string{
	"proc/5/stat": stat, "proc/5/cgroup": "0::/slice/app\n", "proc/self/mountinfo": mountV2,
	"sys/fs/cgroup/slice/app/cpu.stat":        "usage_usec 2500000\nuser_usec 2000000\nnr_periods 40\nnr_throttled 7\nthrottled_usec 350000\n",
	"sys/fs/cgroup/slice/app/cpu.max":         "150000 100000\n",
	"sys/fs/cgroup/slice/cpu.max":             "max 100000\n",
	"sys/fs/cgroup/slice/app/memory.current":  "1000000\n",
	"sys/fs/cgroup/slice/app/memory.max":      "max\n",
	"sys/fs/cgroup/slice/memory.max":          "4000000\n",
	"sys/fs/cgroup/slice/app/memory.events":   "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n",
	"sys/fs/cgroup/slice/app/cpu.pressure":    "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
	"sys/fs/cgroup/slice/app/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
	"sys/fs/cgroup/slice/app/io.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
}

// filesV1 are those of the same group in version 1.
var filesV1 = map[string]string{
	"proc/5/stat": stat, "proc/5/cgroup": "9:memory:/app\n1:cpu,cpuacct:/app\n0::/\n", "proc/self/mountinfo": mountV1,
	"sys/fs/cgroup/cpu,cpuacct/app/cpuacct.usage":     "2500000000\n",
	"sys/fs/cgroup/cpu,cpuacct/app/cpu.stat":          "nr_periods 40\nnr_throttled 7\nthrottled_time 350000000\n",
	"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us":  "150000\n",
	"sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us": "100000\n",
	"sys/fs/cgroup/memory/app/memory.usage_in_bytes":  "1000000\n",
	"sys/fs/cgroup/memory/app/memory.limit_in_bytes":  "4000000\n",
	"sys/fs/cgroup/memory/memory.limit_in_bytes":      "9223372036854771712\n",
	"sys/fs/cgroup/memory/app/memory.failcnt":         "2\n",
	"sys/fs/cgroup/memory/app/memory.oom_control":     "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
}

// Both versions of control groups, with limits in the group and above it.
func TestGroups(t *testing.T) {
	both := map[string]float64{
		"cgroup_cpu": 2.5, "cgroup_cpu_quota": 1.5, "cgroup_periods": 40, "cgroup_throttled_periods": 7, "cgroup_throttled": 0.35,
		"cgroup_memory_bytes": 1e6, "cgroup_memory_limit_bytes": 4e6, "cgroup_memory_max": 2, "cgroup_memory_oom_kill": 4,
	}
	only2 := map[string]float64{
		"cgroup_memory_high": 1, "cgroup_memory_oom": 3, "cgroup_pressure_cpu_some": 1.5, "cgroup_pressure_memory_some": 0.25, "cgroup_pressure_io_some": 0,
	}
	maps.Copy(only2, both)
	none := map[string]string{"proc/5/stat": stat, "proc/5/cgroup": "", "proc/self/mountinfo": ""}
	free := maps.Clone(filesV2)
	free["sys/fs/cgroup/slice/app/cpu.max"], free["sys/fs/cgroup/slice/memory.max"] = "max 100000\n", "max\n"
	unbounded := maps.Clone(only2)
	delete(unbounded, "cgroup_cpu_quota")
	delete(unbounded, "cgroup_memory_limit_bytes")
	for _, c := range []struct {
		name    string
		files   map[string]string
		want    map[string]float64
		missing int // beyond the machine's pressure
	}{
		{"version 2", filesV2, only2, 0},
		{"version 2 without limits", free, unbounded, 0},
		{"version 1", filesV1, both, 0},
		{"no control groups", none, nil, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := Open(files(t, c.files), 5, false)
			if err != nil {
				t.Fatal(err)
			}
			g, r := &groups{t: target}, watch.NewReading(time.Now())
			if err := g.read(r); err != nil {
				t.Fatal(err)
			}
			if err := g.pressure(r); err != nil {
				t.Fatal(err)
			}
			for _, f := range watch.Figures() {
				got, ok := r.Value(f.Name)
				if want, wanted := c.want[f.Name]; ok != wanted || got != want {
					t.Errorf("%s: %v %v, want %v %v", f.Name, got, ok, want, wanted)
				}
			}
			n := 0
			for _, m := range r.Misses() {
				if !strings.Contains(m.Source, "/proc/pressure/") {
					n++
				}
			}
			if n != c.missing {
				t.Errorf("missing %+v", r.Misses())
			}
		})
	}
}

func TestPressure(t *testing.T) {
	target, err := Open(files(t, map[string]string{
		"proc/5/stat": stat, "proc/pressure/cpu": "some avg10=0.00 total=2000000\n", "proc/pressure/memory": "some avg10=0.00 total=5\nfull avg10=0.00 total=4000000\n",
	}), 5, false)
	if err != nil {
		t.Fatal(err)
	}
	r := watch.NewReading(time.Now())
	if err := (&groups{t: target}).pressure(r); err != nil {
		t.Fatal(err)
	}
	for figure, want := range map[string]float64{"pressure_cpu_some": 2, "pressure_memory_full": 4} {
		if got, _ := r.Value(figure); got != want {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if list := r.Misses(); len(list) != 2 || list[0].Figures[0] != "pressure_io_some" {
		t.Errorf("missing %+v", list)
	}
}

func TestNetworkCounters(t *testing.T) {
	got := counters([]string{"Tcp: RtoMin OutSegs RetransSegs", "Tcp: 200 1000 7", "Udp: A", "Udp: 1 2", "lonely"})
	if len(got) != 3 || got["Tcp.OutSegs"] != 1000 || got["Tcp.RetransSegs"] != 7 {
		t.Errorf("%v", got)
	}
}
