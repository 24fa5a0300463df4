package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// What makeCalls does. These are calls that the runtime of Go does not make by itself.
const (
	plainCalls  = 1000
	writeCalls  = 300 // of 512 bytes
	readCalls   = 200 // of 4096 bytes
	againCalls  = 150
	failedCalls = 70
	watchCalls  = 40 // each an addition, a change and a removal
	waitCalls   = 60 // half of them find an event
)

func makeCalls(string) string {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	check(err)
	zero, err := os.Open("/dev/zero")
	check(err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	check(err)
	block := make([]byte, 4096)
	for range plainCalls {
		unix.Getppid()
	}
	for range writeCalls {
		_, err := unix.Pwrite(int(null.Fd()), block[:512], 0)
		check(err)
	}
	for range readCalls {
		_, err := unix.Preadv(int(zero.Fd()), [][]byte{block}, 0) // not pread, with which the runtime reads its limits
		check(err)
	}
	for range againCalls {
		if _, _, err := unix.Recvfrom(pair[0], block, unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
			panic(err)
		}
	}
	for range failedCalls {
		if err := unix.Fdatasync(-1); !errors.Is(err, unix.EBADF) {
			panic(err)
		}
	}
	poll(pair)
	for _, fd := range pair {
		check(unix.Close(fd))
	}
	check(null.Close())
	check(zero.Close())
	return "done"
}

func poll(pair [2]int) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	check(err)
	event := unix.EpollEvent{Events: unix.EPOLLIN}
	for range watchCalls {
		for _, op := range []int{unix.EPOLL_CTL_ADD, unix.EPOLL_CTL_MOD, unix.EPOLL_CTL_DEL} {
			check(unix.EpollCtl(ep, op, pair[0], &event))
		}
	}
	check(unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, pair[0], &event))
	for i := range waitCalls {
		if i == waitCalls/2 {
			_, err := unix.Write(pair[1], []byte("x"))
			check(err)
		}
		check(pollOnce(ep))
	}
	check(unix.Close(ep))
}

// pollOnce waits on epoll for no time, by the variant that the runtime does not use.
func pollOnce(ep int) error {
	var events [4]unix.EpollEvent
	timeout := unix.Timespec{}
	_, _, no := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	if no != 0 {
		return no
	}
	return nil
}

// Calls, bytes and errors are exact, whether calls are timed or not.
func TestCalls(t *testing.T) {
	c := count(t, "calls", false)
	for _, timed := range []bool{true, false} {
		if !timed {
			if err := c.s.source.observe(false); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := c.during("go")
		for name, want := range map[string]Call{
			"getppid":      {Calls: plainCalls},
			"pwrite64":     {Calls: writeCalls, Bytes: writeCalls * 512, Moved: writeCalls},
			"preadv":       {Calls: readCalls, Bytes: readCalls * 4096, Moved: readCalls},
			"recvfrom":     {Calls: againCalls, Again: againCalls},
			"fdatasync":    {Calls: failedCalls, Errors: failedCalls},
			"epoll_pwait2": {Calls: waitCalls},
		} {
			one := got.Calls[name]
			if timed && (one.Timed != one.Calls || one.Seconds() <= 0) || !timed && one.Timed != 0 {
				t.Errorf("timed %v: %s: %d of %d calls are timed: %v s", timed, name, one.Timed, one.Calls, one.Seconds())
			}
			one.Timed, one.TimedCPU, one.SampledCPU, one.Off, one.Blocked = 0, 0, 0, 0, 0
			if one != want {
				t.Errorf("timed %v: %s: %+v, want %+v", timed, name, one, want)
			}
		}
		if n := got.Failures[Failure{"fdatasync", "EBADF"}]; n != failedCalls {
			t.Errorf("timed %v: %d failures, %v", timed, n, got.Failures)
		}
		// The runtime of Go has an epoll of its own.
		e := got.Epoll
		if e.Mods != watchCalls || e.Adds < watchCalls+1 || e.Dels < watchCalls || e.Empty < waitCalls/2 || e.Events < waitCalls/2 {
			t.Errorf("%+v", e)
		}
		if n := got.Lost.Total(); n > 0 {
			t.Errorf("%d events are lost", n)
		}
	}
}

// enough is how long the threads of a spinner wait for a CPU at least.
const enough = 900 * time.Millisecond

// spin keeps n threads busy on one CPU until they have waited long enough, and answers how long all
// threads of this process have waited for one by the accounts of the kernel, in nanoseconds.
func spin(line string) string {
	n, err := strconv.Atoi(line)
	check(err)
	var allowed, one unix.CPUSet
	check(unix.SchedGetaffinity(0, &allowed))
	for i := range 1024 {
		if allowed.IsSet(i) {
			one.Set(i)
			break
		}
	}
	runtime.GOMAXPROCS(n + 1)
	begin := delays()
	var ready sync.WaitGroup
	var stop atomic.Bool
	ready.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			check(unix.SchedSetaffinity(0, &one))
			for !stop.Load() {
			}
			ready.Done()
			select {} // what the kernel has of a thread is gone with it
		}()
	}
	for n > 0 && delays()-begin < int64(enough) {
		time.Sleep(10 * time.Millisecond)
	}
	stop.Store(true)
	ready.Wait()
	return strconv.FormatInt(delays(), 10)
}

// delays returns the time for which the threads of this process waited for a CPU.
func delays() (sum int64) {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	check(err)
	for _, name := range files {
		var ran, waited int64
		text, err := os.ReadFile(name)
		check(err)
		_, err = fmt.Sscan(string(text), &ran, &waited)
		check(err)
		sum += waited
	}
	return sum
}

// The time in the run queue is what the kernel accounts for the threads.
func TestRunQueue(t *testing.T) {
	c := count(t, "spin", false)
	waited := func(answer string) float64 {
		ns, err := strconv.ParseFloat(answer, 64)
		if err != nil {
			t.Fatal(err)
		}
		return ns / 1e9
	}
	earlier := waited(c.do("0"))
	got, answer := c.during("4")
	want := waited(answer) - earlier
	// Four threads on one CPU: three wait at any time.
	if want < enough.Seconds() || got.Waited.Seconds < 0.95*want-0.05 || got.Waited.Seconds > 1.05*want+0.05 {
		t.Errorf("threads waited %.3f s; by the kernel %.3f s", got.Waited.Seconds, want)
	}
	if got.Involuntary == 0 || got.Waited.Quantile(0.99) < got.Waited.Quantile(0.5) {
		t.Errorf("%d preemptions, median %v", got.Involuntary, got.Waited.Quantile(0.5))
	}
}

// blockFor is how long the child of TestBlocked waits in a call.
const blockFor = 50 * time.Millisecond

// forkMany runs commands, and waits in calls.
func forkMany(line string) string {
	n, err := strconv.Atoi(line)
	check(err)
	for range n {
		check(exec.Command("true").Run())
	}
	fds := []unix.PollFd{}
	_, err = unix.Ppoll(fds, &unix.Timespec{Nsec: int64(blockFor)}, nil)
	check(err)
	return "done"
}

// The time of a blocked thread counts for the call it is in.
func TestBlocked(t *testing.T) {
	c := count(t, "fork", false)
	got, _ := c.during("0")
	for range 3 {
		if got.Lost.Total() == 0 {
			break
		}
		got, _ = c.during("0") // an event may be lost when a program interrupts another one
	}
	if s := got.Calls["ppoll"].Blocked; s < blockFor.Seconds() || got.Calls["ppoll"].Seconds() < s {
		t.Errorf("blocked %v s in ppoll: %+v; lost %+v", s, got.Calls["ppoll"], got.Lost)
	}
}

// Children that are forked while they are watched belong to a tree, and to nothing else.
func TestTree(t *testing.T) {
	const commands = 20
	for _, tree := range []bool{false, true} {
		c := count(t, "fork", tree)
		got, _ := c.during(fmt.Sprint(commands))
		want := uint64(0)
		if tree {
			want = commands
		}
		if n := got.Calls["execve"].Calls; n != want {
			t.Errorf("tree %v: %d programs, want %d", tree, n, want)
		}
		var number uint32
		var one uint8
		left := []string{}
		entries := c.s.source.(*programs).collection.Maps["processes"].Iterate()
		for entries.Next(&number, &one) {
			left = append(left, fmt.Sprint(number))
		}
		if err := entries.Err(); err != nil || len(left) > 1 {
			t.Errorf("tree %v: processes %s are left, %v", tree, strings.Join(left, " "), err)
		}
	}
}

// copies is how often a megabyte is read.
const copies = 15_000

func copyMuch(string) string {
	fd, err := unix.MemfdCreate("copied", unix.MFD_CLOEXEC)
	check(err)
	block := make([]byte, 1<<20)
	_, err = unix.Write(fd, block)
	check(err)
	for range copies {
		_, err := unix.Preadv(fd, [][]byte{block}, 0)
		check(err)
	}
	check(unix.Close(fd))
	return "done"
}

// The clock finds the CPU time of the process, and that it copies.
func TestKernelCPU(t *testing.T) {
	c := count(t, "copy", false)
	const tries = 5
	for i := range tries {
		before, err := procfs.Host.Ticks(nil)
		check(err)
		want, got := c.used("go")
		after, err := procfs.Host.Ticks(nil)
		check(err)
		kernel := 0.0
		for _, s := range got.KernelCPU {
			kernel += s
		}
		stolen := after.Steal(before)
		t.Logf("%.2f s: %v, user %.2f s; %.3f of the time is stolen", want, got.KernelCPU, got.UserCPU, stolen)
		if stolen > 0.05 && i < tries-1 { // in which there is CPU time, but no samples
			continue
		}
		if all := kernel + got.UserCPU; all < 0.7*want || all > 1.3*want+0.1 {
			t.Errorf("%.2f s of CPU, and %.2f s by the samples", want, all)
		}
		if copying := got.KernelCPU[PartCopy]; copying < 0.2*kernel {
			t.Errorf("%.2f of %.2f s in the kernel are copying: %v", copying, kernel, got.KernelCPU)
		}
		return
	}
}

// used returns the CPU time that the child uses for something, in seconds, and the counts.
func (c *counted) used(line string) (seconds float64, got Counts) {
	c.t.Helper()
	var used [2]unix.Timespec
	id := int32(^c.cmd.Process.Pid<<3 | 2) // its CPU clock
	check(unix.ClockGettime(id, &used[0]))
	got, _ = c.during(line)
	check(unix.ClockGettime(id, &used[1]))
	return float64(used[1].Nano()-used[0].Nano()) / 1e9, got
}
