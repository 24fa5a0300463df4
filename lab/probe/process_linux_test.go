package probe

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/results"
)

func TestTree(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 600 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Tree(cmd.Process.Pid), []int{cmd.Process.Pid, child}; !slices.Equal(got, want) {
		t.Errorf("Tree = %v, want %v", got, want)
	}
	if got := Tree(os.Getpid()); !slices.Contains(got, child) || got[0] != os.Getpid() {
		t.Errorf("Tree of the test = %v, want the test first, and %d", got, child)
	}
	p, err := os.FindProcess(child)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Kill(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	if got := Tree(cmd.Process.Pid); got != nil {
		t.Errorf("Tree of what has ended = %v", got)
	}
	if _, err := ReadMemory([]int{cmd.Process.Pid}); !errors.Is(err, ErrNoProcess) {
		t.Errorf("ReadMemory of what has ended: %v, want ErrNoProcess", err)
	}
	if _, err := ReadProcess([]int{cmd.Process.Pid, os.Getpid()}); err != nil {
		t.Errorf("ReadProcess with one that has ended: %v", err)
	}
}

// host is a file tree with two processes; 11 has ended, but its directory remains.
func host(t *testing.T) procfs.FS {
	t.Helper()
	root := t.TempDir()
	stat := " (a (b) c) S 1 10 10 0 -1 4194304 500 0 0 0 30 12 0 0 20 0 2 0 149730 3133440 412 0\n"
	for path, text := range map[string]string{
		"proc/10/statm":          "1000 100 10 1 0 1 0\n",
		"proc/10/status":         "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 400 kB\nThreads:\t2\n",
		"proc/10/stat":           "10" + stat,
		"proc/10/fd/0":           "",
		"proc/10/fd/7":           "",
		"proc/10/task/10/status": "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n",
		"proc/10/task/12/status": "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t1\n",
		"proc/20/statm":          "10 3 1 1 0 1 0\n",
		"proc/20/status":         "VmHWM:\t    4 kB\nThreads:\t1\n",
		"proc/20/stat":           "20" + stat,
		"proc/20/fd/0":           "",
		"proc/20/task/20/status": "voluntary_ctxt_switches:\t100\nnonvoluntary_ctxt_switches:\t10\n",
		"proc/11/empty":          "",
		"proc/10/net/tcp":        "  sl  local_address rem_address   st ...\n 0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 777 1\n 1: 0100007F:1F90 0100007F:0001 01 0:0 00:0 0 0 0 778 1\n 2: 0100007F:1F91 00000000:0000 0A 0:0 00:0 0 0 0 779 1\n",
		"proc/10/net/tcp6":       "  sl  local_address\n 0: 00000000000000000000000000000000:1F90 0000:0000 0A 0:0 00:0 0 0 0 790 1\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return procfs.FS(root)
}

func TestReadMemory(t *testing.T) {
	got, err := readMemory(host(t), []int{10, 11, 20})
	if err != nil {
		t.Fatal(err)
	}
	page := uint64(os.Getpagesize())
	want := results.Memory{RSSPeakBytes: 2048<<10 + 3*page, RSSFinalBytes: 103 * page, VSSBytes: 1010 * page}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestReadProcess(t *testing.T) {
	got, err := readProcess(host(t), []int{10, 11, 20})
	if err != nil {
		t.Fatal(err)
	}
	want := results.Process{Processes: 2, Threads: 3, OpenFiles: 3, Voluntary: 145, Involuntary: 13, MinorFaults: 1000}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestReadCounts(t *testing.T) {
	if threads, files, err := readCounts(host(t), []int{10, 11, 20}); err != nil || threads != 3 || files != 3 {
		t.Errorf("%d threads, %d files, %v; want 3 and 3", threads, files, err)
	}
	if _, _, err := readCounts(host(t), []int{11}); !errors.Is(err, ErrNoProcess) {
		t.Errorf("of one that has ended: %v", err)
	}
}

func TestSince(t *testing.T) {
	earlier := results.Process{Processes: 9, Threads: 9, OpenFiles: 9, Voluntary: 100, Involuntary: 20, MinorFaults: 5}
	later := results.Process{Processes: 1, Threads: 2, OpenFiles: 3, Voluntary: 150, Involuntary: 10, MinorFaults: 6}
	want := results.Process{Processes: 1, Threads: 2, OpenFiles: 3, Voluntary: 50, Involuntary: 0, MinorFaults: 1}
	if got := Since(later, earlier); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRealReadings(t *testing.T) {
	self := []int{os.Getpid()}
	m, err := ReadMemory(self)
	if err != nil || m.RSSFinalBytes == 0 || m.RSSPeakBytes < m.RSSFinalBytes || m.VSSBytes < m.RSSFinalBytes {
		t.Errorf("memory %+v, %v", m, err)
	}
	p, err := ReadProcess(self)
	if err != nil || p.Processes != 1 || p.Threads == 0 || p.OpenFiles < 3 || p.MinorFaults == 0 {
		t.Errorf("process %+v, %v", p, err)
	}
	// Between the two only the readings open files, and files of earlier tests may be
	// closed.
	for end := time.Now().Add(time.Minute); ; {
		threads, files, err := ReadCounts(self)
		if err != nil || threads == 0 {
			t.Fatalf("%d threads, %v", threads, err)
		}
		if files >= p.OpenFiles-1 && files <= p.OpenFiles+1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d files; want %d", files, p.OpenFiles)
		}
		if p, err = ReadProcess(self); err != nil {
			t.Fatal(err)
		}
	}
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if ticks, err := ReadTicks(cpus); err != nil || ticks.Total == 0 {
		t.Errorf("ticks %+v, %v", ticks, err)
	}
	if _, err := ReadTicks([]int{maxCPU}); err == nil {
		t.Error("ticks of a CPU that is not there: no error")
	}
}

func TestAllowed(t *testing.T) {
	got, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := procfs.Host.Lines("proc", "self", "status")
	if err != nil {
		t.Fatal(err)
	}
	if want := procfs.Value(lines, "Cpus_allowed_list")[0]; FormatCPUs(got) != want {
		t.Errorf("Allowed() = %s on %d, want %s", FormatCPUs(got), os.Getpid(), want)
	}
}

// All threads move, including those started in the meantime, and move back.
func TestMove(t *testing.T) {
	before, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	undo, err := Move(before[:1])
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan []int)
	go func() {
		runtime.LockOSThread() // on its own thread, which ends with it
		cpus, err := AllowedTo(unix.Gettid())
		if err != nil {
			t.Error(err)
		}
		started <- cpus
	}()
	if got := <-started; !slices.Equal(got, before[:1]) {
		t.Errorf("a thread may run on %v, want %v", got, before[:1])
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	threads, err := procfs.Host.Threads(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range threads {
		if got, err := AllowedTo(tid); !procfs.Gone(err) && !slices.Equal(got, before) {
			t.Errorf("thread %d may run on %v, want %v (%v)", tid, got, before, err)
		}
	}
}
