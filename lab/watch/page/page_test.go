package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/watch/page/internal/sample"
)

// largest is the most that a page may have, in bytes, however long the watch was.
const largest = 3 << 20

func TestWrite(t *testing.T) {
	for kind, want := range map[string][]string{
		"usual":   {"Process 4711, 2026-01-02 03:04:05 UTC, 300 samples in 598.0 s", "goroutines-slope", `"look":"fifth"`, `"text":"goroutines-slope"`, "watch.json"},
		"sparse":  {"2 of 151 samples in 300.0 s: redline did not get the CPU in time", "<dd>–<small>only in 2 of 151 samples: "},
		"nothing": {"tcp_rtt: netlink sock_diag: operation not permitted", "gc-cpu was not evaluated without gc_cpu, go_cpu"},
		"long":    {"1500 samples"},
		"hostile": {"&lt;/script&gt;"},
	} {
		var b bytes.Buffer
		if err := sample.Write(&b, kind); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: no %q", kind, w)
			}
		}
		if strings.Contains(b.String(), "<script>window.pwned") || strings.Contains(b.String(), "<img") {
			t.Errorf("%s: text of the watch is markup", kind)
		}
		if b.Len() > largest {
			t.Errorf("%s: %d bytes", kind, b.Len())
		}
	}
	if err := sample.Write(&bytes.Buffer{}, "other"); err == nil {
		t.Error("no error for an unknown kind")
	}
}
