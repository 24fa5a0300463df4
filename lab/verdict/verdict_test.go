package verdict

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

func TestFailures(t *testing.T) {
	kinds := map[string]uint64{"reset": 3, "status": 4}
	for _, c := range []struct {
		errors     map[string]uint64
		unanswered uint64
		open       *results.Open
		want       uint64
		text       string
	}{
		{nil, 0, nil, 0, ""},
		{kinds, 0, nil, 7, "7 answers were wrong or missing (reset 3, status 4)"},
		{nil, 64, nil, 64, "64 answers were wrong or missing"},
		{kinds, 0, &results.Open{Failed: 9, Unfinished: 2}, 11, "11 answers"}, // those of the window are among the failed
		{nil, 0, &results.Open{Failed: 2}, 2, "2 answers"},                    // after it
	} {
		n := Failures(c.errors, c.unanswered, c.open)
		if g := Errors(n, c.errors); n != c.want || g.Passed != (n == 0) || !g.Passed && !strings.HasPrefix(g.Text, c.text) {
			t.Errorf("%v, %d, %+v: %d failures, want %d; %+v", c.errors, c.unanswered, c.open, n, c.want, g)
		}
	}
	if Unanswered(1).Passed || !Unanswered(0).Passed {
		t.Error("one unanswered request passes, or none does not")
	}
}

func TestForeign(t *testing.T) {
	if g := Foreign(nil, 5, false); g != nil {
		t.Errorf("%v without knowing", g)
	}
	for _, c := range []struct {
		ratio, seconds float64
		passed         bool
	}{
		{0, 5, true}, {0.051, 5, true}, {0.053, 5, false}, {0.059, 1, true}, {0.061, 1, false}, {0.5, 60, false}, {0.5, 0, true},
	} {
		if g := Foreign(&c.ratio, c.seconds, false); len(g) != 1 || g[0].Passed != c.passed {
			t.Errorf("%v of %v s: %+v, want %v", c.ratio, c.seconds, g, c.passed)
		}
	}
}
