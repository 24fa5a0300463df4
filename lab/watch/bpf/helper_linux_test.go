package bpf

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asChild is the variable that makes the test's program play a part in a process of its own.
const asChild = "REDLINE_BPF_PART"

// part is what a child does when it receives a line: it answers with another one, and exits at the
// end of its input.
var parts = map[string]func(line string) string{
	"calls": makeCalls, "spin": spin, "connect": connect, "tcp": playTCP, "uring": enterRing, "open": openHere, "copy": copyMuch, "fork": forkMany,
	"slow": askSlowly, "mix": makeMix,
	"idle": func(string) string { return "done" },
}

func TestMain(m *testing.M) {
	name := os.Getenv(asChild)
	if name == "" {
		os.Exit(m.Run())
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(parts[name](in.Text()))
	}
}

// check ends a child that cannot play its part.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// child is a process with a part.
type child struct {
	cmd *exec.Cmd
	do  func(line string) string // sends a line, and returns the answer
}

// play starts a child, as another user if user is not 0.
func play(t *testing.T, name string, user uint32) *child {
	t.Helper()
	if user == 0 {
		return playWith(t, name, nil)
	}
	return playWith(t, name, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}})
}

// playWith starts a child with attributes.
func playWith(t *testing.T, name string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	// Not its path: another user may not be able to look it up.
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asChild+"="+name)
	cmd.Stderr, cmd.SysProcAttr, cmd.Dir = os.Stderr, attr, "/"
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
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // some are killed
	})
	return &child{cmd, func(line string) string {
		t.Helper()
		if _, err := in.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(answer, err)
		}
		return strings.TrimSpace(answer)
	}}
}

// root skips a test that needs eBPF where it is forbidden.
func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("eBPF needs root")
	}
	s, err := Open(Options{PID: os.Getpid()})
	if err != nil {
		t.Skip("eBPF cannot be used here: ", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// counted is a process whose events are counted.
type counted struct {
	*child
	t *testing.T
	s *Sampler
}

func count(t *testing.T, name string, tree bool) *counted {
	t.Helper()
	root(t)
	c := play(t, name, 0)
	s, err := Open(Options{PID: c.cmd.Process.Pid, Tree: tree, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &counted{c, t, s}
}

func (c *counted) now() Counts {
	c.t.Helper()
	counts, err := c.s.Counts()
	if err != nil {
		c.t.Fatal(err)
	}
	return counts
}

// during returns the counts while the child does something, and the child's answer.
func (c *counted) during(line string) (Counts, string) {
	c.t.Helper()
	before := c.now()
	answer := c.do(line)
	return c.now().Sub(before), answer
}

// eventually takes counts until they are as wanted, for ten seconds: what the kernel does with a
// packet may be later than the call that caused it.
func (c *counted) eventually(before Counts, done func(Counts) bool) Counts {
	c.t.Helper()
	window := c.now().Sub(before)
	for end := time.Now().Add(10 * time.Second); !done(window) && time.Now().Before(end); window = c.now().Sub(before) {
		time.Sleep(10 * time.Millisecond)
	}
	return window
}
