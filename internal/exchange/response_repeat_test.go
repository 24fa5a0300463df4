package exchange

import (
	"strings"
	"testing"
)

// TestRepeat takes a line over from the last response, if it is the same there.
func TestRepeat(t *testing.T) {
	var r Response
	r.ResetResponse()
	value := "text/plain"
	if r.Repeat("Content-Type", value) {
		t.Error("repeated in the first response")
	}
	if err := r.Add("Content-Type", value); err != nil {
		t.Fatal(err)
	}
	r.ResetResponse()
	for _, other := range []string{strings.Clone(value), value[:4], ""} {
		if r.Repeat("Content-Type", other) {
			t.Errorf("%q is taken for the last value", other)
		}
	}
	r.Lines = make([]Line, 0, 4)
	if r.Repeat("", "") {
		t.Error("a line without a name")
	}
	if err := r.Add("Content-Type", value); err != nil {
		t.Fatal(err)
	}
	r.ResetResponse()
	if !r.Repeat("Content-Type", value) || len(r.Lines) != 1 || r.Lines[0] != (Line{"Content-Type", value}) {
		t.Errorf("not repeated: %v", r.Lines)
	}
	if r.Repeat("Content-Type", value) {
		t.Error("repeated in another place")
	}
}
