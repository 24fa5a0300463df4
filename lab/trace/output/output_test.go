package output

import (
	"errors"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/trace"
)

// page is the number of lines of the longest summary.
const page = 66

// full is a report whose tables all have more rows than the summary shows.
func full() *trace.Report {
	p := int64(1500)
	s := trace.Spread{Count: 5000, TotalNS: 9e6, P50NS: &p, P99NS: &p, MaxNS: 2e6}
	spent := []trace.Part{{State: "blocked", Reason: "sync", Call: "sync.(*Mutex).Lock in main.f", TotalNS: 75}, {State: "running", TotalNS: 25}}
	r := &trace.Report{
		WindowNS: 1e9, Procs: 4, Threads: 1, Goroutines: 12345, Go: "1.26", Use: trace.Use{UserNS: 1e9, IdleNS: 3e9},
		Handoffs: trace.Handoffs{Calls: 10, Taken: 2, Times: s},
		GC:       trace.Collector{Cycles: 3, Assisted: s, Assists: []trace.Assist{{Call: "main.alloc"}}, Pauses: []trace.Pause{{Kind: "GC mark termination", Spread: s}}, Sweep: s},
		Dropped:  []trace.Dropped{{Table: "blocking", Count: 7}},
	}
	for _, cause := range []string{"network poller", "timer or runtime", "another goroutine", "created", "preempted", "yielded", "after a system call"} {
		r.Waits = append(r.Waits, trace.Wait{Cause: cause, Spread: s})
	}
	for range 20 {
		r.Groups = append(r.Groups, trace.Group{Kind: "http", Name: "main.slow", Spread: s, Spent: spent, Hot: []trace.Hot{{Call: "main.burn", Samples: 3}}})
		r.Slowest = append(r.Slowest, trace.Request{Name: "main.slow", NS: 100, Spent: spent, Segments: []trace.Segment{
			{AtNS: 0, NS: 25, State: "running"}, {AtNS: 25, NS: 75, State: "blocked"},
		}})
		r.Blocks = append(r.Blocks, trace.Block{Reason: "sync", Where: trace.Where{Call: "main.f"}, Count: 1})
		r.Lives = append(r.Lives, trace.Life{Func: "main.worker", Created: 1})
		r.Leaks = append(r.Leaks, trace.Leak{Func: "main.leak", Count: 3, Created: 4, Reason: "chan receive", Call: "main.wait", LeastNS: 1e6})
	}
	return r
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, screen.Screen{}, full()); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"trace of 1.00 s", "1 thread,", "12,345 goroutines", "running 25.0 %", "Ps taken away in 2", "network poller", "and 14 more",
		"75.0 % blocked (sync) in sync.(*Mutex).Lock in main.f; 25.0 % running, sampled in main.burn", "██████████░░░░░░░░░░",
		"3 of 4 goroutines created by main.leak", "full tables left out: blocking (7)",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > page {
		t.Errorf("%d lines", n)
	}
	for line := range strings.Lines(text) {
		if screen.Width(strings.TrimSuffix(line, "\n")) > screen.Usual {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestPrintLittle(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, screen.Screen{Width: 40}, &trace.Report{Partial: "it broke\x1b[2J", Go: "1.22"}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.HasPrefix(text, "PARTIAL it broke") || strings.Contains(text, "\x1b") || !strings.Contains(text, "no collection") {
		t.Errorf("%q", text)
	}
	if err := Print(broken{}, screen.Screen{}, full()); err == nil {
		t.Error("no error of the writer")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 100000: "100,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
