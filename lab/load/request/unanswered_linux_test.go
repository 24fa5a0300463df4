package request

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/tally"
)

// TestUnansweredIsNotStarved checks that answers which arrived while the generator's thread
// did not run are not counted as unanswered.
func TestUnansweredIsNotStarved(t *testing.T) {
	for silent, want := range map[bool]uint64{false: 0, true: 8} {
		quiet := make(chan struct{})
		var stopped atomic.Bool
		s := serveScript(t, func(c *net.TCPConn, _ int) bool {
			if stopped.Load() {
				<-quiet
				return false
			}
			return say(c, goodAnswer)
		})
		order := testSpec(s.addr)
		order.Connections = 8
		l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 30 })
		stopped.Store(silent)
		l.draining = false
		l.start()
		if err := l.Until(l.Now() + int64(20*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * drainFor) // nobody reads the answers meanwhile
		end := newTail(l)
		err := end.wait(func() error { return l.Until(l.Now() + int64(time.Millisecond)) }, false)
		if err != nil || end.unanswered != want {
			t.Errorf("server silent %v: %d unanswered, %v; want %d", silent, end.unanswered, err, want)
		}
		close(quiet)
	}
}
