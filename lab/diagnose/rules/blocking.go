package rules

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

var (
	fileCalls = called("os.(*File).*", "os.OpenFile", "os.Open", "os.Create", "os.ReadFile", "os.WriteFile", "os.Rename", "os.Remove*", "os.Stat", "os.Lstat", "os.Mkdir*", "os.ReadDir", "os.CreateTemp", "internal/poll.(*FD).Fsync", "internal/poll.(*FD).Pread", "internal/poll.(*FD).Pwrite",
		"syscall.Fsync", "syscall.Fdatasync", "syscall.Open", "syscall.Pwrite", "syscall.Pread", "golang.org/x/sys/unix.Fsync", "golang.org/x/sys/unix.Fdatasync", "golang.org/x/sys/unix.Pwrite*", "golang.org/x/sys/unix.Msync", "modernc.org/libc.Xfsync", "modernc.org/libc.Xfdatasync", "modernc.org/libc.Xpwrite*", "modernc.org/libc.Xfcntl*")
	stores     = called("os.(*File).Sync", "syscall.Fsync", "syscall.Fdatasync", "golang.org/x/sys/unix.Fsync", "golang.org/x/sys/unix.Fdatasync", "golang.org/x/sys/unix.Msync", "modernc.org/libc.Xfsync", "modernc.org/libc.Xfdatasync", "__x64_sys_fsync", "__x64_sys_fdatasync", "__x64_sys_msync", "__arm64_sys_fsync", "__arm64_sys_fdatasync", "__arm64_sys_msync")
	syncNames  = []string{"fsync", "fdatasync", "sync_file_range", "msync", "pwrite64", "pread64", "openat", "open", "rename", "renameat", "unlink", "unlinkat", "fallocate", "ftruncate"}
	blockNames = []string{"flock", "wait4", "waitid", "semop", "msgrcv"}
)

// inCalls returns the share of the requests' time in system calls with these names.
func (v *view) inCalls(names []string) (share float64, most string) {
	if v.load.Kernel == nil || known(v.load.InFlight) <= 0 {
		return 0, ""
	}
	sum, best := 0.0, 0.0
	for _, n := range names {
		t := max(known(v.load.Kernel.Calls[n].Seconds), known(v.load.Kernel.Blocked[n]))
		if sum += t; t > best {
			best, most = t, n
		}
	}
	return bound(ratio(sum, v.load.InFlight), 0, 1), most
}

const (
	leastHeld  = 0.3 // share of the time for which one thread is in a call, from which others wait for it
	mostlyHeld = 0.5 // share of the requests' time that waits for locks then
)

// behind returns the share of the requests' time that waits for a lock while another thread is in a
// call for so many seconds each second. Without goroutines, whose lock it is is unknown.
func (v *view) behind(busy float64) float64 {
	locks, _ := v.inCalls([]string{"futex"})
	if busy < leastHeld || locks < mostlyHeld {
		return 0
	}
	return locks * min(busy, 1)
}

// convoy raises a gain to what it is at least if a thread sleeps in calls while most requests wait for
// the lock that it holds: that takes its time also where other processes take the CPUs, and the
// threads that wait for one look like a server that is limited by CPU.
func (v *view) convoy(g diagnose.Gain, calls []string) diagnose.Gain {
	slept := 0.0
	for _, n := range calls {
		slept += known(v.load.Kernel.Blocked[n])
	}
	if v.load.Wall != nil || v.behind(seconds(v.load, calls)) == 0 {
		return g
	}
	g.Latency = max(g.Latency, avoidable*bound(slept, 0, 1))
	g.Ceiling = max(g.Ceiling, 1/(1-g.Latency)-1)
	return g
}

// offCPU returns which share of the goroutines in system calls waits there: the others use the
// CPU, as the stacks that keep selects do.
func (v *view) offCPU(found *stacks, keep func(*stack) bool) float64 {
	cores := ratio(v.load.OnCPU.Filter(keep).Total, total(v.load.OnCPU)) * known(v.load.Cores)
	return bound(1-ratio(cores, found.Total), 0, 1)
}

// avoidable is the share of blocking that goes away when work is batched, or done elsewhere.
const avoidable = 0.9

// healthyStoring is the CPU share of storing in a server that stores for many requests at once.
const healthyStoring = 0.05

// storing returns the share of the CPU time in which data is put on the disk: by calls that wait for
// the disk, and by others on files in functions that make such calls.
func (v *view) storing() float64 {
	names := map[string]bool{}
	for _, x := range v.load.OnCPU.Sites(stores) {
		if userCode(x.Frame) {
			names[x.Frame.Func] = true
		}
	}
	with := func(f diagnose.Frame) bool { return names[f.Func] }
	return bound(ratio(v.load.OnCPU.Filter(func(s *stack) bool {
		return s.Has(stores) || s.Has(fileCalls) && s.Has(with) && !isLogging(s)
	}).Total, total(v.load.OnCPU)), 0, 1)
}

func blockingFile(v *view) *finding {
	inFiles := func(s *stack) bool { return s.Has(fileCalls) && !isLogging(s) }
	share, found := v.waiting(func(s *stack) bool { return s.State == "syscall" && inFiles(s) })
	share *= v.offCPU(found, inFiles)
	inKernel, most := v.inCalls(syncNames)
	held, _ := v.waiting(heldUp(found))
	if v.load.Wall == nil {
		held = v.behind(inKernel * known(v.load.InFlight))
	}
	if max(share, inKernel) < leastWait && share+held < 2*leastWait {
		return nil
	}
	f := &finding{holds: heldUp(found)}
	all := bound(max(share, inKernel)+held, 0, 1)
	f.Title = fmt.Sprintf("Requests wait for files %s of their time", percent(all))
	f.Gain, f.Confidence = v.queueing(v.beyond(v.storing(), healthyStoring), avoidable*all), v.sureOfWaits(0.85)
	if inKernel > 0 {
		f.Gain = v.convoy(f.Gain, syncNames)
		f.Evidence = append(f.Evidence, fmt.Sprintf("System calls on files take %s of the requests' time, mostly %s.", percent(inKernel), most))
	}
	if share > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("On average %.3g goroutines are in system calls on files.", found.Total))
	}
	if held > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Another %s of the time they wait for a lock that is held meanwhile.", percent(held)))
	}
	f.Advice = []string{
		"Write in batches: one goroutine collects what requests have to store, and calls Sync once for all of them.",
		"Acknowledge before the data is on disk, if losing the last moments is acceptable.",
		"Keep files that are read often in memory, and open.",
	}
	f.Sites = places(found, everything)
	return f
}

// blocked reports whether a goroutine is in C code, or in a system call that the server's own
// code or a library makes, or waits to go on after one.
func blocked(s *stack) bool {
	returned := s.State == "runnable" && s.Has(called("runtime.exitsyscall*"))
	if s.State != "syscall" && !returned || s.Has(fileCalls) {
		return false
	}
	if s.Has(called("runtime.cgocall", "runtime.asmcgocall")) {
		return true
	}
	direct := called("syscall.*", "golang.org/x/sys/unix.*", "os.(*Process).*", "os/exec.*")
	for _, f := range s.Frames {
		switch {
		case direct(f) || f.Kind == diagnose.Runtime || strings.HasPrefix(f.Func, "internal/runtime/"):
		default:
			return userCode(f) && s.Has(direct)
		}
	}
	return false
}

// threadWork matches what the runtime and the kernel do when a system call takes long: another
// thread gets the right to run goroutines.
var threadWork = called("runtime.handoffp", "runtime.retake", "runtime.startm", "runtime.stopm", "runtime.exitsyscall*", "runtime.mPark", "runtime.sysmon", "__schedule", "try_to_wake_up")

// healthyThreads is the CPU share of that in a server whose calls are short.
const healthyThreads = 0.08

func blockingCalls(v *view) *finding {
	share, found := v.waiting(blocked)
	share *= v.offCPU(found, func(s *stack) bool { return s.Has(called("runtime.cgocall", "syscall.*", "golang.org/x/sys/unix.*")) })
	inKernel, most := v.inCalls(blockNames)
	held, _ := v.waiting(heldUp(found))
	if max(share, inKernel) < leastWait {
		return nil
	}
	f := &finding{holds: heldUp(found)}
	all := bound(max(share, inKernel)+held, 0, 1)
	threads := v.cpu(threadWork)
	f.Title = fmt.Sprintf("Requests block a thread each, %s of their time", percent(all))
	f.Gain, f.Confidence = v.queueing(v.beyond(threads, healthyThreads), avoidable*all), v.sureOfWaits(0.8)
	f.Evidence = []string{fmt.Sprintf("On average %.3g goroutines are in C code or in blocking system calls, or wait to go on after one. Handing over between threads takes %s of the CPU time.", found.Total, percent(threads))}
	if n := v.figure("threads"); n > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("The process has %.0f threads, for %d CPUs.", n, max(v.Server.CPUs, 1)))
	}
	if inKernel > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("Blocking system calls take %s of the requests' time, mostly %s.", percent(inKernel), most))
	}
	f.Advice = []string{
		"Do what these calls do in Go, or without waiting: the runtime gives each of them a thread of its own.",
		"Bound how many of them run at once, and call them for batches.",
	}
	f.Sites = places(found, everything)
	return f
}
