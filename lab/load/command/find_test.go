package command

import (
	"testing"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// TestJudge checks that a disturbed trial that kept the objective counts as kept: without the
// disturbance it would have been faster. A disturbed trial that broke it proves nothing.
func TestJudge(t *testing.T) {
	late := results.Gate{Name: "send lag", Text: "requests left too late"}
	steal := results.Gate{Name: "steal", Text: "the hypervisor took it"}
	short := results.Gate{Name: "achieved", Text: "not all sent"}
	us := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		find  string
		p99   float64
		gates []results.Gate
		want  objective.Verdict
	}{
		"kept":                     {"p99<10ms", 5e3, nil, objective.Kept},
		"kept under lag":           {"p99<10ms", 5e3, []results.Gate{late}, objective.Kept},
		"kept under steal":         {"p99<10ms", 5e3, []results.Gate{steal}, objective.Kept},
		"kept, but not all sent":   {"p99<10ms", 5e3, []results.Gate{short}, objective.Broken},
		"broken":                   {"p99<10ms", 5e4, nil, objective.Broken},
		"broken under lag":         {"p99<10ms", 5e4, []results.Gate{late}, objective.Invalid},
		"broken under steal":       {"p99<10ms", 5e4, []results.Gate{steal}, objective.Invalid},
		"slow enough":              {"p99>1ms", 5e3, nil, objective.Kept},
		"slow enough, under steal": {"p99>1ms", 5e3, []results.Gate{steal}, objective.Invalid},
	} {
		list, err := objective.Parse(c.find)
		if err != nil {
			t.Fatal(err)
		}
		d := &present.Document{Gates: c.gates, Requests: 5000, Latency: results.Latency{Count: 5000, P99: us(c.p99)}}
		d.Open = &results.Open{SendLag: results.Latency{P99: us(900)}, Pacing: results.Latency{P99: us(900)}}
		if got := judge(d, list); got.Verdict != c.want {
			t.Errorf("%s: %s, %q; want %s", name, got.Verdict, got.Why, c.want)
		}
	}
}
