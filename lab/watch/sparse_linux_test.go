package watch

import (
	"testing"
	"time"
)

// A sampler that waits, or is preempted, uses no CPU time and need not rest for it.
func TestWaitingIsNoCost(t *testing.T) {
	slow := &scripted{read: func(_ int, r *Reading) error {
		time.Sleep(4 * costly)
		r.Set("a", 1)
		return nil
	}}
	steps(t, 6, nil, slow)
	if slow.step != 6 {
		t.Errorf("%d readings in 6 samples", slow.step)
	}
}

// A sampler that uses the CPU rests.
func TestCostlySamplersRest(t *testing.T) {
	busy := &scripted{read: func(_ int, r *Reading) error {
		for used := time.Duration(0); used <= 2*costly; {
			used += cost(func() {
				for range 1 << 16 {
				}
			})
		}
		return nil
	}}
	steps(t, 3, nil, busy)
	if busy.step != 1 {
		t.Errorf("%d readings in 3 samples, of which two are within its rest", busy.step)
	}
}
