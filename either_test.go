package redline

import (
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http2"
	"github.com/redline-go/redline/internal/transport"
)

// A timedConn keeps the last timeout.
type timedConn struct {
	transport.Conn
	timeout time.Duration
}

func (c *timedConn) SetTimeout(d time.Duration) { c.timeout = d }
func (c *timedConn) Pending() int               { return 0 }
func (c *timedConn) Detached() bool             { return true }

// TestEitherTime counts the time for the first head from accept, whatever its protocol turns out
// to be and when.
func TestEitherTime(t *testing.T) {
	for in, most := range map[string]time.Duration{"G": time.Hour, http2.Preface: time.Hour, "GET": 0} {
		c := new(timedConn)
		cfg := &exchange.Config{HeaderTimeout: most, HighWater: 1 << 16}
		clock.Refresh()
		e := newEither(c, cfg)
		if most == 0 {
			_, _ = e.Feed([]byte(in), new(buf.Queue))
			if c.timeout != 0 {
				t.Errorf("without a limit, the timeout is %v", c.timeout)
			}
			continue
		}
		time.Sleep(20 * time.Millisecond)
		clock.Refresh()
		var out buf.Queue
		if _, err := e.Feed([]byte(in), &out); err != nil {
			t.Fatal(err)
		}
		if c.timeout <= 0 || c.timeout > most-15*time.Millisecond {
			t.Errorf("%.3q: after 20 ms of %v, the timeout is %v", in, most, c.timeout)
		}
	}
}
