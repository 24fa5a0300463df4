package diagnose

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestRank(t *testing.T) {
	list := Rank([]Cause{
		{ID: "small", Gain: Gain{CPU: 0.01}, Confidence: 1},
		{ID: "unsure", Gain: Gain{CPU: 0.9}, Confidence: 0.1},
		{ID: "nonsense", Gain: Gain{Latency: math.NaN()}, Confidence: 1},
		{ID: "cpu", Gain: Gain{CPU: 0.3}, Confidence: 1},
		{ID: "ceiling", Gain: Gain{Ceiling: 1}, Confidence: 0.9}, // as a latency that halves
		{ID: "leak", Gain: Gain{Fatal: true}, Confidence: 0.9},
		{ID: "latency", Gain: Gain{Latency: 0.44}, Confidence: 1},
	})
	var got []string
	for _, c := range list {
		got = append(got, c.ID)
	}
	if want := []string{"leak", "ceiling", "latency", "cpu"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReport(t *testing.T) {
	r := &Report{Evidence: Evidence{
		Server: Server{CPUs: 2, Quota: 1.5},
		Sweep:  []Point{{Connections: 1, Rate: 100, Valid: true}, {Connections: 2, Rate: 190, Valid: true}, {Connections: 4, Rate: 200, Valid: true}, {Connections: 8, Rate: 195}},
		Loads:  []Load{{Name: Low, Generator: Generator{Valid: true}}, {Name: Knee, Cores: 1.45, Generator: Generator{Valid: true}}},
	}}
	r.Conclude()
	if r.Ceiling != 200 || r.Knee != 2 || !r.Valid || !strings.Contains(r.Verdict, "limited by CPU") || !strings.Contains(r.Verdict, "No cause was found") {
		t.Errorf("%+v", r)
	}
	r.Loads[1].Cores, r.Loads[0].Generator = 0.4, Generator{Why: "a little late"}
	if r.Conclude(); !r.Valid || len(r.Doubts) != 1 {
		t.Errorf("%v, doubts %q", r.Valid, r.Doubts)
	}
	r.Loads[1].Generator = Generator{Why: "late"}
	r.Causes = []Cause{{ID: "x", Gain: Gain{CPU: 0.5}}}
	r.Conclude()
	if r.Valid || r.Why[0] != "knee: late" || !strings.Contains(r.Verdict, "it waits") || !strings.Contains(r.Verdict, "not valid") {
		t.Errorf("%+v", r)
	}
	r.Sweep[2].Valid, r.Loads[1].Generator = false, Generator{Valid: true} // the ceiling is that of a disturbed run
	if r.Conclude(); r.Valid || len(r.Why) != 1 || !strings.HasPrefix(r.Why[0], "sweep, 4 connections") {
		t.Errorf("%v %q", r.Valid, r.Why)
	}
	r.Loads[1].Errors = 0.95
	if r.Conclude(); !strings.Contains(r.Verdict, "95 % of the requests fail") {
		t.Error(r.Verdict)
	}
	empty := &Report{}
	if empty.Conclude(); empty.Valid || empty.Verdict == "" {
		t.Errorf("%+v", empty)
	}
}

// What is large is left out of the report, and kept in the evidence.
func TestSlim(t *testing.T) {
	e := &Evidence{Loads: []Load{{Name: Knee, Rate: 7, OnCPU: someStacks(), Wall: someStacks()}}, Rest: &Rest{Wall: someStacks(), Answers: 5}}
	slim := e.Slim()
	if l := slim.Knee(); l.OnCPU != nil || l.Wall != nil || l.Rate != 7 || slim.Rest.Wall != nil || slim.Rest.Answers != 5 {
		t.Errorf("%+v", slim)
	}
	if e.Knee().OnCPU == nil || e.Rest.Wall == nil {
		t.Error("the evidence has changed")
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again Evidence
	if err := json.Unmarshal(text, &again); err != nil || again.Knee().OnCPU.Share(In("encoding/json")) != 0.7 {
		t.Errorf("%v, %+v", err, again)
	}
}
