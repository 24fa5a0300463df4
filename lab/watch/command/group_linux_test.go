package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// The limits of the group of TestLimitedGroup.
const (
	groupMemory = 32 << 20
	groupQuota  = 20_000 // microseconds in each period
	groupPeriod = 100_000
)

// group makes a control group with a controller, or more where they share a hierarchy, and limits
// it. It is removed with the test, which has to end what is in it.
func group(t *testing.T, controller string, files1, files2 map[string]string) procfs.Group {
	t.Helper()
	all, err := procfs.Host.Groups("self", controller)
	if err != nil || len(all) == 0 || os.Geteuid() != 0 {
		t.Skipf("limits need root and the controller %s: %v, %v", controller, all, err)
	}
	g := all[0]
	for _, one := range all {
		if !one.V2 {
			g = one
		}
	}
	g.Path = fmt.Sprintf("/redline-watch-%d", os.Getpid())
	files := files1
	if g.V2 {
		files = files2
		d, err := procfs.PlanDelegation(g.Mount, controller)
		if err = errors.Join(err, d.Make()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Undo(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := os.Mkdir(g.Dir(), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Rmdir(g.Dir()); err != nil && !errors.Is(err, syscall.ENOENT) {
			t.Error(err)
		}
	})
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(g.Dir(), name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// The limits of a group, what is used of them, and what happens at them, in the version of control
// groups that the machine has. `make cgroup2` runs this with version 2.
func TestLimitedGroup(t *testing.T) {
	quota, period, limit := fmt.Sprint(groupQuota), fmt.Sprint(groupPeriod), fmt.Sprint(groupMemory)
	memory := group(t, "memory", map[string]string{"memory.limit_in_bytes": limit}, map[string]string{"memory.max": limit, "memory.high": fmt.Sprint(groupMemory / 2)})
	cpu := group(t, "cpu", map[string]string{"cpu.cfs_period_us": period, "cpu.cfs_quota_us": quota}, map[string]string{"cpu.max": quota + " " + period})
	// A child that the limit kills, and a loop that the quota throttles.
	const script = `echo 0 >"$0/cgroup.procs" && echo 0 >"$1/cgroup.procs" && read go && { dd if=/dev/zero of=/dev/null bs=256M count=1; while :; do :; done; }`
	cmd := exec.Command("sh", "-c", script, memory.Dir(), cpu.Dir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if groups, err := procfs.Host.Groups(fmt.Sprint(cmd.Process.Pid), "cpu"); err == nil && groups[0].Path == cpu.Path {
			break
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the process does not enter its groups")
		}
	}
	positive := []string{"cgroup_cpu", "cgroup_memory_bytes", "cgroup_memory_max", "cgroup_memory_oom_kill", "cgroup_periods", "cgroup_throttled_periods", "cgroup_throttled"}
	if memory.V2 {
		positive = append(positive, "cgroup_memory_oom", "cgroup_memory_high", "cgroup_pressure_cpu_some", "cgroup_pressure_memory_some")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &highest{of: map[string]float64{}, first: func() { _, _ = in.Write([]byte("go\n")) }, wanted: positive, done: cancel}
	if err := Run(ctx, Options{PID: cmd.Process.Pid, Every: 50 * time.Millisecond, NoBPF: true}, Console{Out: out, Err: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	for _, figure := range positive {
		if out.of[figure] <= 0 {
			t.Errorf("%s: never above 0", figure)
		}
	}
	for figure, want := range map[string]float64{"cgroup_memory_limit_bytes": groupMemory, "cgroup_cpu_quota": float64(groupQuota) / groupPeriod} {
		if out.of[figure] != want {
			t.Errorf("%s: %v, want %v", figure, out.of[figure], want)
		}
	}
	if v := out.of["cgroup_memory_bytes"]; v > groupMemory {
		t.Errorf("%v bytes of %v", v, groupMemory)
	}
	if len(out.missing) > 0 {
		t.Errorf("missing of the group: %+v", out.missing)
	}
}

// highest is an output of a watch that keeps the highest value of each figure, and what is missing
// of control groups.
type highest struct {
	of      map[string]float64
	missing []line
	first   func() // called at the first sample
	wanted  []string
	done    func() // called when all that are wanted are above 0
}

func (h *highest) Write(text []byte) (int, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return 0, err
	}
	switch {
	case l.Type == "missing" && strings.Contains(l.Source, "cgroup"):
		h.missing = append(h.missing, l)
	case l.Type == "sample" && h.first != nil:
		h.first()
		h.first = nil
	}
	for figure, v := range l.Values {
		h.of[figure] = max(h.of[figure], v)
	}
	if !slices.ContainsFunc(h.wanted, func(figure string) bool { return h.of[figure] <= 0 }) {
		h.done()
	}
	return len(text), nil
}
