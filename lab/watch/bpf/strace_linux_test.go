package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// What makeMix does: each of mixThreads threads makes these calls, as many as it says. The runtime
// of Go makes some of them too, but far less than one for a hundred.
const mixThreads = 4

var mixed = map[string]int{
	"getppid": 500, "read": 450, "write": 400, "pwrite64": 350, "preadv": 300, "recvfrom": 275, "fdatasync": 250,
	"openat": 400, "close": 400, "fstat": 325, "lseek": 425, "epoll_ctl": 475, "epoll_pwait2": 225,
}

// makeMix makes the calls. How often each is made depends on nothing but mixed.
func makeMix(string) string {
	var threads sync.WaitGroup
	for range mixThreads {
		threads.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			mixOnce()
		})
	}
	threads.Wait()
	return "done"
}

func mixOnce() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(err)
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	check(err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check(err)
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	check(err)
	check(unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, pair[0], &unix.EpollEvent{Events: unix.EPOLLIN}))
	block := make([]byte, 512)
	var stat unix.Stat_t
	result := func(_ int, err error) error { return err }
	do := map[string]func() error{
		"getppid":  func() error { unix.Getppid(); return nil },
		"read":     func() error { return result(unix.Read(zero, block)) },
		"write":    func() error { return result(unix.Write(null, block)) },
		"pwrite64": func() error { return result(unix.Pwrite(null, block, 0)) },
		"preadv":   func() error { return result(unix.Preadv(zero, [][]byte{block}, 0)) },
		"fstat":    func() error { return unix.Fstat(null, &stat) },
		"lseek":    func() error { _, err := unix.Seek(zero, 0, 0); return err },
		"epoll_ctl": func() error {
			return unix.EpollCtl(ep, unix.EPOLL_CTL_MOD, pair[0], &unix.EpollEvent{Events: unix.EPOLLIN})
		},
		"recvfrom": func() error {
			_, _, err := unix.Recvfrom(pair[0], block, unix.MSG_DONTWAIT)
			return unless(err, unix.EAGAIN)
		},
		"fdatasync": func() error { return unless(unix.Fdatasync(-1), unix.EBADF) },
		"openat": func() error { // and close
			fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return errors.Join(err, unix.Close(fd))
		},
		"epoll_pwait2": func() error { return pollOnce(ep) },
	}
	for name, call := range do {
		for range mixed[name] {
			check(call())
		}
	}
	for _, fd := range []int{null, zero, pair[0], pair[1], ep} {
		check(unix.Close(fd))
	}
}

// unless returns an error that is not the expected one.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return fmt.Errorf("%w instead of %w", err, expected)
}

// tally is how many calls returned, and how many of them failed.
type tally struct{ calls, failed uint64 }

// traced runs the part once more, under strace -c, and returns what strace counted.
func traced(t *testing.T) map[string]tally {
	t.Helper()
	program, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is needed: apt-get install strace")
	}
	c := play(t, "mix", 0)
	c.do("go") // all threads exist
	pid, file := c.cmd.Process.Pid, filepath.Join(t.TempDir(), "counts")
	var said bytes.Buffer
	cmd := exec.Command(program, "-c", "-f", "-S", "calls", "-o", file, "-p", strconv.Itoa(pid))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // it ends by a signal
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	for begun := time.Now(); !attached(t, pid); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("strace ended: %s", said.String())
		default:
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("strace does not attach: %s", said.String())
		}
	}
	c.do("go")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]tally{}
	for line := range strings.Lines(string(text)) {
		// % time     seconds  usecs/call     calls    errors syscall
		words := strings.Fields(line)
		if len(words) < 5 {
			continue
		}
		calls, err := strconv.ParseUint(words[3], 10, 64)
		if err != nil {
			continue
		}
		one := tally{calls: calls}
		if len(words) == 6 {
			if one.failed, err = strconv.ParseUint(words[4], 10, 64); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		counts[words[len(words)-1]] = one
	}
	return counts
}

// attached reports whether a tracer has all threads of a process.
func attached(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := procfs.Host.Threads(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		lines, err := procfs.Host.Lines("proc", strconv.Itoa(pid), "task", strconv.Itoa(thread), "status")
		if err == nil && procfs.Number(lines, "TracerPid") == 0 {
			return false
		}
	}
	return true
}

// The watch counts what strace counts of the same program, whether it times the calls or not.
func TestStrace(t *testing.T) {
	root(t)
	want := traced(t)
	for _, exact := range []bool{false, true} {
		c := &counted{child: play(t, "mix", 0), t: t}
		var err error
		if c.s, err = Open(Options{PID: c.cmd.Process.Pid, Exact: exact}); err != nil {
			t.Fatal(err)
		}
		c.do("go") // all threads exist
		got, _ := c.during("go")
		for name, n := range mixed {
			strace, ours := want[name], tally{got.Calls[name].Calls, got.Calls[name].Errors + got.Calls[name].Again}
			if strace.calls < uint64(n*mixThreads) {
				t.Errorf("strace counted %d calls of %s, of %d", strace.calls, name, n*mixThreads)
			}
			if !alike(ours.calls, strace.calls) || !alike(ours.failed, strace.failed) {
				t.Errorf("exact %v: %s: %+v, by strace %+v", exact, name, ours, strace)
			}
		}
		if n := got.Lost.Total(); n > 0 {
			t.Errorf("exact %v: %d events are lost", exact, n)
		}
		if err := c.s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// alike reports whether two counts differ by 1 % at most.
func alike(a, b uint64) bool {
	return math.Abs(float64(a)-float64(b)) <= 0.01*float64(max(a, b))
}
