package verdict

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

func TestRan(t *testing.T) {
	if g := Ran(nil, spec.GapSum{}); !g.Passed {
		t.Errorf("no stall: %+v", g)
	}
	g := Ran([]spec.Gap{{At: 1, Seconds: 0.1}, {At: 4.5, Seconds: 2}}, spec.GapSum{Times: 30, Seconds: 3})
	if g.Passed || !strings.HasPrefix(g.Text, "the generator did not run for 2.00 s at 4.50 s (30 times, 3.00 s in all)") {
		t.Errorf("%+v", g)
	}
	gates := []results.Gate{g}
	if !results.Valid(gates) || len(results.Spoilers(gates, results.FigureLatency)) != 1 || len(results.Spoilers(gates, results.FigureCPU)) != 0 {
		t.Errorf("%+v", gates)
	}
}
