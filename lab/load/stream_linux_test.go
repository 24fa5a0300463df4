package load

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/tally"
)

// A server that ends its streams, and one that garbles them.
func TestStreams(t *testing.T) {
	event := func() string { return fmt.Sprintf("data: %d x\n\n", time.Now().UnixNano()) }
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	for _, tc := range []struct {
		name string
		head string
		wrap func(string) string
		last string // of a stream, after 10 events
		kind string
	}{
		{"chunked, ended", "Transfer-Encoding: chunked\r\n", chunk, "0\r\n\r\n", ErrClosed},
		{"chunked, cut", "Transfer-Encoding: chunked\r\n", chunk, "", ErrClosed},
		{"split within events", "Transfer-Encoding: chunked\r\n", func(s string) string { return chunk(s[:9]) + chunk(s[9:]) }, "", ErrClosed},
		{"identity, ended", "", func(s string) string { return s }, "", ErrClosed},
		{"garbled", "Transfer-Encoding: chunked\r\n", chunk, "zz\r\n", ErrChunk},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var events, ends atomic.Uint64
			s := serveScript(t, func(c *net.TCPConn, _ int) bool {
				if !say(c, head200+"Content-Type: text/event-stream\r\n"+tc.head+"\r\n") {
					return false
				}
				for range 10 {
					if !say(c, tc.wrap(event())) {
						return false
					}
					events.Add(1)
				}
				ends.Add(1)
				return say(c, tc.last) && false
			})
			spec := testSpec(s.addr)
			spec.Stream = true
			l := drive(t, spec, func(c *tally.Counters) bool { return c.Failures() >= 10 })
			e := errorsOf(&l.rec.Counters)
			if len(e) != 1 || e[tc.kind] < 10 {
				t.Errorf("errors %v, want %s alone", e, tc.kind)
			}
			if l.rec.Requests < 10*e[tc.kind] || l.rec.Requests > events.Load() {
				t.Errorf("%d events counted, the server sent %d", l.rec.Requests, events.Load())
			}
			if got := uint64(l.rec.Hist.TotalCount()); got != l.rec.Requests {
				t.Errorf("%d latencies of %d events", got, l.rec.Requests)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		s := serveScript(t, func(c *net.TCPConn, _ int) bool {
			return say(c, "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno")
		})
		spec := testSpec(s.addr)
		spec.Stream = true
		l := drive(t, spec, func(c *tally.Counters) bool { return c.Failures() >= 10 })
		if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[ErrStatus] < 10 || l.rec.Requests != 0 {
			t.Errorf("errors %v, %d events", e, l.rec.Requests)
		}
	})
}
