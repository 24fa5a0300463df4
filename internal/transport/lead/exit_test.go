package lead

import (
	"runtime"
	"testing"
	"time"
)

// TestExit has foreign code end its goroutine: while it leads, when it has given up
// the loop, when it is taken over, and at about that time.
func TestExit(t *testing.T) {
	before := runtime.NumGoroutine()
	r := newRig(t, time.Millisecond)
	const n = 200
	for i := range n {
		r.put(func(h *Hand) {
			switch i % 4 {
			case 1:
				h.Detach()
			case 2:
				for h.Leading() {
					time.Sleep(100 * time.Microsecond)
				}
			case 3:
				time.Sleep(time.Duration(i*10) * time.Microsecond)
			}
			runtime.Goexit()
		})
		r.put(func(*Hand) {})
	}
	r.until("all have ended, and the others have run", func() bool { return r.exits.Load() == n && r.ran.Load() == n })
	r.stop()
	r.until("goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}
