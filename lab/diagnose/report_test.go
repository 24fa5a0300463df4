package diagnose

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/watch"
)

// sound is a report of a valid load.
func sound() *Report {
	seen := watch.Summary{Figures: map[string]watch.Range{"threads": {Median: 8}}}
	return &Report{Evidence: Evidence{
		Server: Server{CPUs: 2, Quota: 1.5},
		Sweep: []Point{
			{Connections: 1, Rate: 100, CPU: 0.7, Valid: true},
			{Connections: 2, Rate: 190, CPU: 1.3, Valid: true},
			{Connections: 4, Rate: 200, CPU: 1.4, Valid: true},
			{Connections: 8, Rate: 195, CPU: 1.5},
		},
		Loads: []Load{
			{Name: Low, Generator: Generator{Valid: true}},
			{Name: Knee, Connections: 16, Seconds: 3, Rate: 198, Cores: 1.45, Generator: Generator{Valid: true}, Watch: seen},
		},
	}}
}

// Only wrong or missing answers, a full or late generator, or evidence that is missing make a
// diagnosis invalid: no disturbance does.
func TestConclude(t *testing.T) {
	for _, c := range []struct {
		name      string
		spoil     func(r *Report, knee *Load)
		why       string // in the first reason; empty: valid
		disturbed string // in the sentence; empty: none
		doubts    int
	}{
		{name: "sound", spoil: func(*Report, *Load) {}},
		{name: "late in a lower load", spoil: func(r *Report, _ *Load) { r.Loads[0].Generator = Generator{Why: "a little late"} }, doubts: 1},
		{name: "late", spoil: func(_ *Report, k *Load) { k.Generator = Generator{Why: "late"} }, why: "knee: late"},
		{name: "late at the ceiling", spoil: func(r *Report, _ *Load) { r.Sweep[2].Valid, r.Sweep[2].Why = false, "full" }, why: "sweep, 4 connections: full"},
		{name: "wrong answers", spoil: func(_ *Report, k *Load) { k.Errors, k.Kinds = 0.95, Counts{"status": 7} }, why: "95 % of the answers were wrong or missing (status 7)"},
		{name: "nothing was seen", spoil: func(_ *Report, k *Load) { k.Watch = watch.Summary{} }, why: "nothing of the server"},
		{name: "stolen", spoil: func(_ *Report, k *Load) { k.Generator.Stolen = 0.3 }, disturbed: "the hypervisor took 30 %"},
		{name: "its backends", spoil: func(_ *Report, k *Load) { k.Generator.Foreign, k.Shared = 0.4, &Shared{CPUs: 2, Backends: 0.8} }},
		{
			name: "shared", disturbed: "other processes took 40 % and the hypervisor took 3 % of the CPUs' time",
			spoil: func(_ *Report, k *Load) {
				k.Generator.Foreign, k.Generator.Stolen, k.Shared = 0.6, 0.03, &Shared{CPUs: 2, Backends: 0.4}
			},
		},
		{name: "few samples", spoil: func(_ *Report, k *Load) { k.Watch.Samples, k.Watch.Due = 1, 16 }, doubts: 1},
		{name: "not steady", spoil: func(_ *Report, k *Load) { k.Generator.Notes = []string{"the rate still had a trend"} }, doubts: 1},
	} {
		r := sound()
		c.spoil(r, r.Evidence.Knee())
		r.Conclude()
		if r.Valid != (c.why == "") || !r.Valid && !strings.Contains(r.Why[0], c.why) || len(r.Doubts) != c.doubts {
			t.Errorf("%s: valid %v, why %q, doubts %q", c.name, r.Valid, r.Why, r.Doubts)
		}
		if (r.Disturbed == "") != (c.disturbed == "") || !strings.Contains(r.Disturbed, c.disturbed) {
			t.Errorf("%s: %q, want %q", c.name, r.Disturbed, c.disturbed)
		}
		if r.Ceiling != 200 || r.Knee != 2 {
			t.Errorf("%s: ceiling %g, knee %d", c.name, r.Ceiling, r.Knee)
		}
	}
	empty := &Report{}
	if empty.Conclude(); empty.Valid || empty.Verdict == "" {
		t.Errorf("%+v", empty)
	}
}

// The first sentence has one measurement, and no cause contradicts it.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *Report, knee *Load)
		want  string
		never string
	}{
		{"saturated", func(*Report, *Load) {}, "reaches 200 requests/s with 4 connections, and uses 1.40 of 1.5 CPUs there: it is limited by CPU. No cause was found", "waits"},
		{"waits", func(r *Report, k *Load) { r.Sweep[2].CPU, k.Cores = 0.3, 0.4 }, "uses 0.30 of 1.5 CPUs there: it waits. ", "limited by CPU"},
		{"saturated only with more connections", func(r *Report, _ *Load) { r.Sweep[2].CPU = 0.11 }, "Under the load of which the causes are, with 16 connections, it uses 1.45 of 1.5 CPUs: it is limited by CPU.", "waits"},
		{"others use the CPU", func(r *Report, k *Load) {
			r.Sweep[2].CPU, k.Cores = 0.3, 0.4
			r.Causes = []Cause{{ID: "cpu-bound", Gain: Gain{CPU: 0.2}}}
		}, "it waits for a CPU, which others use", "No cause"},
		{"the CPU is unknown", func(r *Report, k *Load) { r.Sweep[2].CPU, k.Cores = 0, 0 }, "with 4 connections. ", "CPUs"},
		{"failures", func(_ *Report, k *Load) { k.Errors = 0.3 }, "30 % of the requests fail there", "generator"},
		{"generator", func(_ *Report, k *Load) { k.Generator = Generator{Why: "full"} }, "may be the generator's", "No cause"},
	} {
		r := sound()
		c.spoil(r, r.Evidence.Knee())
		if r.Conclude(); !strings.Contains(r.Verdict, c.want) || strings.Contains(r.Verdict, c.never) {
			t.Errorf("%s: %q, want %q, never %q", c.name, r.Verdict, c.want, c.never)
		}
	}
}
