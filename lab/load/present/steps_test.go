package present

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// stagedRun returns a run with three steps; the last one has no answer.
func stagedRun(t *testing.T) (*Document, *arrive.Plan, *spec.Result) {
	d, r := openRun(t)
	d.Config.Arrivals = "stages 4s:2000,0s:3000,4s:3000,2s:0, constant"
	plan := &arrive.Plan{Stages: []arrive.Stage{{For: 4 * time.Second, Rate: 2000}, {Rate: 3000}, {For: 4 * time.Second, Rate: 3000}, {For: 2 * time.Second, Rate: 0}}}
	r.Steps = []spec.Step{
		{Right: 4000, Answered: 3990, Histogram: encoded(t, 4000, func(i int) int64 { return 100_000 + int64(i)*10 })},
		{Right: 12_000, Answered: 16_010, Histogram: encoded(t, 12_000, func(i int) int64 { return 100_000 + int64(i)*50 })},
		{Failed: 3985, Unfinished: 15, Histogram: encoded(t, 15, func(i int) int64 { return 2e9 })},
	}
	r.Requests, r.Errors = 20_000, map[string]uint64{"timeout": 3985}
	r.Open.Due, r.Open.Failed, r.Open.Unfinished = 20_000, 3985, 15
	for i := range 50 {
		d.Series = append(d.Series, PointOf(&spec.Tick{T: 0.2 * float64(i+1), Seconds: 0.2, Requests: 400, ServerCPU: 0.1 * float64(i/10)}))
	}
	return d, plan, r
}

func TestSteps(t *testing.T) {
	d, plan, r := stagedRun(t)
	fill(t, d, r, "errors<100%")
	if err := d.FillSteps(plan, 10*time.Second, r.Steps); err != nil {
		t.Fatal(err)
	}
	golden(t, "steps.txt", summaryOf(t, d))
	s := d.Steps[1]
	if s.From != 4 || s.To != 8 || s.Begin != 3000 || s.Asked != 3000 || s.Due != 12_000 || s.Achieved != 16_010./4 || s.ServerCPU == nil || *s.ServerCPU < 0.24 || *s.ServerCPU > 0.26 {
		t.Errorf("%+v", s)
	}
	if s := d.Steps[2]; s.Latency.P50 != nil || s.Errors() != 4000 {
		t.Errorf("%+v", s)
	}
}

// A shortened window has the steps that began in it.
func TestStepsCut(t *testing.T) {
	d, plan, r := stagedRun(t)
	r.Seconds, d.Partial = 2, "interrupted"
	d.Config.Percentiles = []float64{75}
	fill(t, d, r, "")
	if err := d.FillSteps(plan, 10*time.Second, r.Steps); err != nil {
		t.Fatal(err)
	}
	if s := d.Steps; len(s) != 1 || s[0].To != 2 || s[0].End != 1000 || len(s[0].Latency.Percentiles) != 1 {
		t.Errorf("%+v", s)
	}
	if err := d.FillSteps(plan, 9*time.Second, r.Steps[:2]); err == nil {
		t.Error("steps that the plan does not have are accepted")
	}
	if err := d.FillSteps(nil, time.Second, r.Steps); err != nil {
		t.Error(err)
	}
}

// A window that ends after a number of requests has the steps that began in it, over the time
// that they lasted.
func TestStepsOfRequests(t *testing.T) {
	d, plan, r := stagedRun(t)
	r.Seconds, d.Config.Requests = 2, 2000
	fill(t, d, r, "errors<100%")
	if err := d.FillSteps(plan, 10*time.Second, r.Steps[:1]); err != nil {
		t.Fatal(err)
	}
	if s := d.Steps; len(s) != 1 || s[0].To != 2 || s[0].Asked != float64(s[0].Due)/2 {
		t.Errorf("%+v", s)
	}
}

// The CPU per request of a server that ended, and was perhaps replaced, is not known.
func TestServerEnded(t *testing.T) {
	d, _, r := stagedRun(t)
	r.Gone = []int{d.Server.PIDs[0]}
	fill(t, d, r, "errors<100%")
	if text := summaryOf(t, d); d.Server.CPU.PerRequestUs != 0 || strings.Contains(text, "a request; RSS") || !strings.Contains(text, "ended during the run") {
		t.Errorf("%v us a request, %s", d.Server.CPU.PerRequestUs, text)
	}
}
