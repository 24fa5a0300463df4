package objective

import (
	"testing"

	"github.com/redline-go/redline/lab/results"
)

// TestDoubt leaves open what a disturbance may have caused, and nothing else.
func TestDoubt(t *testing.T) {
	us := 5000.0
	f := Figures{Latency: results.Latency{Count: 1e6, P99: &us, MaxUs: us, MeanUs: us}, Rate: 1000, Answered: 1e6}
	for text, want := range map[string]struct{ kept, undecided bool }{
		"mean<10ms":  {true, false},
		"mean<1ms":   {false, true},
		"mean>1ms":   {false, true},
		"mean>10ms":  {false, false},
		"rate>900":   {true, false},
		"rate>1100":  {false, true},
		"rate<1100":  {false, true},
		"rate<900/s": {false, false},
	} {
		o, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		j := o[0].Judge(f)
		j.Doubt(o[0], []string{"steal"})
		if j.Kept != want.kept || (j.Undecided == "steal") != want.undecided {
			t.Errorf("%s: %+v", text, j)
		}
	}
}
