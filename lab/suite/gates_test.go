package suite

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// TestGatesOfGenerator has a generator that did not run for a second, or whose core was full with a
// backend on it, and checks which figures that spoils, in each kind of loop.
func TestGatesOfGenerator(t *testing.T) {
	stopped := []spec.Gap{{At: 1, Seconds: 1}}
	for name, c := range map[string]struct {
		load   workload
		open   *results.Open
		result spec.Result
		full   bool
		want   []string
	}{
		"closed":            {workload{}, nil, spec.Result{}, false, nil},
		"closed, stopped":   {workload{}, nil, spec.Result{Stalls: stopped}, false, []string{"stall"}},
		"closed, full":      {workload{}, nil, spec.Result{}, true, []string{"generator"}},
		"open, stopped":     {workload{}, &results.Open{}, spec.Result{Stalls: stopped}, false, []string{"stall"}},
		"open, full":        {workload{}, &results.Open{}, spec.Result{}, true, nil},
		"subscribers, full": {workload{stream: true}, nil, spec.Result{}, true, nil},
		"idle, full":        {workload{idle: true}, nil, spec.Result{}, true, nil},
	} {
		run := results.Run{WindowSeconds: 5, Requests: 1, Open: c.open, Generator: results.Generator{Steady: true, Bound: c.full}}
		if err := new(bench).judge(&run, &c.load, &c.result); err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, g := range results.Spoilers(run.Gates, results.FigureLatency) {
			failed = append(failed, g.Name)
		}
		if !slices.Equal(failed, c.want) || len(results.Spoilers(run.Gates, results.FigureCPU)) > 0 {
			t.Errorf("%s: failed gates %v, want %v: %+v", name, failed, c.want, run.Gates)
		}
	}
}
