package verdict

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// Each fault fails the gate of its name, and no other.
func TestPush(t *testing.T) {
	good := func() *spec.Subscribed {
		return &spec.Subscribed{Events: 100, Publish: &spec.Published{Due: 100, Sent: 100, Accepted: 100}}
	}
	for _, test := range []struct {
		gate   string
		change func(*spec.Subscribed)
	}{
		{"", func(*spec.Subscribed) {}},
		{"", func(h *spec.Subscribed) { h.Publish.Sent = 101 }}, // one was due before the window
		{"complete", func(h *spec.Subscribed) { h.Missed = 1 }},
		{"complete", func(h *spec.Subscribed) { h.Duplicated = 1 }},
		{"complete", func(h *spec.Subscribed) { h.Publish.Lost = 1 }},
		{"", func(h *spec.Subscribed) { h.Publish.Sent = 98 }}, // two were due at the end of the window
		{"published", func(h *spec.Subscribed) { h.Publish.Sent = 97 }},
		{"", func(h *spec.Subscribed) { h.Publish.Due, h.Publish.Sent = 1000, 990 }},
		{"published", func(h *spec.Subscribed) { h.Publish.Due, h.Publish.Sent = 1000, 989 }},
		{"published", func(h *spec.Subscribed) { h.Publish.Sent, h.Publish.Due = 0, 0 }},
		{"publish errors", func(h *spec.Subscribed) { h.Publish.Errors = map[string]uint64{"status": 1} }},
	} {
		h := good()
		test.change(h)
		gates, err := Push(h)
		if err != nil {
			t.Fatal(err)
		}
		failed := slices.DeleteFunc(gates, func(g results.Gate) bool { return g.Passed })
		if test.gate == "" && len(failed) > 0 || test.gate != "" && (len(failed) != 1 || failed[0].Name != test.gate || failed[0].Text == "") {
			t.Errorf("want %q, failed %+v", test.gate, failed)
		}
	}
	bad := good()
	bad.Publish.Own = "no histogram"
	if _, err := Push(bad); err == nil {
		t.Error("a damaged histogram is taken")
	}
}
