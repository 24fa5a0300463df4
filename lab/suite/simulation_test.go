package suite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
	"github.com/redline-go/redline/lab/verdict"
)

// A weather is what disturbs the machine in a simulated comparison. Its effects are those that were
// measured: 5 % of stolen time makes a request in a saturated loop 10 % dearer, lowers the rate by
// 14 %, and adds 19 % to the median latency for each per cent; other processes leave the CPU time
// of a closed loop alone, lower that of an open one, and raise the 99th percentile nine-fold.
type weather struct {
	steal   float64 // mean share of stolen time
	foreign float64 // probability that others use the CPUs during a run
}

// simulated is a comparison with a known truth.
type simulated struct {
	weather
	open   bool
	blocks int
	effect float64 // true ratio of the CPU time, and of the latency, of the subjects
	apart  float64 // by how much less other processes change their CPU time in an open loop than that of the baseline
}

const (
	simulatedSubjects = 4
	simulatedNoise    = 0.015 // standard deviation of a run's CPU time
	simulatedWindow   = 0.6
)

// run invents a run.
func (s *simulated) run(name string, block int, drift, stolen, effect, apart float64, rng *rand.Rand) results.Run {
	noise := func(sd float64) float64 { return math.Exp(sd * rng.NormFloat64()) }
	steal := max(0, stolen+0.25*s.steal*rng.NormFloat64())
	foreign := 0.01 * rng.Float64()
	if rng.Float64() < s.foreign {
		foreign = 0.05 + 0.3*rng.Float64()
	}
	cpu := 10 * effect * drift * noise(simulatedNoise)
	if rng.IntN(100) == 0 {
		cpu *= noise(0.1) // a stray run
	}
	if s.open {
		cpu *= math.Exp(-(0.6 - apart) * foreign)
	} else {
		cpu *= math.Exp(stealCost * steal)
	}
	p99 := 500 * effect * noise(0.05) * math.Exp(19*steal)
	if foreign > 0.05 {
		p99 *= 9
	}
	r := results.Run{
		Workload: "simulated", Subject: name, Block: block, Counted: true, WindowSeconds: simulatedWindow, Requests: 1000,
		Rate: 1e5 / effect / drift * noise(0.02) * (1 - 2.8*steal) * (1 - foreign),
		CPU:  results.CPU{PerRequestUs: cpu}, Latency: results.Latency{P99: &p99},
		Memory:    results.Memory{RSSPeakBytes: uint64(20e6 * noise(0.01))},
		Generator: results.Generator{StealRatio: steal, ForeignRatio: &foreign},
	}
	r.Gates = append([]results.Gate{verdict.Steal(steal, simulatedWindow)}, verdict.Foreign(&foreign, simulatedWindow, s.open)...)
	return r
}

// file invents a comparison.
func (s *simulated) file(rng *rand.Rand) *results.File {
	f := &results.File{
		Config:    results.Config{Baseline: "base", Blocks: s.blocks},
		Workloads: []results.Workload{{Name: "simulated", Lead: results.MetricCPU}},
		Subjects:  []results.Subject{{Name: "base", Role: roleBaseline}, {Name: "base@twin", Role: roleTwin}},
	}
	if s.open {
		f.Workloads[0].Arrivals = "Poisson"
	}
	for i := range simulatedSubjects {
		f.Subjects = append(f.Subjects, results.Subject{Name: fmt.Sprint("subject", i), Role: roleSubject})
	}
	for block := 1; block <= s.blocks; block++ {
		drift := math.Exp(0.05 * rng.NormFloat64())
		stolen := s.steal * (0.5 + rng.Float64())
		for i, one := range f.Subjects {
			effect, apart := 1.0, 0.0
			if i > 1 {
				effect, apart = s.effect, s.apart
			}
			f.Runs = append(f.Runs, s.run(one.Name, block, drift, stolen, effect, apart, rng))
		}
	}
	return f
}

// A verdictCount counts verdicts on simulated subjects, by metric, and the comparisons with a false one.
type verdictCount struct {
	verdicts map[results.Verdict]int
	found    int // comparisons with a subject that is faster or slower
}

// count simulates comparisons.
func (s *simulated) count(t *testing.T, seed uint64, times int) map[results.Metric]*verdictCount {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 65))
	counts := map[results.Metric]*verdictCount{}
	for i := range times {
		f := s.file(rng)
		for _, m := range metrics {
			disturbed := s.steal+s.foreign > 0
			if !m.verdict || m.name == results.MetricConn || m.chosen && s.open || s.effect != 1 && m.name != results.MetricCPU || disturbed && m.name == results.MetricRSS {
				continue
			}
			rows, err := compare(f, &f.Workloads[0], m, uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			c := counts[m.name]
			if c == nil {
				c = &verdictCount{verdicts: map[results.Verdict]int{}}
				counts[m.name] = c
			}
			found := 0
			for _, row := range rows[1:] {
				c.verdicts[row.Verdict]++
				if row.Verdict == results.Faster || row.Verdict == results.Slower {
					found = 1
				}
			}
			c.found += found
		}
	}
	return counts
}

// TestVerdictsUnderDisturbance simulates comparisons on a machine that is disturbed: at most 1 % of
// 200 with equal servers have a false verdict in any metric, servers that need 8 % more CPU time are
// found in 19 of 20 of half as many, and never called cheaper or equivalent. If others use the CPUs in
// all runs of an open loop they need not be found, but no verdict is false. Memory, which no
// disturbance changes, is compared once.
func TestVerdictsUnderDisturbance(t *testing.T) {
	once(t)
	for name, s := range map[string]simulated{
		"quiet":                   {weather{0, 0}, false, 9, 1, 0},
		"stolen time":             {weather{0.04, 0}, false, 9, 1, 0},
		"others":                  {weather{0, 0.3}, false, 9, 1, 0},
		"both":                    {weather{0.04, 0.3}, false, 9, 1, 0},
		"open loop, stolen time":  {weather{0.04, 0}, true, 9, 1, 0},
		"open loop, others":       {weather{0, 0.3}, true, 30, 1, 0},
		"open loop, no free time": {weather{0, 1}, true, 18, 1, 0},
		"the same, unequally":     {weather{0, 1}, true, 18, 1, busyCost},
		"the other way round":     {weather{0, 1}, true, 18, 1, -busyCost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times := 200
			if s.foreign == 1 {
				times = 100
			}
			for metric, c := range s.count(t, 3, times) {
				t.Logf("equal servers, %s: %v", metric, c.verdicts)
				if c.found > times/100 {
					t.Errorf("equal servers, %s: %d of %d comparisons have a false verdict", metric, c.found, times)
				}
			}
			s.effect, times = 1.08, times/2
			cpu := s.count(t, 4, times)[results.MetricCPU].verdicts
			t.Logf("8 %% more: %v", cpu)
			if cpu[results.Faster]+cpu[results.Equivalent] > 0 {
				t.Errorf("8 %% more CPU time: %v", cpu)
			}
			all := times * simulatedSubjects
			switch {
			case s.foreign == 1 && cpu[results.Slower]+cpu[results.Inconclusive] != all:
				t.Errorf("all pairs were measured beside other processes, but %v", cpu)
			case s.foreign < 1 && cpu[results.Slower]*20 < all*19:
				t.Errorf("8 %% more CPU time: %v of %d", cpu, all)
			}
		})
	}
}

// TestLargeDifferenceBesideOthers finds servers that need half as much or twice the CPU time although
// others use the CPUs in all runs of an open loop, and the servers' answers to that differ.
func TestLargeDifferenceBesideOthers(t *testing.T) {
	once(t)
	for effect, want := range map[float64]results.Verdict{0.5: results.Faster, 2: results.Slower} {
		for _, apart := range []float64{-busyCost, busyCost} {
			s := simulated{weather{0.04, 1}, true, 9, effect, apart}
			if got := s.count(t, 5, 20)[results.MetricCPU].verdicts; got[want] != 20*simulatedSubjects {
				t.Errorf("%v × CPU time, %v apart: %v", effect, apart, got)
			}
		}
	}
}

// TestStolenTimeWithoutCorrection shows what the correction is for: it makes the interval narrower.
func TestStolenTimeWithoutCorrection(t *testing.T) {
	once(t)
	s := simulated{weather{0.04, 0}, false, 9, 1, 0}
	rng := rand.New(rand.NewPCG(8, 65))
	narrower, times := 0, 100
	for i := range times {
		f := s.file(rng)
		width := func(arrivals string) float64 {
			f.Workloads[0].Arrivals = arrivals // CPU time of an open loop is not corrected
			rows, err := compare(f, &f.Workloads[0], metrics[0], uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			var widths []float64
			for _, c := range rows {
				widths = append(widths, c.Ratio.High/c.Ratio.Low)
			}
			return stats.Median(widths)
		}
		if width("") < width("Poisson") {
			narrower++
		}
	}
	if narrower < times*3/4 {
		t.Errorf("the correction makes the interval narrower in %d of %d comparisons", narrower, times)
	}
}
