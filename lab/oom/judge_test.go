package oom

import (
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/screen"
)

var usual = Thresholds{Latency: 5, GC: 0.5, Errors: 0.01}

// step returns a step of a second with a p99.
func step(began, p99 float64) Step {
	return Step{Load: Load{Connections: 8}, Began: began, Ended: began + 1, P99: &p99, Valid: true, Points: []Point{{T: began + 0.5, P99: p99}, {T: began + 1, P99: p99}}}
}

func TestJudge(t *testing.T) {
	kill := Sign{Kind: SignKill, Step: 1, T: 1.8, Text: "killed"}
	samples := func(share float64) (list []Sample) {
		for i := range 20 {
			at := float64(i) / 10
			list = append(list, Sample{T: at, GCSeconds: new(at * share), GoSeconds: new(at)})
		}
		return list
	}
	failing := step(1, 100)
	failing.Points[0].Errors = 0.5
	late := step(1, 100)
	late.Points[1].T, late.Points[1].Errors, late.Cut = 1.8, 1, true
	unsure := step(1, 100)
	unsure.Valid, unsure.Why = false, "the generator was busy"
	for _, c := range []struct {
		name  string
		run   Run
		want  []string
		valid bool
	}{
		{"holds", Run{Outcome: Held, End: 2, Steps: []Step{step(0, 100), step(1, 400)}, Samples: samples(0.1)}, nil, true},
		{"latency", Run{Outcome: Held, End: 2, Steps: []Step{step(0, 100), step(1, 600)}}, []string{SignLatency}, true},
		{"collector before the kill", Run{Outcome: Died, End: 1.8, Steps: []Step{step(0, 100), step(1, 100)}, Samples: samples(0.7), Signs: []Sign{kill}, Kills: []Kill{{}}}, []string{SignGC, SignKill}, true},
		{"idle collector", Run{Outcome: Held, End: 2, Steps: []Step{step(0, 100)}, Samples: []Sample{{T: 0, GCSeconds: new(0.0), GoSeconds: new(0.0)}, {T: 1.5, GCSeconds: new(0.09), GoSeconds: new(0.1)}}}, nil, true},
		{"errors before the kill", Run{Outcome: Died, End: 1.8, Steps: []Step{step(0, 100), failing}, Signs: []Sign{kill}, Kills: []Kill{{}}}, []string{SignErrors, SignKill}, true},
		{"errors by the kill", Run{Outcome: Died, End: 1.8, Steps: []Step{step(0, 100), late}, Signs: []Sign{kill}, Kills: []Kill{{}}}, []string{SignKill}, true},
		{"held without load", Run{Outcome: Held, End: 2, Steps: []Step{step(0, 100), unsure}}, nil, false},
		{"killed without load", Run{Outcome: Died, End: 2, Steps: []Step{unsure}, Signs: []Sign{kill}, Kills: []Kill{{}}}, []string{SignKill}, true},
		{"no step", Run{Outcome: Died, Signs: []Sign{kill}, Kills: []Kill{{}}, Samples: samples(0)}, []string{SignKill}, true},
	} {
		c.run.Judge(usual)
		var kinds []string
		for _, s := range c.run.Signs {
			kinds = append(kinds, s.Kind)
		}
		if !slices.Equal(kinds, c.want) || c.run.Valid != c.valid {
			t.Errorf("%s: %v, valid %t (%v); want %v, %t", c.name, c.run.Signs, c.run.Valid, c.run.Why, c.want, c.valid)
		}
	}
}

// The highest values belong to their step, and the last ones are those before the end.
func TestFold(t *testing.T) {
	r := Run{Outcome: Held, Steps: []Step{step(0, 1), step(1, 1)}, Samples: []Sample{
		{T: 0.1, State: State{Group: new(5.0)}}, {T: 0.5, State: State{Group: new(9.0), RSS: new(4.0)}}, {T: 1.5, State: State{Group: new(7.0)}},
	}}
	r.Judge(usual)
	if *r.Steps[0].Most.Group != 9 || *r.Steps[1].Most.Group != 7 || *r.Last.Group != 7 || *r.Last.RSS != 4 || r.Steps[1].Most.RSS != nil || r.Last.HeapLive != nil {
		t.Errorf("%+v, %+v", r.Steps, r.Last)
	}
}

func TestText(t *testing.T) {
	root := Process{PID: 7, Name: "server\x1b[2J", Root: true, Score: new(667), Adj: new(0)}
	worker := Process{PID: 8, Name: "worker"}
	died := func(p Process) *Run {
		return &Run{Outcome: Died, Limit: 64 << 20, Group: "v1", Steps: []Step{step(0, 1)}, Kills: []Kill{{Process: p, Source: "the kernel's log"}}, Members: []Process{root, worker}, Signs: []Sign{{Kind: SignKill, Text: "killed"}}, Valid: true}
	}
	shaken := step(0, 1)
	shaken.Disturbed = []string{"the hypervisor took 9.0 % of the CPUs' time"}
	held := &Run{Outcome: Held, Steps: []Step{step(0, 1)}, Valid: true}
	for _, c := range []struct {
		name string
		runs []*Run
		want string
	}{
		{"held", []*Run{held}, "The server held 1 step, up to 8 connections"},
		{"died", []*Run{died(worker)}, "The kernel killed worker, another process of the command (pid 8)"},
		{"same", []*Run{died(root), died(root)}, "did not change whom the kernel chose"},
		{"other", []*Run{died(root), died(worker)}, "the kernel chose worker"},
		{"saved", []*Run{died(root), held}, "the outcome is held instead of died"},
		{"invalid", []*Run{{Outcome: Held, Steps: []Step{step(0, 1)}, Why: []string{"busy"}}}, "INVALID: busy"},
		{"disturbed", []*Run{{Outcome: Held, Steps: []Step{step(0, 1), shaken}, Valid: true}}, "DISTURBED: the hypervisor took 9.0 % of the CPUs' time (steps disturbed: 1)"},
		{"ended", []*Run{{Outcome: Died, How: "exit status 2\npanic", Valid: true}}, "ended before the first step: exit status 2."},
	} {
		r := Report{Runs: c.runs}
		r.Conclude()
		var b strings.Builder
		if err := r.Text(&b, screen.Screen{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}
