package tally

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
			rec := NewRecorder()
			for size := 1; size <= len(tc.in); size++ {
				rec.Requests = 0
				rec.Begin()
				s := &Events{Wall: 1700000000000001000, rec: rec}
				var e event
				for in := tc.in; in != ""; {
					n := min(size, len(in))
					e.feed([]byte(in[:n]), s)
					in = in[n:]
				}
				if s.Total != tc.events || s.rec.Requests != tc.events {
					t.Fatalf("pieces of %d: %d events, want %d", size, s.Total, tc.events)
				}
				if got := s.rec.Hist.TotalCount(); got != tc.stamped {
					t.Fatalf("pieces of %d: %d latencies, want %d", size, got, tc.stamped)
				}
				if tc.stamped > 0 && s.rec.Hist.Max() != 1000 {
					t.Fatalf("latency %d ns, want 1000", s.rec.Hist.Max())
				}
			}
		})
	}
}
