package gomem

import (
	"maps"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Every build tells the same as the process says of itself.
func TestFigures(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			x := start(t, build(t, "target", b.args, b.env))
			own := x.own()
			p := x.open()
			compare(t, p, own)
			if info := p.Info(); info.Version != runtime.Version() || info.Path != "target" || info.Settings["GOOS"] != "linux" {
				t.Errorf("info is %+v", info)
			}
			if m := p.Missing(); len(m) > 0 {
				t.Errorf("missing: %v", m)
			}
		})
	}
}

// compare reads a process that waits, and compares the figures with what it has told.
func compare(t *testing.T, p *Process, own map[string]int64) {
	t.Helper()
	threads := tasks(t, p.info.PID)
	f, err := p.Read()
	for tries := 0; err == nil && (f.States != nil && f.States.Syscall != 1 || tasks(t, p.info.PID) != threads) && tries < 5; tries++ {
		time.Sleep(1100 * time.Millisecond) // it is about to read the next order, and is looked at again after a second
		threads = tasks(t, p.info.PID)
		f, err = p.Read()
	}
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, v Value, want, tolerance int64) {
		t.Helper()
		if !v.Known || v.N < want-tolerance || v.N > want+tolerance {
			t.Errorf("%s is %v, the process says %d", name, v, want)
		}
	}
	const some = 512 << 10 // bytes that may be allocated by telling
	for _, v := range []struct {
		name      string
		value     Value
		want      int64
		tolerance int64
	}{
		{"goroutines", f.Goroutines, own["goroutines"], 0},
		{"GOMAXPROCS", f.Procs, own["/sched/gomaxprocs:threads"], 0},
		{"GOGC", f.GCPercent, own["/gc/gogc:percent"], 0},
		{"GOMEMLIMIT", f.MemoryLimit, own["/gc/gomemlimit:bytes"], 0},
		{"cycles", f.Cycles, own["cycles"], 0},
		{"forced", f.Forced, own["/gc/cycles/forced:gc-cycles"], 0},
		{"pauses", f.PauseTotal, own["pause"], 0},
		{"last cycle", f.LastGC, own["last"], 0},
		{"CPU of the collector", f.CPU.GC, own["/cpu/classes/gc/total:cpu-seconds"], 1},
		{"marked heap", f.HeapMarked, own["/gc/heap/live:bytes"], 0},
		{"live heap", f.HeapLive, own["/gc/heap/live:bytes"], 4 * some}, // with what Ps have reserved
		{"goal", f.HeapGoal, own["/gc/heap/goal:bytes"], own["tolerance"]},
		{"stacks", f.Stacks, own["/memory/classes/heap/stacks:bytes"], some},
		{"heap in use", f.HeapInUse, own["/memory/classes/heap/objects:bytes"] + own["/memory/classes/heap/unused:bytes"], some},
		{"idle heap", f.HeapIdle, own["/memory/classes/heap/free:bytes"] + own["/memory/classes/heap/released:bytes"], some},
		{"threads", f.Threads, int64(threads), own["threads tolerance"]},
		{"phase", f.Phase, 0, 0},
		{"timers", f.Timers, 7, 0},
		{"Ps", sum(f.Ps.Idle, f.Ps.Running, f.Ps.Syscall, f.Ps.GCStop), own["/sched/gomaxprocs:threads"], 0},
		{"global queue", f.GlobalQueue, 0, 0},
		{"local queues", f.LocalQueues, 0, 0},
	} {
		same(v.name, v.value, v.want, v.tolerance)
	}
	if n, ok := f.CPUs.Get(); ok != (p.info.Symbols == "symbol table") || ok && n != own["cpus"] || f.Switches.N < 50 || f.Syscalls.N < 1 {
		t.Errorf("%v CPUs, the process says %d; %v switches, %v system calls", f.CPUs, own["cpus"], f.Switches, f.Syscalls)
	}
	if f.HeapTrigger.N < f.HeapMarked.N || f.HeapTrigger.N > f.HeapGoal.N || !f.HeapTrigger.Known {
		t.Errorf("the trigger is %v, marked are %v, the goal is %v", f.HeapTrigger, f.HeapMarked, f.HeapGoal)
	}
	if f.Allocated.N-f.Freed.N < 50<<20 {
		t.Errorf("allocated %v, freed %v, but the program keeps 50 MiB", f.Allocated, f.Freed)
	}
	compareStates(t, f.States, own)
}

func compareStates(t *testing.T, s *States, own map[string]int64) {
	t.Helper()
	if s == nil {
		t.Fatal("no states of goroutines")
	}
	if n := s.Runnable + s.Running + s.Syscall + s.Waiting + s.Preempted + s.Other; int64(n) != own["goroutines"] || s.Walked != s.All || s.Syscall != 1 {
		t.Errorf("states are %+v, the process has %d goroutines, of which one reads", s, own["goroutines"])
	}
	mutex := s.Reasons["sync.Mutex.Lock"]
	if s.Reasons["chan receive"] != 40 || s.Reasons["sleep"] != 7 || mutex != 5 {
		t.Errorf("goroutines wait for %v, want 40 in chan receive, 7 in sleep, 5 in sync.Mutex.Lock", s.Reasons)
	}
}

// tasks counts the threads that the kernel knows.
func tasks(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(procPath(pid, "task"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// An open process shows what changes in it.
func TestChanges(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own()
	p := x.open()
	for _, c := range []struct {
		command   []any
		tolerance int64
	}{
		{[]any{"collect", 3}, 0},
		{[]any{"percent", 250}, 0},
		{[]any{"limit", 100 << 20}, 1 << 20},
		{[]any{"percent", -1}, 1 << 20},
		{[]any{"limit", math.MaxInt64}, 1 << 20}, // the goal is that of the limit
	} {
		own := x.own(c.command...)
		own["tolerance"] = c.tolerance
		if c.command[0] == "percent" && c.command[1] == -1 {
			own["/gc/gogc:percent"] = -1 // runtime/metrics writes it without a sign
		}
		if goal := uint64(own["/gc/heap/goal:bytes"]); goal > math.MaxInt64 {
			own["/gc/heap/goal:bytes"] = math.MaxInt64
		}
		t.Log(c.command)
		p.states = nil // looked at less than a second ago
		compare(t, p, own)
	}
}

// While everything changes, no figure is impossible and those that only grow do.
func TestBusy(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own("busy", 2)
	p := x.open()
	var last Figures
	for range 2000 {
		p.states = nil
		f, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		if v := f.Goroutines; v.Known && (v.N < 1 || v.N > 1000) {
			t.Errorf("%v goroutines", v)
		}
		for _, v := range []struct {
			name      string
			was, is   Value
			low, high int64
		}{
			{"cycles", last.Cycles, f.Cycles, 1, math.MaxInt32},
			{"pauses", last.PauseTotal, f.PauseTotal, 1, 1 << 50},
			{"allocated", last.Allocated, f.Allocated, 50 << 20, 1 << 50},
			{"last cycle", last.LastGC, f.LastGC, 1 << 60, math.MaxInt64},
			{"live heap", Value{}, f.HeapLive, 50 << 20, 1 << 30},
			{"goal", Value{}, f.HeapGoal, 50 << 20, 1 << 30},
			{"GOMAXPROCS", Value{}, f.Procs, 2, 8},
			{"GOGC", Value{}, f.GCPercent, 73, 73},
			{"longest queue", Value{}, f.LongestQueue, 0, 257},
			{"threads", Value{}, f.Threads, 1, 100},
		} {
			if v.is.Known && (v.is.N < max(v.low, v.was.N) || v.is.N > v.high) {
				t.Errorf("%s is %v after %v", v.name, v.is, v.was)
			}
		}
		last = f
	}
	if !last.Goroutines.Known || !last.Procs.Known || last.States == nil {
		t.Errorf("the last figures are %+v", last)
	}
}

// More goroutines than one walk looks at are sampled.
func TestManyGoroutines(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 100,000 goroutines")
	}
	x := start(t, build(t, "target", nil, nil))
	own := x.own("spawn", 100_000)
	f, err := x.open().Read()
	if err != nil {
		t.Fatal(err)
	}
	if f.Goroutines.N != own["goroutines"] {
		t.Errorf("%v goroutines, the process says %d", f.Goroutines, own["goroutines"])
	}
	s := f.States
	if s == nil || s.Walked > maxWalk || s.Walked < maxWalk-block || s.All < 100_000 || s.Reasons["select (no cases)"] < s.Walked*9/10 {
		t.Errorf("states are %+v", s)
	}
}

// A figure that cannot be found is unknown and listed, and the others are not affected.
func TestMissing(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	own := x.own()
	p := x.open()
	p.layout = maps.Clone(p.layout)
	for _, name := range []string{"gc.heapLive", "gc.runway", "p.gFree", "g.startpc"} {
		delete(p.layout, name)
	}
	p.fixed = batch{}
	p.lack()
	p.prepare()
	f, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	if f.HeapLive.Known || f.HeapGoal.Known || f.Goroutines.Known || f.HeapLive.String() != "?" {
		t.Errorf("figures are known without their fields: %+v", f)
	}
	if f.Cycles.N != own["cycles"] || !f.Cycles.Known || f.States == nil {
		t.Errorf("cycles are %v, want %d; states are %v", f.Cycles, own["cycles"], f.States)
	}
	var text strings.Builder
	for _, m := range p.Missing() {
		text.WriteString(m.Name + ": " + m.Reason + "\n")
	}
	if want := "gc.heapLive: runtime.gcControllerState of " + runtime.Version() + " has no field heapLive\n"; !strings.Contains(text.String(), want) || len(p.missing) != 4 {
		t.Errorf("missing is\n%s", text.String())
	}
}
