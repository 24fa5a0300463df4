package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// A control group is removed with all its processes, also those that its processes started.
func TestControl(t *testing.T) {
	groups, err := procfs.Host.Groups("self", "pids")
	if err != nil || len(groups) == 0 || os.Geteuid() != 0 {
		t.Skipf("control groups need root: %v, %v", groups, err)
	}
	g, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(groups[0].Mount, "redline-guard-"+strconv.Itoa(os.Getpid()))
	if _, err := g.RemoveControl(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(errors.Join(err, g.Close()))
	}
	if _, err := g.RemoveControl(dir); !errors.Is(err, os.ErrExist) {
		t.Errorf("a group that exists: %v", err)
	}
	cmd := exec.Command("/bin/sh", "-c", `echo 0 >"$0/cgroup.procs"; sleep 600 & sleep 600 & wait`, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, g.Close()))
	}
	var pids map[int]bool
	eventually(t, "the processes of the group", func() bool {
		pids, err = members(dir)
		return err != nil || len(pids) == 3
	})
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	if err := ignoreExit(<-done); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group: %v, want it gone", err)
	}
	for pid := range pids {
		if alive(t, procfs.Stat{PID: pid}) {
			t.Errorf("process %d is left", pid)
		}
	}
	for _, dir := range []string{"/", "relative", ""} {
		if _, err := g.RemoveControl(dir); err == nil {
			t.Errorf("%q: no error", dir)
		}
	}
}

// Controllers are taken back after the groups that got them are removed.
func TestUndelegate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cgroup.subtree_control")
	if err := os.WriteFile(file, []byte("cpu\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := procfs.PlanDelegation(dir, "memory")
	if err != nil {
		t.Fatal(err)
	}
	g, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	_, err = g.Undelegate(d)
	if err == nil {
		err = d.Make()
	}
	if err == nil {
		_, err = g.RemoveControl(below)
	}
	if err == nil {
		err = os.Mkdir(below, 0o700)
	}
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "-memory" {
		t.Errorf("%q, %v, want the controller taken back", got, err)
	}
}
