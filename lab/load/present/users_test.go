package present

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// scenarioRun is one of a scenario in which a check failed now and then.
func scenarioRun(t *testing.T) (*Document, *spec.Result) {
	d, r := closedRun(t)
	d.URL = "http://127.0.0.1:8080"
	d.Config.Scenario, d.Config.Method, d.Config.Status, d.Config.Headers = "dir/shop.yaml", "", 0, 0
	d.Config.Think, d.Config.PerConnection, d.Config.ConnectRate = "lognormal:120ms,0.8", 100, 500
	d.Config.Sources, d.Config.Slow = []string{"127.0.0.2", "127.0.0.3"}, &spec.Slow{Connections: 8, Read: 10 << 10}
	d.Config.Checks = []string{"header Content-Type contains json"}
	part := func(n int) string { return encoded(t, n, func(i int) int64 { return 100_000 + int64(i)*50 }) }
	r.Errors = map[string]uint64{"check": 61, "reset": 2}
	r.Connects, r.Early, r.Dropped = 264, 3, 12
	r.Targets = []spec.Target{
		{Name: "setup/login", Tags: map[string]string{"team": "web"}, Setup: true, Requests: 64, Checks: map[string]uint64{}, Histogram: part(64)},
		{Name: "shopping/a cart with a name that does not end where a column does", Tags: map[string]string{"kind": "write", "team": "web"}, Requests: 8000, Errors: 2, Histogram: part(8000)},
		{Name: "pay", Tags: map[string]string{"kind": "write"}, Requests: 11_939, Checks: map[string]uint64{"paid": 60, "status 201, 202": 1}, Histogram: part(11_939)},
		{Name: "never", Histogram: part(0)},
	}
	seconds := func(n int) string { return encoded(t, n, func(i int) int64 { return 1e9 + int64(i)*1e6 }) }
	r.Flows = []spec.Flow{
		{Name: "shopping", Completed: 2000, Aborted: 3, Unfinished: 40, Histogram: seconds(2000), Waited: part(2000)},
		{Name: "returns", Completed: 10, Histogram: seconds(10), Waited: part(10)},
	}
	return d, r
}

func TestSummaryTargets(t *testing.T) {
	t.Run("scenario", func(t *testing.T) {
		d, r := scenarioRun(t)
		golden(t, "scenario.txt", summaryOf(t, fill(t, d, r, "errors<1%")))
	})
	t.Run("many targets", func(t *testing.T) {
		d, r := scenarioRun(t)
		for len(r.Targets) < targetRows+5 {
			r.Targets = append(r.Targets, r.Targets[1])
		}
		if text := summaryOf(t, fill(t, d, r, "")); !strings.Contains(text, "\nand 5 more with fewer errors or requests, which --json has\n") {
			t.Error(text)
		}
	})
}

// The steps of a ramp end with the window, however short it was.
func TestSummaryRamp(t *testing.T) {
	d, r := closedRun(t)
	d.Config.Ramp = "0, then 5s:64,4s:64,1m:0"
	ramp := &arrive.Ramp{Steps: []arrive.RampStep{{For: 5 * time.Second, Users: 64}, {For: 4 * time.Second, Users: 64}, {For: time.Minute}}}
	half := spec.RampStep{Requests: 10_000, Errors: 2, Histogram: encoded(t, 10_000, func(i int) int64 { return 100_000 + int64(i)*50 })}
	d = fill(t, d, r, "")
	if err := d.FillRamp(ramp, 69*time.Second, []spec.RampStep{half, half, half}); err != nil {
		t.Fatal(err)
	}
	golden(t, "ramp.txt", summaryOf(t, d))
	d.RampSteps, d.Seconds = nil, 9
	if err := d.FillRamp(ramp, 69*time.Second, []spec.RampStep{half, half, half}); err != nil || len(d.RampSteps) != 2 {
		t.Errorf("%d steps, %v", len(d.RampSteps), err)
	}
	if err := d.FillRamp(ramp, 5*time.Second, []spec.RampStep{half, half}); err == nil {
		t.Error("two steps are taken for one")
	}
}

// TestUnassigned counts arrivals that were never sent against the thresholds of targets and
// tags, in proportion to their requests.
func TestUnassigned(t *testing.T) {
	d := &Document{
		Open: &results.Open{}, Seconds: 1, NoTarget: 501,
		Targets: []results.Target{{Name: "a", Requests: 300, Errors: 100}, {Name: "b", Requests: 100}, {Name: "in", Setup: true, Requests: 9}},
		Tags:    []results.Tag{{Name: "k", Value: "v", Requests: 100}},
	}
	got := d.targetFigures()
	for name, want := range map[string]uint64{"a": 501, "b": 101, "in": 0, "k=v": 101} {
		if f := got[name]; f.Errors != want || f.Lost != want {
			t.Errorf("%s: %d errors, %d lost, want %d", name, f.Errors, f.Lost, want)
		}
	}
	d.Open = nil
	if n := d.targetFigures()["b"].Errors; n != 0 {
		t.Errorf("closed loop: %d errors", n)
	}
}
