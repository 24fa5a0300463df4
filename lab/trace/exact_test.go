package trace_test

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

const us = 1000

// waits is a trace with one wait of each cause: 1 µs for the first, 2 µs for the second, ...
func waits(w *tracetest.Writer) {
	w.Waiting(5)
	w.Begin(1 * us)
	m := w.Thread(1)
	m.Create(10*us, 7, "main.work", "main.start", "main.main")
	m.Start(11*us, 7)
	m.Stop(20*us, "preempted", "main.loop", "main.work")
	m.Start(22*us, 7)
	m.Stop(30*us, "runtime.Gosched", "main.loop", "main.work")
	m.Start(33*us, 7)
	m.Block(40*us, "network", "internal/poll.(*FD).Read", "net.(*conn).Read", "main.work")
	m.Unblock(50*us, 7)
	m.Start(54*us, 7)
	m.Block(60*us, "sleep", "time.Sleep", "main.work")
	m.Unblock(70*us, 7)
	m.Start(75*us, 7)
	m.Create(80*us, 8, "main.other")
	m.Block(81*us, "sync", "sync.(*Mutex).Lock", "main.work")
	m.Start(86*us, 8)
	m.Unblock(90*us, 7, "sync.(*Mutex).Unlock", "main.other")
	m.Destroy(95 * us)
	m.Start(96*us, 7)
	m.Destroy(100 * us)
}

func TestWaits(t *testing.T) {
	r := read(t, written(t, waits))
	got := map[string][2]int64{}
	for _, w := range r.Waits {
		got[w.Cause] = [2]int64{w.Count, w.TotalNS}
	}
	want := map[string][2]int64{
		"created": {2, 7 * us}, "preempted": {1, 2 * us}, "yielded": {1, 3 * us}, "network poller": {1, 4 * us},
		"timer or runtime": {1, 5 * us}, "another goroutine": {1, 6 * us},
	}
	for cause, c := range want {
		if got[cause] != c {
			t.Errorf("%s: %v, want %v", cause, got[cause], c)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	if r.WindowNS != 99*us || r.Use.UserNS != (9+8+7+6+6+9+4)*us {
		t.Errorf("window %d, user %d", r.WindowNS, r.Use.UserNS)
	}
	find(t, r, trace.Block{Reason: "network", Where: trace.Where{Call: "net.(*conn).Read in main.work"}, Count: 1, TotalNS: 10 * us, MaxNS: 10 * us})
	find(t, r, trace.Block{Reason: "sync", Where: trace.Where{Call: "sync.(*Mutex).Lock in main.work"}, Count: 1, TotalNS: 9 * us, MaxNS: 9 * us})
	i := slices.IndexFunc(r.Lives, func(l trace.Life) bool { return l.Func == "main.work" })
	if i < 0 || r.Lives[i].Created != 1 || r.Lives[i].Creator != "main.start" || r.Lives[i].Ended != 1 || r.Lives[i].Life.MaxNS != 90*us || r.Lives[i].ReadyNS != 21*us {
		t.Errorf("%+v", r.Lives)
	}
	if len(r.Leaks) != 0 {
		t.Errorf("leaks %+v", r.Leaks)
	}
}

func find(t *testing.T, r *trace.Report, want trace.Block) {
	t.Helper()
	for _, b := range r.Blocks {
		b.Frames = nil
		if b.Reason == want.Reason && b.Call == want.Call {
			if b.Count != want.Count || b.TotalNS != want.TotalNS || b.MaxNS != want.MaxNS || b.Idle != want.Idle {
				t.Errorf("%+v, want %+v", b, want)
			}
			return
		}
	}
	t.Errorf("no %+v in %+v", want, r.Blocks)
}

// syscalls is a trace with a quick system call, one whose P was taken away, and one that gave it
// up.
func syscalls(w *tracetest.Writer) {
	w.Begin(1 * us)
	m, thief := w.Thread(1), w.Thread(2)
	m.Create(2*us, 7, "main.work")
	m.Start(3*us, 7)
	m.Syscall(10*us, "syscall.Read", "main.work")
	m.SyscallEnd(12 * us)
	m.Syscall(20*us, "syscall.Fsync", "main.work")
	thief.Steal(40*us, m)
	m.SyscallLost(120 * us)
	thief.Start(123*us, 7)
	thief.Syscall(130*us, "syscall.Wait4", "main.work")
	thief.StopP(131 * us)
	thief.SyscallLost(150 * us)
	m.StartP(151*us, 1)
	m.Start(152*us, 7)
	m.Destroy(160 * us)
}

func TestSyscalls(t *testing.T) {
	r := read(t, written(t, syscalls))
	h := r.Handoffs
	if h.Calls != 3 || h.Taken != 1 || h.Given != 1 || h.Blocked != 2 || h.Times.TotalNS != (2+100+20)*us || h.Lost.TotalNS != 120*us {
		t.Errorf("%+v", h)
	}
	for i, want := range []trace.Call{
		{Where: trace.Where{Call: "syscall.Fsync in main.work"}, Count: 1, TotalNS: 100 * us, Lost: 1},
		{Where: trace.Where{Call: "syscall.Wait4 in main.work"}, Count: 1, TotalNS: 20 * us, Lost: 1},
		{Where: trace.Where{Call: "syscall.Read in main.work"}, Count: 1, TotalNS: 2 * us},
	} {
		if got := r.Syscalls[i]; got.Call != want.Call || got.Count != want.Count || got.TotalNS != want.TotalNS || got.Lost != want.Lost {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if r.Use.SyscallNS != (2+20+1)*us {
		t.Errorf("Ps were in system calls for %d ns", r.Use.SyscallNS)
	}
	if len(r.Waits) != 2 || r.Waits[1].Cause != "after a system call" || r.Waits[1].Count != 2 || r.Waits[1].TotalNS != (3+2)*us {
		t.Errorf("%+v", r.Waits)
	}
}

func TestCollector(t *testing.T) {
	r := read(t, written(t, func(w *tracetest.Writer) {
		w.Begin(1 * us)
		m := w.Thread(1)
		m.Create(2*us, 7, "main.work")
		m.Create(2*us, 8, "runtime.gcBgMarkWorker")
		m.Start(3*us, 7)
		for i := range uint64(3) {
			at := (100 + 100*i) * us
			m.StopWorld(at, "GC sweep termination")
			m.GC(at+2*us, true)
			m.StartWorld(at + 3*us)
			m.Assist(at+10*us, "main.alloc", "main.work")
			m.Assist(at + 15*us)
			m.GC(at+20*us, false)
		}
		m.Stop(400*us, "preempted", "main.work")
		m.Start(401*us, 8)
		m.Block(451*us, "system goroutine wait", "runtime.gcBgMarkWorker")
	}))
	g := r.GC
	if g.Cycles != 3 || g.MarkNS != 3*18*us || g.WorkerNS != 50*us || len(g.Marks) != 3 || g.Marks[0] != [2]int64{101 * us, 119 * us} {
		t.Errorf("%+v", g)
	}
	if len(g.Pauses) != 1 || g.Pauses[0].Kind != "GC sweep termination" || g.Pauses[0].Count != 3 || g.Pauses[0].TotalNS != 9*us || g.Pauses[0].MaxNS != 3*us {
		t.Errorf("%+v", g.Pauses)
	}
	if len(g.Assists) != 1 || g.Assists[0].Func != "main.work" || g.Assists[0].Call != "main.alloc" || g.Assists[0].Count != 3 || g.Assists[0].TotalNS != 15*us {
		t.Errorf("%+v", g.Assists)
	}
	if r.Use.GCNS != 50*us+3*5*us {
		t.Errorf("Ps collected for %d ns", r.Use.GCNS)
	}
}

func TestLeaks(t *testing.T) {
	r := read(t, written(t, func(w *tracetest.Writer) {
		w.Waiting(100)
		w.Begin(1 * us)
		m := w.Thread(1)
		for i := range uint64(5) {
			m.Create((10+i)*us, 7+i, "main.leak")
			m.Start((10+i)*us+1, 7+i)
			m.Block((10+i)*us+2, "chan receive", "main.receive", "main.leak")
		}
		m.Create(20*us, 50, "main.done")
		m.Start(21*us, 50)
		m.Destroy(22 * us)
		m.Create(30*us, 51, "main.late")
	}))
	if len(r.Leaks) != 1 || r.Leaks[0].Func != "main.leak" || r.Leaks[0].Count != 5 || r.Leaks[0].Created != 5 ||
		r.Leaks[0].Reason != "chan receive" || r.Leaks[0].Call != "main.receive" || r.Leaks[0].LeastNS != 16*us-2 {
		t.Errorf("%+v", r.Leaks)
	}
}
