package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/oom"
)

// needsGroups skips the test where no group for memory can be made.
func needsGroups(t *testing.T) {
	t.Helper()
	groups, err := procfs.Host.Groups("self", "memory")
	if err != nil || len(groups) == 0 || os.Geteuid() != 0 {
		t.Skipf("control groups of memory need root and the controller: %v, %v", groups, err)
	}
}

// remaining returns the groups that a process of the verb has made and not removed.
func remaining(t *testing.T, pid int) []string {
	t.Helper()
	groups, err := procfs.Host.Groups("self", "memory")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, g := range groups {
		list, err := filepath.Glob(filepath.Join(g.Mount, "redline-oom-"+strconv.Itoa(pid)+"-*"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, list...)
	}
	return found
}

// oomOf runs the verb with a server of a kind, in short steps.
func oomOf(t *testing.T, kind string, flags ...string) (code int, r oom.Report, out string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr, file := freeAddr(t), filepath.Join(t.TempDir(), "report.json")
	args := slices.Concat([]string{"oom", "--quiet", "--json", file}, flags, []string{"http://" + addr + "/", "--", exe, memoryVerb, addr, kind})
	code, out, said := outputOf(t, t.Context(), args...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("exit code %d, %s, %s", code, out, said)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if left := remaining(t, os.Getpid()); len(left) > 0 {
		t.Errorf("groups are left: %s", left)
	}
	for _, run := range r.Runs {
		for _, p := range run.Members {
			wantDead(t, p.PID)
		}
	}
	return code, r, out + said
}

// wantDead wants a process to have ended, though nobody may have waited for it.
func wantDead(t *testing.T, pid int) {
	t.Helper()
	if s, err := procfs.Host.Stat(pid); !procfs.Gone(err) && !s.Dead() {
		t.Errorf("process %d is left: %+v, %v", pid, s, err)
	}
}

// signs returns the kinds of signs in their order.
func signs(r *oom.Run) (kinds []string) {
	for _, s := range r.Signs {
		kinds = append(kinds, s.Kind)
	}
	return kinds
}

func TestOOM(t *testing.T) {
	needsGroups(t)
	for _, c := range []struct {
		name, kind string
		flags      []string
		outcome    string
		root       bool // the kernel killed the process that was started
	}{
		{"leaks", leaking, []string{"--limit", "96MiB", "--steps", "4", "--first", "4", "--most", "16", "--step", "1s", "--rate", "100"}, oom.Died, true},
		{"child", parent, []string{"--limit", "128MiB", "--steps", "9", "--first", "4", "--most", "4", "--step", "1s", "--rate", "10", "--errors", "1"}, oom.Died, false},
		{"holds", holding, []string{"--headroom", "20", "--steps", "2", "--first", "2", "--most", "4", "--step", "500ms", "--grow-body", "1KiB"}, oom.Held, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "holds" {
				once(t)
			}
			code, r, out := oomOf(t, c.kind, c.flags...)
			if len(r.Runs) != 1 || r.Runs[0].Outcome != c.outcome {
				t.Fatalf("exit code %d, %s", code, out)
			}
			t.Log(out)
			run := r.Runs[0]
			if c.outcome == oom.Held {
				if code != 0 && code != 4 || len(run.Kills) > 0 || len(run.Steps) != 2 || run.Limit < 10*run.Start { // 4: the machine is not quiet
					t.Errorf("exit code %d, %s", code, out)
				}
				return
			}
			if code != 3 || len(run.Kills) == 0 || run.Kills[0].Root != c.root || run.Last.Group == nil || run.Peak == nil || !slices.Contains(signs(run), oom.SignKill) {
				t.Errorf("exit code %d, %s", code, out)
			}
		})
	}
}

// With GOMEMLIMIT, collection takes most of the CPU time before the kernel kills. How much a busy machine
// leaves for it is uncertain: that its sign comes before that of the kill is for TestJudge of the package.
func TestOOMGoMemLimit(t *testing.T) {
	needsGroups(t)
	once(t) // the memory of the race detector is not on the heap: it reaches the group's limit before the heap reaches GOMEMLIMIT
	code, r, out := oomOf(t, filling, "--limit", "160MiB", "--gomemlimit", "40%", "--steps", "8", "--first", "8", "--most", "8", "--step", "1s", "--rate", "2000", "--gc", "0.3")
	t.Log(out)
	if code != 3 || len(r.Runs) != 1 {
		t.Fatalf("exit code %d, %s", code, out)
	}
	kinds := signs(r.Runs[0])
	gc, kill := slices.Index(kinds, oom.SignGC), slices.Index(kinds, oom.SignKill)
	if kill < 0 || gc > kill || r.Runs[0].Last.HeapLive == nil || r.Runs[0].GoLimit != 64<<20 {
		t.Errorf("%s", out)
	}
}

// Without a group, redline ends the server before the machine is short of memory.
func TestOOMWithoutGroup(t *testing.T) {
	once(t)
	code, r, out := oomOf(t, leaking, "--no-group", "--gomemlimit", "32MiB", "--steps", "2", "--first", "4", "--most", "4", "--step", "5s", "--rate", "100")
	if code != 3 || len(r.Runs) != 1 || r.Runs[0].Outcome != oom.Stopped {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// A second run with an adjustment says what that changed.
func TestOOMAgain(t *testing.T) {
	once(t)
	needsGroups(t)
	code, r, out := oomOf(t, leaking, "--limit", "96MiB", "--steps", "4", "--first", "4", "--most", "4", "--step", "1s", "--rate", "200", "--oom-score-adj", "500", "--again")
	if code != 3 || len(r.Runs) != 2 || !strings.Contains(r.Verdict, "did not change whom the kernel chose") {
		t.Fatalf("exit code %d, %s", code, out)
	}
	before, after := r.Runs[0].Kills, r.Runs[1].Kills
	if len(before) == 0 || len(after) == 0 || before[0].Adj == nil || after[0].Adj == nil || *before[0].Adj != 0 || *after[0].Adj != 500 || *after[0].Score <= *before[0].Score {
		t.Errorf("%+v, %+v", before, after)
	}
}

// When redline is killed, the group and its processes are gone too.
func TestOOMKilled(t *testing.T) {
	once(t)
	needsGroups(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	cmd := exec.Command(exe, "oom", "--quiet", "--limit", "96MiB", "--step", "1m", "http://"+addr+"/", "--", exe, memoryVerb, addr, couple)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if dirs := remaining(t, cmd.Process.Pid); len(dirs) == 1 {
			text, _ := os.ReadFile(filepath.Join(dirs[0], "cgroup.procs")) // it may not be complete yet
			if pids = strings.Fields(string(text)); len(pids) == 2 {
				break
			}
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if len(pids) != 2 {
		t.Fatalf("the group had the processes %v", pids)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && len(remaining(t, cmd.Process.Pid)) > 0; {
		time.Sleep(10 * time.Millisecond)
	}
	if dirs := remaining(t, cmd.Process.Pid); len(dirs) > 0 {
		t.Errorf("groups are left: %s", dirs)
	}
	for _, word := range pids {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		wantDead(t, pid)
	}
}

// A user without rights is told what to do.
func TestOOMUnprivileged(t *testing.T) {
	once(t)
	if os.Geteuid() != 0 {
		t.Skip("only root becomes another user")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "redline"), program, 0o755)); err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	cmd := exec.Command(filepath.Join(dir, "redline"), "oom", "http://"+addr+"/", "--", "sleep", "60")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), "run it as root") || !strings.Contains(string(said), "--no-group") {
		t.Errorf("%v, %s", err, said)
	}
}

func TestOOMRefused(t *testing.T) {
	url := "http://" + freeAddr(t) + "/"
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"--", "sleep", "60"}, 2, "name the URL"},
		{[]string{url}, 2, "name the command"},
		{[]string{url, url, "--", "sleep", "60"}, 2, "name one URL"},
		{[]string{"--limit", "lots", url, "--", "sleep", "60"}, 2, "--limit lots"},
		{[]string{"--limit", "1KiB", url, "--", "sleep", "60"}, 2, "--limit 1KiB"},
		{[]string{"--gomemlimit", "110%", url, "--", "sleep", "60"}, 2, "--gomemlimit 110%"},
		{[]string{"--no-group", url, "--", "sleep", "60"}, 2, "--gomemlimit"},
		{[]string{"--no-group", "--gomemlimit", "0.5", url, "--", "sleep", "60"}, 2, "with a size"},
		{[]string{"--no-group", "--gomemlimit", "1MiB", "--limit", "1MiB", url, "--", "sleep", "60"}, 2, "leave out one"},
		{[]string{"--no-group", "--gomemlimit", "900TiB", url, "--", "sleep", "60"}, 1, "free memory"},
		{[]string{"--steps", "0", url, "--", "sleep", "60"}, 2, "--steps 0"},
		{[]string{"--first", "9", "--most", "4", url, "--", "sleep", "60"}, 2, "--first 9"},
		{[]string{"--step", "1ms", url, "--", "sleep", "60"}, 2, "at least 500ms"},
		{[]string{"--headroom", "1", url, "--", "sleep", "60"}, 2, "--headroom"},
		{[]string{"--again", url, "--", "sleep", "60"}, 2, "write both"},
		{[]string{"--oom-score-adj", "2000", url, "--", "sleep", "60"}, 2, "-1000 to 1000"},
		{[]string{"--grow-body", "1TiB", "--steps", "60", url, "--", "sleep", "60"}, 2, "write less"},
		{[]string{"--latency", "1", url, "--", "sleep", "60"}, 2, "above 1"},
		{[]string{"--no-group", "--gomemlimit", "64MiB", url, "--", "sh", "-c", "echo no license; exit 7"}, 1, "no license"},
		{[]string{"--no-group", "--gomemlimit", "64MiB", url, "--", "no-such-program"}, 1, "not found"},
	} {
		code, out, said := outputOf(t, t.Context(), append([]string{"oom"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.said) || out != "" {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", c.args, code, out, said, c.code, c.said)
		}
	}
	needsGroups(t)
	for _, c := range []struct {
		args []string
		said string
	}{
		{[]string{"--limit", "900TiB", url, "--", "sleep", "60"}, "free memory"},
		{[]string{url, "--", "sh", "-c", "echo no license; exit 7"}, "no license"},
	} {
		code, out, said := outputOf(t, t.Context(), append([]string{"oom"}, c.args...)...)
		if code != 1 || !strings.Contains(said, c.said) || out != "" {
			t.Errorf("%q: exit code %d, %q, %q", c.args, code, out, said)
		}
	}
	if left := remaining(t, os.Getpid()); len(left) > 0 {
		t.Errorf("groups are left: %s", left)
	}
}
