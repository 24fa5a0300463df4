package diagnose

import (
	"encoding/json"
	"math"
	"slices"
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
		{ID: "machine", Gain: Gain{Ceiling: 9}, Confidence: 1, Outside: true}, // after what the server could do
		{ID: "minor", Gain: Gain{CPU: 0.04}, Confidence: 1},
	})
	var got []string
	for _, c := range list {
		got = append(got, c.ID)
	}
	if want := []string{"leak", "ceiling", "latency", "cpu", "minor", "machine"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
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
