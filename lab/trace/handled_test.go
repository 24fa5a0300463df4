package trace_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

// Handlers that were seen from outside name requests of which the trace has no stack; the innermost
// one counts. What belongs to no request is ignored.
func TestHandled(t *testing.T) {
	at := func(us64 int64, thread, name int32) trace.Handled {
		return trace.Handled{Time: us64*us + tracetest.Monotonic, Thread: thread, Name: name}
	}
	seen := &trace.Handlers{Names: []string{"main.log.func1", "main.quick", "main.other"}, List: []trace.Handled{
		at(-90, 1, 2),  // before the trace
		at(5, 1, 2),    // of no goroutine
		at(253, 9, 2),  // on a thread that the trace does not have
		at(255, 1, 0),  // logs, and calls
		at(256, 1, 1),  // the handler
		at(257, 1, -1), // without a name
		at(9999, 1, 2), // after the trace
	}}
	r, err := trace.Read(t.Context(), bytes.NewReader(written(t, connection)), trace.Options{Handlers: seen})
	if err != nil || r.Partial != "" {
		t.Fatal(err, r.Partial)
	}
	if g := groupOf(t, r, "http", "main.quick"); g.Count != 1 || g.TotalNS != 50*us {
		t.Errorf("%+v", g)
	}
	if g := groupOf(t, r, "http", "main.slow"); g.Count != 1 {
		t.Errorf("%+v", g)
	}
	if slices.ContainsFunc(r.Groups, func(g trace.Group) bool { return g.Name == trace.NotSeen || g.Name == "main.other" }) {
		t.Errorf("%+v", r.Groups)
	}
}
