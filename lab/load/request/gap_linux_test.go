package request

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// A thread that stalls again and again finds out all the same that a request has no answer.
func TestTimeoutDespiteStalls(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, n int) bool { return n == 7 || say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Timeout, order.Persist = 5*time.Second, true
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	l.start()
	for range 5000 {
		l.base = l.base.Add(-6 * time.Millisecond)
		if err := l.Until(l.Now() + int64(4*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if l.rec.Failures() > 0 {
			break
		}
	}
	if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[spec.ErrTimeout] == 0 {
		t.Errorf("errors %v of %d requests", e, l.rec.Sent)
	}
}
