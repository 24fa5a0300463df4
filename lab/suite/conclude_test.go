package suite

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// measured returns a comparison of 9 blocks in which a request takes 10 us in base and
// 10 us times ratio in other, with half a percent of noise and the same drift for all.
func measured(t *testing.T, ratio float64, change func(*results.Run)) *results.File {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	f := &results.File{
		Config:    results.Config{Baseline: "base", Blocks: 9},
		Workloads: []results.Workload{{Name: "plaintext"}},
		Subjects: []results.Subject{
			{Name: "base", Role: roleBaseline},
			{Name: "base@twin", Role: roleTwin},
			{Name: "other", Role: roleSubject},
			{Name: floorName, Role: roleFloor},
		},
	}
	for block := 1; block <= f.Config.Blocks; block++ {
		drift := 1 + 0.05*float64(block)
		// In one order, so that the noise is the same in each run of the test.
		for i, cost := range []float64{10, 10, 10 * ratio, 4} {
			name := f.Subjects[i].Name
			h := hdrhistogram.New(1, 1e9, 3)
			if err := h.RecordValues(int64(cost*1e4), 1000); err != nil {
				t.Fatal(err)
			}
			lat, err := results.NewLatency(h)
			if err != nil {
				t.Fatal(err)
			}
			cost *= drift * (1 + 0.005*rng.NormFloat64())
			r := results.Run{
				Workload: "plaintext", Subject: name, Block: block, Valid: true, Counted: true,
				Requests: 1000, Rate: 1e6 / cost, Latency: lat,
				CPU:    results.CPU{PerRequestUs: cost, Utilisation: 1},
				Memory: results.Memory{RSSPeakBytes: 1 << 20},
			}
			change(&r)
			f.Runs = append(f.Runs, r)
		}
	}
	if err := conclude(f, 1); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTwinOfTooFewBlocks has no verdict on the baseline and itself, and none on others.
func TestTwinOfTooFewBlocks(t *testing.T) {
	f := measured(t, 1, func(*results.Run) {})
	f.Runs = slices.DeleteFunc(f.Runs, func(r results.Run) bool { return r.Block > 5 })
	if err := conclude(f, 1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base@twin", "other"} {
		if c := comparison(t, f, name, results.MetricCPU); c.Verdict != results.NoVerdict || !strings.Contains(c.Reason, "5 blocks") || c.Blocks != 5 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func comparison(t *testing.T, f *results.File, subject string, m results.Metric) results.Comparison {
	t.Helper()
	i := slices.IndexFunc(f.Comparisons, func(c results.Comparison) bool { return c.Subject == subject && c.Metric == m })
	if i < 0 {
		t.Fatalf("no comparison of %s in %s", subject, m)
	}
	return f.Comparisons[i]
}

// full fills the generator of a run, or does not.
func full(r *results.Run, full bool) {
	r.Generator.Bound = full
	r.Gates = append(r.Gates, verdict.Unbound(full, 1))
}

func TestConclude(t *testing.T) {
	asIs := func(*results.Run) {}
	for _, c := range []struct {
		name   string
		ratio  float64
		change func(*results.Run)
		metric results.Metric
		want   results.Verdict
		reason string
	}{
		{"half the CPU", 0.5, asIs, results.MetricCPU, results.Faster, ""},
		{"half the CPU, rate", 0.5, asIs, results.MetricRate, results.Faster, ""},
		{"a third more CPU", 1.33, asIs, results.MetricCPU, results.Slower, ""},
		{"the same", 1, asIs, results.MetricCPU, results.Equivalent, ""},
		{"generator saturated", 0.5, func(r *results.Run) { full(r, r.Subject == "other") }, results.MetricRate, results.NoVerdict, "left out for generator 9"},
		{"generator saturated in two blocks", 0.5, func(r *results.Run) { full(r, r.Block <= 2) }, results.MetricRate, results.Faster, ""},
		{"generator saturated, CPU", 0.5, func(r *results.Run) { full(r, true) }, results.MetricCPU, results.Faster, ""},
		{"too few blocks", 0.5, func(r *results.Run) { r.Counted = r.Block < 5 }, results.MetricCPU, results.NoVerdict, "blocks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := comparison(t, measured(t, c.ratio, c.change), "other", c.metric)
			if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("verdict %s (%s) on %+v, want %s (%s)", got.Verdict, got.Reason, got, c.want, c.reason)
			}
		})
	}
}

// TestFewBlocksAreDecided asks for fewer pairs than a verdict needs: there is none, and that is no
// failure, unless pairs are lost.
func TestFewBlocksAreDecided(t *testing.T) {
	for _, lost := range []bool{false, true} {
		f := measured(t, 0.5, func(r *results.Run) {
			r.Counted = r.Block <= 3
			if lost && r.Block == 1 {
				r.Gates = append(r.Gates, failing("steady", false))
			}
		})
		f.Config.Blocks = 3
		if err := conclude(f, 1); err != nil {
			t.Fatal(err)
		}
		failed := slices.ContainsFunc(f.Gates, func(g results.Gate) bool { return !g.Passed })
		if got := comparison(t, f, "other", results.MetricCPU).Verdict; got == results.Faster || failed != lost {
			t.Errorf("lost %v: %s, gates %+v", lost, got, f.Gates)
		}
	}
}

func TestTwinIsNeverADifference(t *testing.T) {
	f := measured(t, 1, func(r *results.Run) {
		if r.Subject == "base@twin" {
			r.CPU.PerRequestUs *= 1.2 // a systematic bias
		}
		if r.Subject == "other" {
			r.CPU.PerRequestUs *= 1.15
		}
	})
	twin := comparison(t, f, "base@twin", results.MetricCPU)
	if twin.Verdict != results.Inconclusive || twin.Floor < 0.15 {
		t.Errorf("twin: %+v", twin)
	}
	if other := comparison(t, f, "other", results.MetricCPU); other.Verdict == results.Slower {
		t.Errorf("15 %% reported as a difference with a floor of %v", other.Floor)
	}
}

func TestCellsAndHeadroom(t *testing.T) {
	f := measured(t, 0.5, func(*results.Run) {})
	i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Subject == "base" })
	cell := f.Cells[i]
	if cell.Blocks != 9 || cell.Latency.Count != 9000 {
		t.Errorf("cell of %d blocks, %d samples", cell.Blocks, cell.Latency.Count)
	}
	if over := cell.OverFloor; over == nil || over.Value < 2.4 || over.Value > 2.6 || over.Low > over.Value || over.High < over.Value {
		t.Errorf("over the floor %+v, want about 2.5", over)
	}
	if cpu := cell.Metrics[results.MetricCPU]; cpu.Low > cpu.Value || cpu.Value > cpu.High || cpu.Value < 11 || cpu.Value > 14 {
		t.Errorf("CPU per request %+v, want about 12.5", cpu)
	}
	for _, r := range f.Runs {
		if r.Generator.Headroom == nil {
			t.Fatalf("%s has no headroom", r.ID)
		}
		if h := *r.Generator.Headroom; r.Subject == "base" && (h < 2.3 || h > 2.7) {
			t.Errorf("headroom %v, want about 2.5", h)
		}
	}
}

// TestShortRunsAreNotAveragedIn has a subject that does not reach the rate in some blocks.
func TestShortRunsAreNotAveragedIn(t *testing.T) {
	f := measured(t, 0.5, func(r *results.Run) {
		if r.Subject == "other" && r.Block <= 2 {
			r.Short, r.Counted, r.CPU.PerRequestUs = "did not reach the rate", false, 1e6
		}
	})
	i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Subject == "other" })
	if c := f.Cells[i]; c.Short != 2 || c.Blocks != 7 || c.Failed != 0 || c.Metrics[results.MetricCPU].High > 10 {
		t.Errorf("cell %+v, want 7 blocks that count, and 2 short ones", c)
	}
}
