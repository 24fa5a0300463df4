package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

var here *Sampler

// openHere watches the process itself, and answers the ids of its programs, or the error.
func openHere(string) string {
	s, err := Open(Options{PID: os.Getpid(), Tree: true})
	if err != nil {
		return fmt.Sprint(errors.Is(err, ErrUnavailable), " ", err)
	}
	here = s
	text := ""
	for _, p := range s.source.(*programs).collection.Programs {
		info, err := p.Info()
		check(err)
		id, _ := info.ID()
		text += fmt.Sprintf("%d ", id)
	}
	return text
}

// Nothing of a watch outlives its process, also if it is killed.
func TestKilled(t *testing.T) {
	root(t)
	c := play(t, "open", 0)
	var ids []ebpf.ProgramID
	for _, word := range strings.Fields(c.do("go")) {
		var id ebpf.ProgramID
		if _, err := fmt.Sscan(word, &id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	exists := func(id ebpf.ProgramID) bool {
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			return false
		}
		return p.Close() == nil
	}
	if len(ids) < 10 || !exists(ids[0]) {
		t.Fatalf("programs %v", ids)
	}
	if err := c.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		for end := time.Now().Add(10 * time.Second); exists(id) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if exists(id) {
			t.Errorf("program %d is still loaded", id)
		}
	}
}

// The counters of a process that ended stay readable, and one that never was is an error.
func TestGone(t *testing.T) {
	c := count(t, "calls", true)
	got, _ := c.during("go")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	after := c.now()
	if after.Calls["getppid"].Calls != plainCalls || got.Calls["getppid"].Calls != plainCalls {
		t.Errorf("%d, %d calls", got.Calls["getppid"].Calls, after.Calls["getppid"].Calls)
	}
	if _, err := Open(Options{PID: c.cmd.Process.Pid}); !errors.Is(err, watch.ErrGone) {
		t.Error(err)
	}
	if err := errors.Join(c.s.Close(), c.s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := c.s.Counts(); err == nil {
		t.Error("a closed sampler has counts")
	}
}

// Without the right, the reason says what to do.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process as another user")
	}
	const nobody = 65534
	answer := play(t, "open", nobody).do("go")
	if !strings.HasPrefix(answer, "true ") || !strings.Contains(answer, "run as root, or with the capabilities CAP_BPF and CAP_PERFMON") {
		t.Error(answer)
	}
	var said []watch.Missing
	w, err := watch.New(watch.Options{Every: time.Second, Samplers: []watch.Sampler{Unavailable(errors.New(answer))}, Cost: cputime.OfThread}, func(e watch.Event) error {
		if e.Missing != nil {
			said = append(said, *e.Missing)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.Step(t.Context(), time.Unix(int64(600*i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 || said[0].Reason != answer || len(said[0].Figures) != len(figureNames) {
		t.Errorf("%+v", said)
	}
}

// The reasons for which the kernel forbids eBPF.
func TestForbidden(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"CAP_BPF and CAP_PERFMON": {"proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t0\n"},
		"lockdown":                {"proc/self/status": "CapEff:\t000001ffffffffff\n", "sys/kernel/security/lockdown": "none integrity [confidentiality]\n"},
		"seccomp":                 {"proc/self/status": "CapEff:\t000001ffffffffff\nSeccomp:\t2\n"},
		"security module":         {"proc/self/status": "CapEff:\t000001ffffffffff\nSeccomp:\t0\n"},
	} {
		dir := t.TempDir()
		for name, text := range files {
			path := dir + "/" + name
			if err := errors.Join(os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if got := forbidden(procfs.FS(dir)); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := explain(syscall.ENOSYS); !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ENOSYS) {
		t.Error(err)
	}
}
