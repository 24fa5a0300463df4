package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// A process that burned 300 ms of CPU is seen to have used at least that, in user mode.
func TestCPU(t *testing.T) {
	pid, burn := part(t, "burn")
	o := observe(t, procfs.Host, pid, false)
	burn()
	o.step()
	stat, err := procfs.Host.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	total, user, sys := o.last.Totals["cpu_total"], o.last.Totals["cpu_user"], o.last.Totals["cpu_sys"]
	// The other CPU time of the child is within the ticks of its stat, which are coarse.
	if all := float64(stat.Ticks)/100 + 0.1; total < burned.Seconds() || total > all || user < sys {
		t.Errorf("total %v s, user %v, sys %v; %v s in stat", total, user, sys, all)
	}
	if sum := user + sys; sum < total*0.999 || sum > total*1.001 {
		t.Errorf("user and sys are %v of %v", sum, total)
	}
}

// A growth of 32 MiB is seen in resident and shared memory.
func TestMemory(t *testing.T) {
	pid, grow := part(t, "grow")
	o := observe(t, procfs.Host, pid, false)
	rss, pss := o.last.Values["rss_bytes"], o.last.Values["pss_bytes"]
	grow()
	after := o.step()
	for name, more := range map[string]float64{"rss_bytes": after["rss_bytes"] - rss, "pss_bytes": after["pss_bytes"] - pss} {
		if more < 30<<20 || more > 64<<20 {
			t.Errorf("%s grew by %v", name, more)
		}
	}
	status, err := procfs.Host.Lines("proc", fmt.Sprint(pid), "status")
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(procfs.Number(status, "VmSize") << 10); after["vss_bytes"] < want*0.9 || after["vss_bytes"] > want*1.1 {
		t.Errorf("vss_bytes %v, VmSize %v", after["vss_bytes"], want)
	}
	if n := float64(procfs.Number(status, "Threads")); after["threads"] < 1 || after["threads"] > n+3 {
		t.Errorf("%v threads, %v in status", after["threads"], n)
	}
	if len(o.missing) > 0 && os.Getuid() == 0 {
		for _, m := range o.missing {
			if !strings.Contains(m.Source, "pressure") && !strings.Contains(m.Source, "cgroup") && !strings.Contains(m.Source, "control group") {
				t.Errorf("missing %+v", m)
			}
		}
	}
}

// Descriptors are counted by kind, and as often as /proc has them.
func TestDescriptors(t *testing.T) {
	o := observe(t, procfs.Host, os.Getpid(), false)
	before := o.last.Values
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	file, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := []int{epoll, event, ends[0], ends[1], file}
	for range 7 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fd)
	}
	after := o.step()
	for figure, want := range map[string]float64{
		"descriptors": 12, "descriptors_socket": 7, "descriptors_epoll": 1, "descriptors_eventfd": 1,
		"descriptors_pipe": 2, "descriptors_file": 1, "descriptors_io_uring": 0,
	} {
		if got := after[figure] - before[figure]; got != want {
			t.Errorf("%s: %v more, want %v", figure, got, want)
		}
	}
	for _, fd := range list {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}

// System calls and bytes are those of /proc/PID/io.
func TestTraffic(t *testing.T) {
	o := observe(t, procfs.Host, os.Getpid(), false)
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := f.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o.step()
	if calls, bytes := o.last.Totals["syscalls_write"], o.last.Totals["io_written"]; calls < 100 || bytes < 100_000 || bytes > 200_000 {
		t.Errorf("%v calls, %v bytes", calls, bytes)
	}
}

// The descendants are added up with --tree, also those that begin later.
func TestTree(t *testing.T) {
	o := observe(t, procfs.Host, os.Getpid(), true)
	before := o.last.Values["processes"]
	part(t, "idle")
	part(t, "idle")
	if after := o.step()["processes"]; after != before+2 {
		t.Errorf("%v processes, before %v", after, before)
	}
	if alone := observe(t, procfs.Host, os.Getpid(), false).last.Values["processes"]; alone != 1 {
		t.Errorf("%v processes without the tree", alone)
	}
}

// What another user may not read is missing with the reason, and what everyone may read is
// there.
func TestUnreadable(t *testing.T) {
	pid := 1
	if os.Getuid() == 0 {
		pid, _ = part(t, "idle")
	}
	done := make(chan struct{})
	var list []watch.Missing
	values := map[string]bool{}
	var failed error
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread, which is another user's, ends with this goroutine
		if os.Getuid() == 0 {
			const nobody = 65534
			// Of this thread only, unlike that of package syscall.
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				failed = errno
				return
			}
		}
		target, err := Open(procfs.Host, pid, false)
		if err != nil {
			failed = err
			return
		}
		r := watch.NewReading(target.looked)
		for _, read := range []func(*watch.Reading) error{target.process, target.memory, target.shared, target.traffic, target.descriptors, (&sockets{t: target}).read} {
			failed = errors.Join(failed, read(r))
		}
		list = r.Misses()
		for _, f := range []string{"rss_bytes", "pss_bytes", "descriptors", "syscalls_read", "tcp_listen"} {
			_, values[f] = r.Value(f)
		}
	}()
	<-done
	if failed != nil {
		t.Fatal(failed)
	}
	if !values["rss_bytes"] || values["pss_bytes"] || values["descriptors"] || values["syscalls_read"] || values["tcp_listen"] {
		t.Errorf("%v", values)
	}
	want := fmt.Sprintf("/proc/%d/smaps_rollup: permission denied: run as root or as the process's user", pid)
	if len(list) != 4 || list[0].Source+": "+list[0].Reason != want {
		t.Errorf("%+v, want %s first", list, want)
	}
}

func TestGone(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	target, err := Open(procfs.Host, cmd.Process.Pid, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Whether it was reaped or not.
	for _, state := range []string{"zombie", "reaped"} {
		if state == "reaped" {
			_ = cmd.Wait() // it was killed
		} else if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if err := target.process(watch.NewReading(target.looked)); !errors.Is(err, watch.ErrGone) {
			t.Errorf("%s: %v", state, err)
		}
		if _, err := Open(procfs.Host, cmd.Process.Pid, false); !errors.Is(err, watch.ErrGone) {
			t.Errorf("%s: opened: %v", state, err)
		}
	}
	// The same id, but a process that began at another time.
	fs := files(t, map[string]string{"proc/5/stat": stat})
	if target, err = Open(fs, 5, false); err != nil {
		t.Fatal(err)
	}
	target.start++
	if err := target.process(watch.NewReading(target.looked)); !errors.Is(err, watch.ErrGone) {
		t.Errorf("another process with the id: %v", err)
	}
}

// stat is that of process 5.
const stat = "5 (server) S 1 5 5 0 -1 4194304 500 0 3 0 30 12 0 0 20 0 2 0 149730 3133440 412 0\n"

// Every figure is the field that its source is documented to be.
func TestFields(t *testing.T) {
	status := func(waits, preempted int) string {
		return fmt.Sprintf("Name:\tserver\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", waits, preempted)
	}
	fs := files(t, map[string]string{
		"proc/5/stat": stat, "proc/5/oom_score": "666\n", "proc/5/statm": "1000 200 50 1 0 30 0\n",
		"proc/5/smaps_rollup":  "55d0-7ffc ---p 00000000 00:00 0   [rollup]\nRss:  1768 kB\nPss:   375 kB\nPss_Dirty:  116 kB\n",
		"proc/5/task/5/status": status(10, 3), "proc/5/task/6/status": status(200, 40), "proc/5/task/7/none": "", // one that has ended
		"proc/5/io":          "rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 16\ncancelled_write_bytes: 17\n",
		"proc/5/net/snmp":    "Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 1000 7\n",
		"proc/5/net/netstat": "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 3\n",
	})
	target, err := Open(fs, 5, false)
	if err != nil {
		t.Fatal(err)
	}
	r := watch.NewReading(target.looked)
	for _, read := range []func(*watch.Reading) error{target.process, target.memory, target.shared, target.threads, target.traffic, target.network} {
		if err := read(r); err != nil {
			t.Error(err)
		}
	}
	page := float64(os.Getpagesize())
	for figure, want := range map[string]float64{
		"processes": 1, "faults_minor": 500, "faults_major": 3, "oom_score": 666, "vss_bytes": 1000 * page, "rss_bytes": 200 * page,
		"pss_bytes": 375 << 10, "threads": 2, "switches_voluntary": 210, "switches_involuntary": 43,
		"io_read": 11, "io_written": 12, "syscalls_read": 13, "syscalls_write": 14, "disk_read": 15, "disk_written": 16,
		"net_segments_sent": 1000, "net_retransmits": 7, "net_listen_overflows": 2, "net_listen_drops": 3,
	} {
		if got, ok := r.Value(figure); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", figure, got, ok, want)
		}
	}
	if len(r.Misses()) > 0 {
		t.Errorf("missing %+v", r.Misses())
	}
}
