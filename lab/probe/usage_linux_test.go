package probe

import (
	"os/exec"
	"testing"
	"time"
)

// TestUsage distinguishes the time of the run's processes from that of others.
func TestUsage(t *testing.T) {
	hog := exec.Command("sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hog.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = hog.Wait() // killed
	}()
	foreign := func(pids ...int) float64 {
		u, err := OpenUsage(nil, pids...)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		begin, err := u.Read()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		end, err := u.Read()
		if err != nil {
			t.Fatal(err)
		}
		if f := begin.Foreign(end); f != 0 {
			t.Errorf("backwards: %v", f)
		}
		return end.Foreign(begin)
	}
	// Other processes may use the CPUs too, so the test repeats until the hog's time is the
	// difference.
	for try := range 20 {
		other, own := foreign(), foreign(hog.Process.Pid)
		if other > own && other > 0.05 {
			return
		}
		t.Logf("try %d: foreign %v; %v if the hog belongs to the run", try, other, own)
	}
	t.Error("a busy process is not seen")
}

func TestUsageOfTheGone(t *testing.T) {
	done := exec.Command("true")
	if err := done.Run(); err != nil {
		t.Fatal(err)
	}
	if u, err := OpenUsage(nil, done.Process.Pid); err == nil {
		u.Close()
		t.Error("a process that has ended is watched")
	}
}
