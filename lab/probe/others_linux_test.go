package probe

import (
	"os/exec"
	"testing"
	"time"
)

// TestDisturbance wants a window to see others at work: one process for long, and many one after
// the other that are gone at the end; and none of the run.
func TestDisturbance(t *testing.T) {
	for name, script := range map[string]string{
		"one":  "while :; do :; done",
		"many": `while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done`,
	} {
		t.Run(name, func(t *testing.T) {
			hog := exec.Command("sh", "-c", script)
			if err := hog.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := hog.Process.Kill(); err != nil {
					t.Error(err)
				}
				_ = hog.Wait() // killed
			}()
			u, err := OpenUsage(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			if u.others == nil {
				t.Log("not all processes of the machine are visible here: their time is what is neither idle nor the run's")
				return
			}
			for pid := range u.others.before { // everything else on this machine
				if pid != hog.Process.Pid {
					u.others.own = append(u.others.own, pid)
				}
			}
			// On a busy machine the hog gets little of the CPUs at first.
			for deadline := time.Now().Add(time.Minute); ; {
				used, _, err := u.Others()
				if err != nil {
					t.Fatal(err)
				}
				if used >= 200*time.Millisecond {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("others used %v in a minute", used)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}
