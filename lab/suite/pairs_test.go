package suite

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// failing returns the gate of a disturbance that is beyond its limit.
func failing(name string, open bool) results.Gate {
	half := 0.5
	switch name {
	case "steal":
		return verdict.Steal(half, 1)
	case "foreign CPU":
		return verdict.Foreign(&half, 1, open)[0]
	case "steady":
		return verdict.Steady(false, 1)
	}
	return verdict.Errors(1, map[string]uint64{"status": 1})
}

// TestPairsByMetric spoils the first blocks of one side, and checks of which metrics they are left
// out.
func TestPairsByMetric(t *testing.T) {
	all := []results.Metric{results.MetricCPU, results.MetricRate, results.MetricP99, results.MetricRSS}
	for _, c := range []struct {
		gate   string
		open   bool
		spoils []results.Metric
		wrong  bool
	}{
		{"steal", false, all[1:3], false},
		{"steal", true, all[1:3], false},
		{"foreign CPU", false, all[1:3], false},
		{"foreign CPU", true, all[:3], false},
		{"steady", false, all[:3], false},
		{"errors", false, all, true},
	} {
		for _, side := range []string{"base", "other"} {
			f := measured(t, 0.5, func(r *results.Run) {
				if r.Subject == side && r.Block <= 2 {
					r.Gates = append(r.Gates, failing(c.gate, c.open))
				}
			})
			for _, m := range all {
				got := comparison(t, f, "other", m)
				left := 0
				if slices.Contains(c.spoils, m) {
					left = 2
				}
				disturbed, wrong := left, 0
				if c.wrong {
					disturbed, wrong = 0, left
				}
				if got.Usable != 9-left || got.Disturbed != disturbed || got.Invalid != wrong || got.Blocks != 9-left {
					t.Errorf("%s of %s, open %v: %s has %d usable pairs, %d disturbed, %d invalid; want %d to be left out",
						c.gate, side, c.open, m, got.Usable, got.Disturbed, got.Invalid, left)
				}
			}
		}
	}
}

// TestWrongAnswersUnderDisturbance has wrong answers in runs that were disturbed as well: they are
// invalid in each metric. A generator that was late because of the disturbance is disturbed.
func TestWrongAnswersUnderDisturbance(t *testing.T) {
	late := results.Gate{Name: "pacing", Spoils: []results.Figure{results.FigureLatency}}
	for name, c := range map[string]struct {
		gate  results.Gate
		wrong bool
	}{"wrong": {failing("errors", false), true}, "late": {late, false}} {
		f := measured(t, 0.5, func(r *results.Run) {
			if r.Subject == "other" {
				r.Gates = []results.Gate{failing("steal", false), c.gate}
			}
		})
		got := comparison(t, f, "other", results.MetricP99)
		if want := map[bool]int{true: 9}[c.wrong]; got.Invalid != want || got.Disturbed != 9-want {
			t.Errorf("%s: %+v", name, got)
		}
		f.Workloads[0].Lead = results.MetricP99
		if err := conclude(f, 1); err != nil {
			t.Fatal(err)
		}
		if results.Valid(f.Gates) == c.wrong {
			t.Errorf("%s: gates %+v", name, f.Gates)
		}
	}
}

// TestTooDisturbed spoils so many pairs that too few remain for a verdict.
func TestTooDisturbed(t *testing.T) {
	f := measured(t, 0.5, func(r *results.Run) {
		if r.Subject == "other" && r.Block <= 5 {
			r.Gates = []results.Gate{failing("steal", false)}
		}
	})
	rate, cpu := comparison(t, f, "other", results.MetricRate), comparison(t, f, "other", results.MetricCPU)
	if rate.Verdict != results.TooDisturbed || rate.Reason != "4 of 9 pairs can be used, 7 are needed; left out for steal 5" || rate.Blocks != 9 || rate.Ratio.Value < 1.9 {
		t.Errorf("rate: %+v", rate)
	}
	if cpu.Verdict != results.Faster || cpu.Usable != 9 {
		t.Errorf("CPU: %+v", cpu)
	}
	for _, c := range f.Cells {
		want := []results.Figure(nil)
		if c.Subject == "other" {
			want = []results.Figure{results.FigureRate, results.FigureLatency}
		}
		if !reflect.DeepEqual(c.Disturbed, want) || c.Latency.Count != 9000 {
			t.Errorf("cell of %s: disturbed %v, want %v; %d latencies", c.Subject, c.Disturbed, want, c.Latency.Count)
		}
	}
	if i := slices.IndexFunc(f.Gates, func(g results.Gate) bool { return !g.Passed }); i >= 0 {
		t.Errorf("the main metric is CPU, but %+v", f.Gates[i])
	}
	f.Workloads[0].Lead = results.MetricRate
	if err := conclude(f, 1); err != nil {
		t.Fatal(err)
	}
	bad := results.Disturbed(f.Gates)
	if len(bad) != 1 || bad[0].Name != "pairs" || !strings.Contains(bad[0].Text, "plaintext has 4 of 7 for other") || !results.Valid(f.Gates) {
		t.Errorf("gates %+v", f.Gates)
	}
}

// TestPairsBesideOthers uses pairs of an open loop that were measured while other processes used the
// CPUs, those with the least of it first and no more than are needed, with a wider interval.
func TestPairsBesideOthers(t *testing.T) {
	for name, c := range map[string]struct {
		ratio  float64
		blocks int    // that other is disturbed in
		also   string // gate that fails as well
		busy   int
		want   results.Verdict
	}{
		"enough others":         {0.5, 2, "", 0, results.Faster},
		"one too few":           {0.5, 3, "", 1, results.Faster},
		"all":                   {0.5, 9, "", 7, results.Faster},
		"a small difference":    {0.92, 9, "", 7, results.Inconclusive},
		"equal":                 {1, 9, "", 7, results.Inconclusive},
		"another disturbance":   {0.5, 9, "steady", 0, results.TooDisturbed},
		"steal, not of CPU":     {0.5, 9, "steal", 7, results.Faster},
		"wrong answers as well": {0.5, 9, "errors", 0, results.NoVerdict},
	} {
		f := measured(t, c.ratio, func(r *results.Run) {
			if r.Subject != "other" || r.Block > c.blocks {
				return
			}
			share := 0.1 + 0.01*float64(r.Block)
			r.Gates = verdict.Foreign(&share, 1, true)
			if c.also != "" {
				r.Gates = append(r.Gates, failing(c.also, true))
			}
		})
		got := comparison(t, f, "other", results.MetricCPU)
		if got.Verdict != c.want || got.Busy != c.busy || (got.Widened > 0) != (c.busy > 0) || got.Widened > math.Expm1(busyCost*(0.1+0.01*float64(c.busy))) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Usable+got.Disturbed+got.Invalid != 9 {
			t.Errorf("%s: %d + %d + %d of 9 pairs", name, got.Usable, got.Disturbed, got.Invalid)
		}
		if strings.Contains(got.Reason, "7 of 7 pairs were measured while other processes used up to 17 % of the CPUs") != (c.busy == 7) {
			t.Errorf("%s: %s", name, got.Reason)
		}
		if undecided := len(results.Disturbed(f.Gates)) > 0; undecided != (c.want == results.TooDisturbed) {
			t.Errorf("%s: gates %+v", name, f.Gates)
		}
	}
}

// TestTwinBesideOthers knows the noise from as few pairs as an interval needs, if those beside other processes are
// too few for a verdict.
func TestTwinBesideOthers(t *testing.T) {
	f := measured(t, 0.5, func(r *results.Run) {
		switch {
		case r.Subject != "base@twin":
		case r.Block <= 3:
			r.Gates = []results.Gate{failing("steady", true)}
		case r.Block <= 6:
			r.Gates = []results.Gate{failing("foreign CPU", true)}
		}
	})
	for _, name := range []string{"base@twin", "other"} {
		if c := comparison(t, f, name, results.MetricCPU); c.Verdict == results.TooDisturbed || c.Verdict == results.NoVerdict {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestTwinTooDisturbed has no verdict if the noise is not known.
func TestTwinTooDisturbed(t *testing.T) {
	f := measured(t, 0.5, func(r *results.Run) {
		if r.Subject == "base@twin" && r.Block <= 5 {
			r.Gates = []results.Gate{failing("steal", false)}
		}
	})
	for _, name := range []string{"base@twin", "other"} {
		if c := comparison(t, f, name, results.MetricRate); c.Verdict != results.TooDisturbed {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestWrongAnswersOfAll is INVALID, not disturbed.
func TestWrongAnswersOfAll(t *testing.T) {
	f := measured(t, 0.5, func(r *results.Run) {
		if r.Subject == "other" {
			r.Gates = []results.Gate{failing("errors", false)}
		}
	})
	if c := comparison(t, f, "other", results.MetricCPU); c.Verdict != results.NoVerdict || !strings.Contains(c.Reason, "errors 9") {
		t.Errorf("%+v", c)
	}
	if results.Valid(f.Gates) {
		t.Errorf("gates %+v", f.Gates)
	}
}

// TestStolenTimeIsCorrected has one server whose runs met more stolen time, which made its requests
// dearer.
func TestStolenTimeIsCorrected(t *testing.T) {
	for name, c := range map[string]struct {
		more float64 // stolen time of its runs
		want results.Verdict
	}{
		"a little":                {0.02, results.Equivalent},
		"more than is corrigible": {0.06, results.TooDisturbed},
	} {
		rng := rand.New(rand.NewPCG(1, 9))
		f := measured(t, 1, func(r *results.Run) {
			steal := 0.02 * rng.Float64()
			if r.Subject == "other" {
				steal += c.more
			}
			r.Generator.StealRatio = steal
			r.CPU.PerRequestUs *= math.Exp(stealCost * steal)
		})
		got := comparison(t, f, "other", results.MetricCPU)
		if got.Verdict != c.want || math.Abs(got.StealCost-stealCost) > 0.8 {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestParseMargins(t *testing.T) {
	got, err := ParseMargins("cpu=3%, latency=20.5%")
	if want := (Margins{kindCPU: 0.03, kindRate: 0.05, kindMemory: 0.05, kindLatency: 0.205}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"":               "want cpu, latency, memory, rate",
		"disk=3%":        "want cpu, latency, memory, rate",
		"cpu":            "cpu=5%",
		"cpu=3":          "cpu=5%",
		"cpu=0%":         "above 0",
		"cpu=101%":       "up to 100",
		"cpu=NaN%":       "cpu=5%",
		"cpu=3%%":        "cpu=5%",
		"cpu=3% 4":       "cpu=5%",
		"cpu=3%;rate=4%": "cpu=5%",
	} {
		if _, err := ParseMargins(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
