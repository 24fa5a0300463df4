package stacks

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// Threads that block in known functions are found there, the longer wait with more time.
func TestNaps(t *testing.T) {
	x := start(t, goProgram(t), "naps")
	waits, taken := takeUntil(t, Options{PIDs: []int{x.pid}, Kind: OffCPU, Kernel: true}, napped)
	short, long := waits.Sum(namedAs("main.napShort")), waits.Sum(namedAs("main.napLong"))
	// Each window has a nap of one kind more than of the other at most; a few are cut at its ends.
	if long*2 < short || short*2 < long {
		t.Errorf("%d short naps and %d long ones, want as many", short, long)
	}
	times := ask(t, taken.Profile, "offcpu")
	if times.Unit() != "nanoseconds" || times.Sum(namedAs("main.napLong")) <= times.Sum(namedAs("main.napShort")) {
		t.Errorf("long naps have %d %s, short ones %d", times.Sum(namedAs("main.napLong")), times.Unit(), times.Sum(namedAs("main.napShort")))
	}
	if got := times.Sum(ofKernel); got != times.Total() {
		t.Errorf("the kernel blocks for %d of %d", got, times.Total())
	}
	sleeping := waits.Select(func(s *profile.Sample) bool {
		return slices.Contains(s.Label["state"], "S") && s.NumLabel["pid"][0] == int64(x.pid)
	})
	if sleeping.Total() != waits.Total() {
		t.Errorf("%d of %d waits have the state S", sleeping.Total(), waits.Total())
	}
}

// If threads block often, some of the waits stand for all.
func TestThin(t *testing.T) {
	defer func(n float64) { maxLeaves = n }(maxLeaves)
	maxLeaves = 200
	x := start(t, goProgram(t), "threads")
	q, _ := takeUntil(t, Options{PIDs: []int{x.pid}, Kind: OffCPU}, func(q *asked) bool {
		// On a busy machine they do not block often before each window.
		return q.Total() >= 2000 && noted(q.notes, "waits was looked at")
	})
	if got := q.Share(namedAs("main.threads", "main.threads.func1")); got < 0.1 {
		t.Errorf("the threads of the pipe have %.3f of the waits", got)
	}
}

// A thread that runs all the time does not block.
func TestBusyThread(t *testing.T) {
	x := start(t, goProgram(t), "work")
	q, _ := take(t, 0, Options{PIDs: []int{x.pid}, Kind: OffCPU})
	if got := q.Sum(namedAs("main.work")); got > 0 {
		t.Errorf("%d waits of a function that only calculates", got)
	}
}

func TestNativeWaits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("tables for exceptions are followed on amd64 only")
	}
	x := start(t, nativeProgram(t, "-g", "-fomit-frame-pointer"))
	q, _ := take(t, 50, Options{PIDs: []int{x.pid}, Kind: OffCPU, Kernel: true})
	for _, name := range []string{"rest", "main"} { // the C library is between them and the kernel
		if got := q.Share(namedAs(name)); got < 0.9 {
			t.Errorf("%s has %.3f of the waits", name, got)
		}
	}
}

func TestTracepoints(t *testing.T) {
	leave, wake, err := tracepoints()
	allowed(t, err)
	if leave.id == 0 || wake.id == 0 || leave.id == wake.id || leave.fields["prev_state"].size != 8 || wake.fields["pid"].size != 4 {
		t.Errorf("sched_switch %+v, sched_wakeup %+v", leave, wake)
	}
	if _, ok := field(make([]byte, 10), fieldPlace{8, 8}); ok {
		t.Error("a field beyond the record is read")
	}
	if os.Geteuid() == 0 {
		root, err := mountTracefs()
		if err != nil {
			t.Skip("tracefs cannot be mounted here: ", err)
		}
		defer root.Close()
		if again, err := readTracepoint(root, "sched_switch", "prev_pid"); err != nil || again.id != leave.id {
			t.Errorf("a mount of our own: %+v, %v", again, err)
		}
	}
}
