package http2

import (
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// deaf is a connection whose client reads nothing.
type deaf struct {
	plain
	closed transport.Closing
}

func (*deaf) Pending() int                { return 1000 }
func (*deaf) Untaken() int                { return 1000 }
func (c *deaf) Close(h transport.Closing) { c.closed = h }

// TestStallInBlock has a client that reads nothing begin header blocks: its time to accept output
// runs on, and so does the time for a block.
func TestStallInBlock(t *testing.T) {
	for name, c := range map[string]struct {
		stall, head time.Duration
		late        error // when the timer fires in a block
	}{
		"stall first": {time.Hour, 2 * time.Hour, nil},
		"block first": {2 * time.Hour, time.Hour, connError{ProtocolError, "head is not complete in time"}},
		"only stall":  {time.Hour, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn := new(deaf)
			cfg := &exchange.Config{Handler: routes{}, HighWater: 64 << 10, StallTimeout: c.stall, HeaderTimeout: c.head}
			cfg.Limits = cfg.Limits.WithDefaults()
			s := NewSession(conn, cfg)
			p := newPeer(t, 1, routes{})
			var out buf.Queue
			feed := func(b []byte) {
				out.Reset()
				if n, err := s.Feed(b, &out); n != len(b) || err != nil {
					t.Fatal(n, err)
				}
			}
			feed(append([]byte(Preface), appendFrame(nil, 0, frameSettings, 0, 0)...))
			by := s.stall.by
			for id := uint32(1); id < 20; id += 2 {
				block := p.block(request("GET", "/")...)
				conn.timeout = 0
				feed(append(appendFrame(nil, 1, frameHeaders, flagEndStream, id), block[0]))
				if s.stall.by != by {
					t.Fatal("a block begins the time for output anew")
				}
				if want := min(c.stall, c.head); c.head > 0 && conn.timeout > want {
					t.Fatalf("in a block the timer is set to %v", conn.timeout)
				}
				if id < 19 {
					feed(append(appendFrame(nil, len(block)-1, frameContinuation, flagEndHeaders, id), block[1:]...))
				}
			}
			out.Reset()
			if err := s.Expired(&out); err != c.late || conn.closed == transport.Reset != (err == nil) {
				t.Errorf("when the timer fires: %v, closed %v, want %v", err, conn.closed, c.late)
			}
		})
	}
}
