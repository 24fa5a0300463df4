package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

const roleVar = "REDLINE_GUARD_TEST_DIR" // if set, the process is the command that is killed

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == Verb:
		os.Exit(Main(os.Stdin))
	case os.Getenv(roleVar) != "":
		if err := command(os.Getenv(roleVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// command does what a bench does, prints the ids of the processes it started and
// waits to be killed: a group whose leader lives, one whose leader has ended,
// and a process in its own group with a child.
func command(dir string) error {
	g, err := Start(os.Args[0])
	if err != nil {
		return err
	}
	if _, err := g.RemoveAll(filepath.Join(dir, "tmp")); err != nil {
		return err
	}
	setting := filepath.Join(dir, "setting")
	if _, err := g.Restore(setting, "bbr"); err != nil {
		return err
	}
	if err := procfs.WriteSetting(setting, "cubic"); err != nil {
		return err
	}
	for _, s := range []struct {
		script string
		group  bool
		ends   bool // the leader, leaving a child
	}{
		{"sleep 600 & echo $! $$; wait", true, false},
		{"sleep 600 >/dev/null & echo $!; read x", true, true},
		{"sleep 600 & echo $! $$; wait", false, false},
	} {
		cmd := exec.Command("/bin/sh", "-c", s.script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: s.group}
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		if s.group {
			_, err = g.KillGroup(cmd.Process.Pid)
		} else {
			_, err = g.KillTree(cmd.Process.Pid)
		}
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return err
		}
		if s.ends {
			if err := errors.Join(in.Close(), ignoreExit(cmd.Wait())); err != nil {
				return err
			}
		}
		fmt.Print(line)
	}
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func TestKilledCommandLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	setting := filepath.Join(dir, "setting")
	write(t, setting, "bbr\n")
	write(t, filepath.Join(dir, "tmp", "deep", "file"), "x")

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := map[int]procfs.Stat{}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		for _, w := range strings.Fields(lines.Text()) {
			pid, err := strconv.Atoi(w)
			if err != nil {
				t.Fatal(err)
			}
			if started[pid], err = procfs.Host.Stat(pid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(started) != 5 {
		t.Errorf("%d processes were started, want 5", len(started))
	}
	if got := read(t, setting); got != "cubic" {
		t.Errorf("the setting is %q before the kill, want cubic", got)
	}
	guard := child(t, cmd.Process.Pid, Verb)
	if s, err := procfs.Host.Stat(guard); err != nil || s.Session != guard {
		t.Errorf("the guard is in session %d, %v; want its own", s.Session, err)
	}
	// The signals of Ctrl-C, a closed terminal, an administrator and others.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		if err := syscall.Kill(guard, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := ignoreExit(cmd.Wait()); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the guard to end", func() bool { return !alive(t, procfs.Stat{PID: guard}) })
	for pid, s := range started {
		if alive(t, s) {
			t.Errorf("process %d (%s) outlived the command", pid, s.Comm)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory: %v, want it gone", err)
	}
	if got := read(t, setting); got != "bbr" {
		t.Errorf("the setting is %q, want bbr", got)
	}
}

func TestCloseUndoesWhatWasNotReleased(t *testing.T) {
	dir := t.TempDir()
	kept, removed := filepath.Join(dir, "kept"), filepath.Join(dir, "removed")
	write(t, filepath.Join(kept, "x"), "x")
	write(t, filepath.Join(removed, "x"), "x")
	g, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	release, err := g.RemoveAll(kept)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.RemoveAll(removed); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second release does nothing
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what was released: %v", err)
	}
	if _, err := os.Stat(removed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was not released: %v, want it gone", err)
	}
	if _, err := g.RemoveAll(kept); !errors.Is(err, ErrClosed) {
		t.Errorf("RemoveAll of a closed guard: %v, want ErrClosed", err)
	}
}

func TestGuardThatDiedIsNoticed(t *testing.T) {
	g, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error", func() bool {
		_, err := g.RemoveAll(t.TempDir())
		return errors.Is(err, syscall.EPIPE)
	})
	if err := g.Close(); err == nil {
		t.Error("Close of a guard that was killed: no error")
	}
}

func TestStartRefusesAnotherProgram(t *testing.T) {
	for _, exe := range []string{"/bin/true", "/bin/echo", filepath.Join(t.TempDir(), "none")} {
		if g, err := Start(exe); err == nil {
			t.Errorf("Start(%s): %v, want an error", exe, g)
		}
	}
}

func TestRefused(t *testing.T) {
	var sent strings.Builder
	g := &Guard{pipe: nopCloser{&sent}}
	cmd := exec.Command("sleep", "600") // in the group of the test
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait())); err != nil {
			t.Error(err)
		}
	}()
	for name, call := range map[string]func() (func() error, error){
		"root":          func() (func() error, error) { return g.RemoveAll("/") },
		"nothing":       func() (func() error, error) { return g.RemoveAll("") },
		"no process":    func() (func() error, error) { return g.KillGroup(1 << 30) },
		"no tree":       func() (func() error, error) { return g.KillTree(1 << 30) },
		"group of ours": func() (func() error, error) { return g.KillGroup(cmd.Process.Pid) },
	} {
		if _, err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if sent.Len() > 0 {
		t.Errorf("the guard received %q", sent.String())
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// child waits for a child of pid that was called with the argument arg.
func child(t *testing.T, pid int, arg string) (found int) {
	t.Helper()
	eventually(t, "the child "+arg, func() bool {
		tree, err := procfs.Host.Tree(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range tree[min(1, len(tree)):] {
			b, err := procfs.Host.Bytes("proc", strconv.Itoa(p), "cmdline")
			if err == nil && strings.HasSuffix(string(b), "\x00"+arg+"\x00") {
				found = p
			}
		}
		return found != 0
	})
	return found
}

func alive(t *testing.T, s procfs.Stat) bool {
	t.Helper()
	now, err := procfs.Host.Stat(s.PID)
	if procfs.Gone(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return !now.Dead() && (s.Start == 0 || s.Start == now.Start)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	value, err := procfs.ReadSetting(path)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
