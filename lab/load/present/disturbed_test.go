package present

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
)

// TestTrendIsNoDoubt calls a threshold broken although the rate had a trend, which may be the server's
// own; what takes time from the run leaves it open.
func TestTrendIsNoDoubt(t *testing.T) {
	fell := func(r *spec.Result) { r.Drift = -0.4 }
	stolen := func(r *spec.Result) { r.Steal = 0.2 }
	for name, c := range map[string]struct {
		change            []func(*spec.Result)
		undecided, bounds bool
	}{
		"fell":          {change: []func(*spec.Result){fell}},
		"never settled": {change: []func(*spec.Result){func(r *spec.Result) { r.Steady = false }}},
		"stolen":        {[]func(*spec.Result){stolen}, true, true},
		"both":          {[]func(*spec.Result){fell, stolen}, true, true},
	} {
		d, r := closedRun(t)
		for _, change := range c.change {
			change(r)
		}
		fill(t, d, r, "rate>1e9,p99<1us")
		if !d.Valid || len(d.Disturbed()) != len(c.change) || d.Kept() || d.Broken() == c.undecided {
			t.Errorf("%s: valid %v, disturbed %v, %+v", name, d.Valid, d.Disturbed(), d.Thresholds)
		}
		for _, j := range d.Thresholds {
			if strings.Contains(j.Undecided, "steady") {
				t.Errorf("%s: %+v", name, j)
			}
		}
		if text := d.Disturbance(); text == "" || strings.Contains(text, "bound") != c.bounds {
			t.Errorf("%s: %s", name, text)
		}
		if ok, _ := d.Believed(); ok {
			t.Errorf("%s: a search would believe the run", name)
		}
		if ok, why := d.BelievedDisturbed(); !ok {
			t.Errorf("%s: %s", name, why)
		}
	}
}
