package present

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// inside returns the runtime figures of a valid run.
func inside() *Runtime {
	share, sched := 0.031, 81.9
	return &Runtime{
		Runtime: results.Runtime{
			AllocsPerRequest: 16.5, BytesPerRequest: 3500, GCCycles: 407, GCPauseP99Us: 78.6, HeapBytes: 3 << 20, Goroutines: 71, GOMAXPROCS: 2,
		},
		Source: "control", Title: "shop 1.2.3", Go: "go1.26.8", Seconds: 10, LiveBytes: 1 << 20, GoroutinesPeak: 80,
		AllocsPerSecond: 33000, BytesPerSecond: 7e6, GCCPURatio: &share, SchedLatencyP99Us: &sched,
	}
}

func TestSummaryOfRuntime(t *testing.T) {
	d, r := closedRun(t)
	d.Runtime = inside()
	d.Notes = []string{"profiles were taken within the window (cpu, heap)", "a \x1b[31mnote"}
	d.Profiles = []Profile{
		{Kind: "cpu", File: "profiles/cpu.pprof", Seconds: 9, Top: []Function{{Name: "syscall.Syscall6", Flat: 0.5, Cum: 0.5}, {Name: "main.(*shop).cart", Flat: 0.25, Cum: 0.75}}},
		{Kind: "heap", File: "profiles/heap.pprof"},
		{Kind: "mutex", Missing: "it is empty"},
	}
	text := summaryOf(t, fill(t, d, r, ""))
	notes, _, _ := strings.Cut(text, "GET ")
	_, from, _ := strings.Cut(text, "\nruntime ")
	lines, _, _ := strings.Cut(from, "generator ")
	golden(t, "runtime.txt", notes+"runtime "+lines)
}

// Figures that a source does not report are not printed as zero.
func TestSummaryOfLittleRuntime(t *testing.T) {
	for _, c := range []struct {
		runtime Runtime
		want    string
	}{
		{Runtime{Runtime: results.Runtime{HeapBytes: 1 << 20, Goroutines: 3}, GoroutinesPeak: 4}, "runtime     heap 1.00 MiB; GC 0 cycles; 3 goroutines, at most 4\n"},
		{Runtime{AllocsPerSecond: 10, BytesPerSecond: 1024, Runtime: results.Runtime{HeapBytes: 1 << 20}}, "runtime     10.0 allocations/s, 1.00 KiB/s; heap 1.00 MiB; GC 0 cycles; 0 goroutines, at most 0\n"},
		{Runtime{Restarted: true}, "runtime     the server restarted in the window: its counts are omitted\n"},
	} {
		d, r := closedRun(t)
		d.Runtime = &c.runtime
		if text := summaryOf(t, fill(t, d, r, "")); !strings.Contains(text, c.want) {
			t.Errorf("%+v: no %q in\n%s", c.runtime, c.want, text)
		}
	}
}

// Figures of subscribers are per event.
func TestSummaryOfRuntimeOfStreams(t *testing.T) {
	d, r := closedRun(t)
	d.Runtime = inside()
	d = fill(t, d, r, "")
	d.Stream = &Stream{}
	if text := summaryOf(t, d); !strings.Contains(text, "16.5 allocations, 3.42 KiB an event (") {
		t.Errorf("no events in\n%s", text)
	}
}

// Between two readings the live view shows the previous one; a column without a reading is
// empty, not 0.
func TestPointsWithRuntime(t *testing.T) {
	d, _ := closedRun(t)
	read := PointOf(&spec.Tick{T: 0.2, Seconds: 0.2, Requests: 400})
	read.Goroutines = 71
	read.Runtime = &results.RuntimeSample{HeapBytes: 3 << 20, LiveBytes: 7, AllocsPerSecond: 1.5, BytesPerSecond: 64, GCCycles: 2, GCPauseP99Us: 78.6, SchedLatencyP99Us: 12}
	bare := PointOf(&spec.Tick{T: 1.2, Seconds: 0.2, Requests: 400})
	var b strings.Builder
	l := NewLive(&b, screen.Screen{})
	l.Begin(d)
	l.Window()
	l.Point(read)
	l.Point(bare)
	if n := strings.Count(b.String(), "goroutines 71  heap 3.00 MiB\n"); n != 2 {
		t.Errorf("progress:\n%s", b.String())
	}
	b.Reset()
	if err := CSV(&b, []Point{read, bare}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasSuffix(lines[1], ",71,3145728,7,1.5,64,2,78.6,12") || !strings.HasSuffix(lines[2], ",0,,,,,,,,") {
		t.Errorf("CSV:\n%s", b.String())
	}
}

// TestServerSharesItsCPUs says of how many CPUs a server used some, and how many of them were the
// generator's.
func TestServerSharesItsCPUs(t *testing.T) {
	d, r := closedRun(t)
	d.Server.CPUs, d.Server.Taken = 1, 1
	if text := summaryOf(t, fill(t, d, r, "")); !strings.Contains(text, "CPU 0.50 of 2 CPUs, 1 of them the generator's, 250 µs a request") {
		t.Error(text)
	}
}
