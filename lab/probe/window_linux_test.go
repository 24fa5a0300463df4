package probe

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

// idle starts a process that waits, and returns it with a function that ends it.
func idle(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
	}
	t.Cleanup(end)
	return cmd.Process.Pid, end
}

func TestWindow(t *testing.T) {
	server, end := idle(t)
	w := NewWindow([]int{server})
	defer w.Close()
	if w.Opened() {
		t.Error("opened before Open")
	}
	generator, _ := idle(t)
	if err := w.Open(nil, generator); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Add(os.Getpid()), w.Begin()); err != nil {
		t.Fatal(err)
	}
	m := results.Memory{RSSBaseBytes: 7, RSSPeakBytes: 1 << 60}
	if err := w.Tick(&m); err != nil {
		t.Fatal(err)
	}
	if m.RSSBaseBytes != 7 || m.RSSPeakBytes != 1<<60 || m.RSSFinalBytes == 0 || m.VSSBytes == 0 {
		t.Errorf("memory %+v: want base and peak unchanged, and the rest read", m)
	}
	if _, _, known, err := w.Usage(); err != nil || known {
		t.Errorf("the first reading of the usage: known %v, %v", known, err)
	}
	if steal, foreign, known, err := w.Usage(); err != nil || !known || !(steal >= 0 && steal <= 1 && foreign >= 0 && foreign <= 1) {
		t.Errorf("the usage: steal %v, foreign %v, known %v, %v", steal, foreign, known, err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	if p := w.Process(); w.Gone() != nil || p.Threads != 1 || p.OpenFiles == 0 {
		t.Errorf("process %+v, gone: %v", p, w.Gone())
	}
	for name, share := range map[string]float64{"steal": w.Steal(), "foreign": w.Foreign(0, 1), "pressure": w.Pressure()} {
		if !(share >= 0 && share <= 1) {
			t.Errorf("%s %v is not a share", name, share)
		}
	}

	end()
	before := m
	if err := w.End(); err != nil || !errors.Is(w.Gone(), ErrNoProcess) {
		t.Errorf("after the server's end: %v, gone: %v", err, w.Gone())
	}
	if err := w.Tick(&m); err == nil || m != before {
		t.Errorf("after the server's end: memory %+v, %v", m, err)
	}
}

// TestWindowOfNothing observes neither a server nor CPUs: all generators are on other machines.
func TestWindowOfNothing(t *testing.T) {
	w := NewWindow(nil)
	defer w.Close()
	if err := errors.Join(w.Begin(), w.End(), w.Gone()); err != nil || w.Opened() {
		t.Errorf("opened %v, %v", w.Opened(), err)
	}
}

// TestWindowWaited raises the share of foreign processes by the generator's waiting, up to
// what they used in total: 0.8 s of four CPUs in two seconds.
func TestWindowWaited(t *testing.T) {
	w := &Window{}
	w.end.usage.ticks.CPUs = 4
	w.end.usage.at = w.begin.usage.at.Add(2e9)
	w.end.usage.ticks.Idle = 720
	for _, tc := range []struct{ waited, want float64 }{{0, 0.1}, {0.1, 0.1}, {0.5, 0.25}, {1.9, 0.4}} {
		if got := w.Foreign(tc.waited, 2); got < tc.want-1e-9 || got > tc.want+1e-9 {
			t.Errorf("%v s waited: %v, want %v", tc.waited, got, tc.want)
		}
	}
}
