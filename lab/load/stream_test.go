package load

import (
	"strings"
	"testing"
)

func TestEvents(t *testing.T) {
	const stamp = "1700000000000000000"
	for _, tc := range []struct {
		name    string
		in      string
		events  uint64
		stamped int64
	}{
		{"one", "data: " + stamp + " x\n\n", 1, 1},
		{"stamp alone", "data: " + stamp + "\n\n", 1, 1},
		{"no stamp", "data: hello\n\n", 1, 0},
		{"short stamp", "data: " + stamp[:18] + "\n\n", 1, 0},
		{"no blank", "data:" + stamp + "\n\n", 1, 0},
		{"CRLF", "data: " + stamp + "\r\n\r\n", 1, 1},
		{"id first", "id: 7\nevent: tick\ndata: " + stamp + "\n\n", 1, 1},
		{"two lines of data", "data: " + stamp + "\ndata: more\n\n", 1, 1},
		{"long", "data: " + stamp + strings.Repeat("y", 5000) + "\n\n", 1, 1},
		{"comment", ": ping\n\ndata: x\n\n", 1, 0},
		{"unfinished", "data: " + stamp + "\n", 0, 0},
		{"several", strings.Repeat("data: "+stamp+"\n\n", 5), 5, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := newRecorder()
			for size := 1; size <= len(tc.in); size++ {
				rec.requests = 0
				rec.begin()
				s := &sink{wall: 1700000000000001000, rec: rec}
				var e event
				for in := tc.in; in != ""; {
					n := min(size, len(in))
					e.feed([]byte(in[:n]), s)
					in = in[n:]
				}
				if s.total != tc.events || s.rec.requests != tc.events {
					t.Fatalf("pieces of %d: %d events, want %d", size, s.total, tc.events)
				}
				if got := s.rec.hist.TotalCount(); got != tc.stamped {
					t.Fatalf("pieces of %d: %d latencies, want %d", size, got, tc.stamped)
				}
				if tc.stamped > 0 && s.rec.hist.Max() != 1000 {
					t.Fatalf("latency %d ns, want 1000", s.rec.hist.Max())
				}
			}
		})
	}
}
