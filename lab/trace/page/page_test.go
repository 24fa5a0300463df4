package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/trace/page"
	"github.com/redline-go/redline/lab/trace/page/internal/sample"
)

// largest is the most that a page may have, in bytes, whatever the trace.
const largest = 3 << 20

func TestWrite(t *testing.T) {
	for kind, want := range map[string][]string{
		"usual":   {"main.(*shop).order", "trace of 3.91 ms", "data-slow", "GC sweep termination"},
		"nothing": {"The trace names no requests"},
		"many":    {"36 more Ps are not drawn"},
		"hostile": {"PARTIAL", "&lt;/script&gt;"},
	} {
		r, err := sample.Report(kind)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := page.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: no %q", kind, w)
			}
		}
		if strings.Contains(b.String(), "<script>window.pwned") || strings.Contains(b.String(), "<img") {
			t.Errorf("%s: text of the trace is markup", kind)
		}
		if b.Len() > largest {
			t.Errorf("%s: %d bytes", kind, b.Len())
		}
	}
	if _, err := sample.Report("other"); err == nil {
		t.Error("no error for an unknown kind")
	}
}
