package gomem

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// builds are the ways in which a program is built that differ for this package.
var builds = []struct {
	name string
	args []string
	env  []string
}{
	{name: "default"},
	{name: "without DWARF", args: []string{"-ldflags=-w"}},
	{name: "stripped", args: []string{"-ldflags=-s -w"}},
	{name: "PIE", args: []string{"-buildmode=pie"}},
	{name: "stripped PIE", args: []string{"-buildmode=pie", "-ldflags=-s -w"}},
}

// procPath is a file of a process.
func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// build compiles a program of testdata, as a module of its own, and returns its path.
func build(t testing.TB, source string, args, env []string) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "target")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", source))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+source+"\n\ngo 1.22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, args...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %v: %v\n%s", args, err, out)
	}
	return bin
}

// A target is a running program that tells its own figures.
type target struct {
	t   testing.TB
	pid int
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
}

func start(t testing.TB, bin string, env ...string) *target {
	t.Helper()
	cmd := exec.Command(bin)
	// The go line of build's go.mod would turn it on; what is older than Go 1.23 does not know it.
	cmd.Env = append(append(os.Environ(), "GODEBUG=asynctimerchan=0"), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &target{t: t, pid: cmd.Process.Pid, in: in, out: bufio.NewScanner(out), cmd: cmd}
	t.Cleanup(x.end)
	return x
}

// open opens the process until the test ends.
func (x *target) open() *Process {
	x.t.Helper()
	p, err := Open(x.pid)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			x.t.Error(err)
		}
	})
	return p
}

// end lets the process end, and waits for it.
func (x *target) end() {
	_ = x.in.Close()
	_ = x.cmd.Wait()
}

// own has the process carry out a command, and returns its own figures.
func (x *target) own(command ...any) map[string]int64 {
	x.t.Helper()
	if _, err := fmt.Fprintln(x.in, command...); err != nil {
		x.t.Fatal(err)
	}
	if !x.out.Scan() {
		x.t.Fatalf("the target told nothing: %v", x.out.Err())
	}
	m := map[string]int64{}
	if err := json.Unmarshal(x.out.Bytes(), &m); err != nil {
		x.t.Fatal(err)
	}
	return m
}
