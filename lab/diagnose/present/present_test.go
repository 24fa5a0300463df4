package present

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/stats"
)

// hostile is text of a server that means harm.
const hostile = "<script>alert(1)</script>\x1b[31m|`*_"

func sample() (*diagnose.Report, *diagnose.Evidence) {
	stacks := &diagnose.Stacks{Total: 2, List: []diagnose.Stack{
		{Weight: 2, State: "waiting", Wait: "sync.Mutex.Lock", Frames: []diagnose.Frame{{Func: "main.(*prices).get" + hostile, Kind: diagnose.User}}},
	}}
	e := diagnose.Evidence{
		Server: diagnose.Server{Command: "shop", Language: "go", Version: "go1.26.8", CPUs: 1},
		Sweep:  []diagnose.Point{{Connections: 1, Rate: 330, Valid: true}, {Connections: 2, Rate: 340, Valid: true}, {Connections: 4, Rate: 350, Why: "late"}},
		Law:    &stats.USL{Lambda: 330, Sigma: 0.98, R2: 0.9},
		Loads: []diagnose.Load{{
			Name: diagnose.Knee, Rate: 340, Cores: 0.1, CPU: 3e-4, Generator: diagnose.Generator{Valid: true}, OnCPU: stacks, Wall: stacks,
			Kernel: &diagnose.Kernel{Calls: map[string]diagnose.Syscall{"write": {Rate: 340}}, Peers: []diagnose.Peer{{Addr: "127.0.0.1:1", Waits: 340}}},
		}},
		Missing: []string{"the runtime's memory: " + hostile},
	}
	r := &diagnose.Report{URL: "http://127.0.0.1:8080/" + hostile, Started: time.Unix(1e9, 0), Ended: time.Unix(1e9+25, 0), Evidence: e}
	r.Causes = []diagnose.Cause{{
		ID: "lock-contention", Title: "Requests wait for a lock 96 % of their time", Gain: diagnose.Gain{Ceiling: 7.27, Latency: 0.88}, Confidence: 0.9,
		Evidence: []string{"On average 30.7 goroutines wait. " + hostile}, Advice: []string{"Hold the lock for less."},
		Sites: []diagnose.Place{{Func: "main.(*prices).get" + hostile, File: "prices.go", Line: 22, Share: 1}},
		Trial: &diagnose.Trial{Text: "GOGC=400: no difference beyond the noise"},
	}}
	for _, id := range []string{"b", "c", "d"} {
		r.Causes = append(r.Causes, diagnose.Cause{ID: id, Title: "title of " + id, Gain: diagnose.Gain{CPU: 0.1}, Confidence: 0.5})
	}
	r.Refuted = []diagnose.Cause{{ID: "gc-pressure", Title: "Collection takes a third", Trial: &diagnose.Trial{Text: "GOGC=400: no difference"}}}
	r.Trials = []diagnose.Trial{{Text: "pinned to one CPU: latency -5 %"}}
	r.Advice = []diagnose.Advice{{File: "prices.go", Line: 7, What: "make([]byte, n)" + hostile, Reason: "it outlives the function", Bytes: 4096, Do: "pool it"}}
	r.Time = []diagnose.Spend{
		{What: "waits (sync.Mutex.Lock)", Share: 0.96, Place: diagnose.Place{Func: "main.(*prices).get" + hostile, File: "prices.go", Line: 22, Share: 0.96}, Stack: []string{"sync.(*Mutex).Lock", "main.(*prices).get" + hostile}},
		{What: "outside of handlers", Share: 0.04},
	}
	r.Conclude()
	return r, &e
}

// Each form says what was found, and shows foreign text as text.
func TestForms(t *testing.T) {
	r, e := sample()
	for _, form := range []struct {
		name  string
		write func(w *strings.Builder) error
		want  []string
		never []string
	}{
		{
			"text", func(w *strings.Builder) error { return Text(w, screen.Screen{}, r) },
			[]string{"1. Requests wait for a lock", "highest rate +727 %, latency -88 %", "[lock-contention]", "prices.go:22", "> Hold the lock", "also: title of d", "96.0 %  waits (sync.Mutex.Lock), main.(*prices).get", "refuted: Collection", "tried: pinned", "not seen: the runtime"},
			[]string{"\x1b"},
		},
		{
			"markdown", func(w *strings.Builder) error { return Markdown(w, r) },
			[]string{"## 1. Requests wait for a lock", "~~Collection takes a third~~", "| 100.0 % | `main.", "## Lines that allocate", "## Not seen", "## Where requests spend their time", "title of d"},
			[]string{"\x1b", " <script>"},
		},
		{
			"page", func(w *strings.Builder) error { return Page(w, r, e) },
			[]string{"Requests wait for a lock", "<circle", "<polyline", "sync.Mutex.Lock", "127.0.0.1:1", "title of d", "Lines that allocate", "INVALID", "Where requests spend their time", "outside of handlers"},
			[]string{"\x1b", "<script>alert"},
		},
	} {
		if form.name == "page" {
			r.Valid, r.Why = false, []string{"the generator was late"}
		}
		var w strings.Builder
		if err := form.write(&w); err != nil {
			t.Fatal(err)
		}
		for _, want := range form.want {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s: %q is missing", form.name, want)
			}
		}
		for _, bad := range form.never {
			if strings.Contains(w.String(), bad) {
				t.Errorf("%s: has %q", form.name, bad)
			}
		}
	}
}

// A report of nothing is a report.
func TestNothing(t *testing.T) {
	r := &diagnose.Report{}
	r.Conclude()
	var w strings.Builder
	if err := Text(&w, screen.Screen{}, r); err != nil {
		t.Error(err)
	}
	if err := Markdown(&w, r); err != nil {
		t.Error(err)
	}
	if err := Page(&w, r, &diagnose.Evidence{}); err != nil {
		t.Error(err)
	}
}

func TestTick(t *testing.T) {
	for top, want := range map[float64]float64{353: 50, 8: 1, 100: 20, 26410: 5000, 0.7: 0.1} {
		if got := tick(top); got != want {
			t.Errorf("%v: %v, want %v", top, got, want)
		}
	}
}
