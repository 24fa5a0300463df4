package suite

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

var (
	// aaTime is how long TestAA measures; 0: it is skipped.
	aaTime = flag.Duration("aa", 0, "measure false verdicts and power on a disturbed machine, for about this long")

	aaDisturb = flag.String("aadisturb", "250ms/580ms", "what disturbs it: `BUSY/IDLE` times of both CPUs, such as 3s/7s, or 0s/1s for nothing")
)

const (
	aaMore        = 1.08 // CPU time of the dearer server
	aaComparisons = 200
	aaBlocks      = 9
	aaSubjects    = 5  // three equal ones, a twin and the dearer one
	aaClean       = 20 // comparisons of undisturbed pairs alone, from which on the power is judged
)

// TestAA measures real comparisons while both CPUs are kept busy for a part of the time: of equal
// servers, which must not differ, and of one that computes more. It records blocks, and draws
// comparisons of nine of them (more of an open loop) with the equal servers in random roles.
func TestAA(t *testing.T) {
	if *aaTime == 0 {
		t.Skip("it takes minutes: make aa")
	}
	if _, _, err := parsePattern(*aaDisturb); err != nil {
		t.Fatal(err)
	}
	var jobs []*aaJob
	t.Run("plan", func(t *testing.T) {
		for _, load := range []string{"plaintext", "pipeline16", "at25"} {
			f, _ := measureGood(t, load, 3)
			jobs = append(jobs, &aaJob{load: load, open: f.Workloads[0].Arrivals != "", cost: f.Cells[0].Metrics[results.MetricCPU].Value})
		}
		cfg := configOf(t, "good")
		disturb(t, cfg.Executable, *aaDisturb, cfg.cpus())
		for _, j := range jobs {
			_, run := measureGood(t, j.load, 4)
			j.block = aaSubjects * run
		}
	})
	aaPlan(jobs, *aaTime)
	for _, j := range jobs {
		t.Logf("%s: a block takes %v, %d are needed: %v", j.load, j.block.Round(time.Millisecond), j.needed(), j.words())
	}
	for _, j := range jobs {
		t.Run(j.load, func(t *testing.T) {
			if j.share == 0 {
				t.Skip("it is not reached: give it more time")
			}
			j.measure(t)
		})
	}
}

// An aaJob is one workload of TestAA.
type aaJob struct {
	load  string
	open  bool
	cost  float64       // CPU time of a request, in microseconds
	block time.Duration // that a block takes
	share time.Duration // of the time; 0: too short
}

// needed returns the number of blocks that comparisons can be drawn from. Half of those of an open loop
// may be disturbed.
func (j *aaJob) needed() int {
	if j.open {
		return 2 * aaBlocks
	}
	return aaBlocks
}

func (j *aaJob) words() string {
	if j.share == 0 {
		return "will not be reached"
	}
	return fmt.Sprintf("%v, about %d blocks", j.share.Round(time.Second), j.share/j.block)
}

// aaPlan shares out the time: each workload gets what it needs, as far as that goes, and the rest is
// shared out by need.
func aaPlan(jobs []*aaJob, limit time.Duration) {
	need := func(j *aaJob) time.Duration { return time.Duration(j.needed()+1) * j.block }
	sum, left := time.Duration(0), limit
	for _, j := range jobs {
		if j.share = 0; need(j) <= left {
			j.share = need(j)
			sum, left = sum+j.share, left-j.share
		}
	}
	for _, j := range jobs {
		if sum > 0 {
			j.share += time.Duration(float64(left) * float64(j.share) / float64(sum))
		}
	}
}

func aaConfig(t *testing.T, load string, subjects ...string) Config {
	t.Helper()
	cfg := configOf(t, subjects...)
	cfg.Workloads, cfg.Connections, cfg.Seed = []string{load}, 64, rand.Uint64()>>11
	cfg.Window, cfg.Warmup = 600*time.Millisecond, 300*time.Millisecond
	return cfg
}

func aaCatalogue(t *testing.T, names ...string) *Catalogue {
	t.Helper()
	c := catalogueOf(t, append(names, "good")...)
	c.external[floorName] = c.external["good"].renamed(floorName)
	return c
}

func aaBench(t *testing.T, cfg Config, c *Catalogue) *results.File {
	t.Helper()
	g, err := guard.Start(cfg.Executable)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Bench(t.Context(), cfg, c, g, func(Step) {})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	return f
}

// measureGood measures one server and its twin. It returns how long a run takes as well.
func measureGood(t *testing.T, load string, blocks int) (*results.File, time.Duration) {
	t.Helper()
	cfg := aaConfig(t, load, "good")
	cfg.Blocks = blocks
	f := aaBench(t, cfg, aaCatalogue(t))
	return f, f.Ended.Sub(f.Runs[0].Started) / time.Duration(len(f.Runs))
}

// measure measures a workload under the disturbance, and judges comparisons that are drawn from it.
func (j *aaJob) measure(t *testing.T) {
	dear := spinFlaw + strconv.Itoa(roundsFor(t, (aaMore-1)*j.cost))
	t.Logf("a request costs %.2f us; the dearer server computes %.2f us more", j.cost, (aaMore-1)*j.cost)
	equal := []string{"good", "same1", "same2"}
	cfg := aaConfig(t, j.load, append(equal, dear)...)
	cfg.Blocks, cfg.Budget, cfg.fixed = 1000, j.share, true
	disturb(t, cfg.Executable, *aaDisturb, cfg.cpus())
	f := aaBench(t, cfg, aaCatalogue(t, "same1", "same2", dear))
	for _, c := range f.Comparisons {
		if c.Metric == f.Workloads[0].LeadMetric() {
			t.Logf("all blocks, %s: %.3f (%.3f to %.3f), noise %.1f %%, %s, %d of %d pairs usable, %d of them beside others", c.Subject, c.Ratio.Value, c.Ratio.Low, c.Ratio.High, 100*c.Noise, c.Verdict, c.Usable, c.Usable+c.Disturbed+c.Invalid, c.Busy)
		}
	}
	t.Log(f.Notes)
	draws, err := aaDraw(f, append(equal, equal[0]+"@"+roleTwin), dear)
	if err != nil {
		t.Fatal(err)
	}
	for metric, d := range draws {
		t.Logf("%s: %d false verdicts of %d; dearer: %v, and of undisturbed pairs alone %d of %d found", metric, d.wrong, d.all, d.dearer, d.found, d.clean)
	}
	for _, fault := range draws[results.MetricCPU].faults() {
		t.Error(fault)
	}
}

// An aaCount counts the verdicts of drawn comparisons.
type aaCount struct {
	all, wrong   int // on an equal server
	dearer       map[results.Verdict]int
	clean, found int // on the dearer one, of undisturbed pairs alone
}

// faults returns what is wrong with the verdicts: more than one of 100 on equal servers is false, or the
// dearer one is not found in 19 of 20.
func (d *aaCount) faults() (out []string) {
	if d.wrong > d.all/100 {
		out = append(out, fmt.Sprintf("%d of %d verdicts on equal servers are false", d.wrong, d.all))
	}
	if d.clean >= aaClean && d.found*20 < d.clean*19 {
		out = append(out, fmt.Sprintf("the dearer server is found in %d of %d", d.found, d.clean))
	}
	if bad := d.dearer[results.Faster] + d.dearer[results.Equivalent]; bad > d.all/100 {
		out = append(out, fmt.Sprintf("the dearer server is called cheaper or equivalent in %d of %d", bad, d.all))
	}
	return out
}

// aaDraw draws comparisons from the blocks of f.
func aaDraw(f *results.File, equal []string, dear string) (map[results.Metric]*aaCount, error) {
	var blocks []int
	for block := range counted(f, f.Workloads[0].Name, dear) {
		blocks = append(blocks, block)
	}
	slices.Sort(blocks)
	if len(blocks) < aaBlocks {
		return nil, fmt.Errorf("%d blocks were measured, and a comparison needs %d: give it more time", len(blocks), aaBlocks)
	}
	most := aaBlocks
	if f.Workloads[0].Arrivals != "" {
		most = min(2*aaBlocks, len(blocks))
	}
	rng := rand.New(rand.NewPCG(f.Config.Seed, 1))
	draws := map[results.Metric]*aaCount{}
	for i := range aaComparisons {
		rng.Shuffle(len(equal), func(a, b int) { equal[a], equal[b] = equal[b], equal[a] })
		rng.Shuffle(len(blocks), func(a, b int) { blocks[a], blocks[b] = blocks[b], blocks[a] })
		g := &results.File{Config: f.Config, Workloads: f.Workloads, Subjects: []results.Subject{
			{Name: equal[0], Role: roleBaseline},
			{Name: equal[1], Role: roleTwin},
			{Name: equal[2], Role: roleSubject},
			{Name: dear, Role: roleSubject},
		}}
		g.Config.Baseline = equal[0]
		for _, r := range f.Runs {
			if slices.Contains(blocks[:most], r.Block) {
				g.Runs = append(g.Runs, r)
			}
		}
		for _, m := range metrics {
			if !m.verdict || m.name == results.MetricConn || m.chosen && f.Workloads[0].Arrivals != "" {
				continue
			}
			rows, err := compare(g, &g.Workloads[0], m, uint64(i))
			if err != nil {
				return nil, err
			}
			if draws[m.name] == nil {
				draws[m.name] = &aaCount{dearer: map[results.Verdict]int{}}
			}
			draws[m.name].add(rows, equal[2], dear)
		}
	}
	return draws, nil
}

func (d *aaCount) add(rows []results.Comparison, same, dear string) {
	for _, c := range rows {
		switch c.Subject {
		case same:
			d.all++
			if c.Verdict == results.Faster || c.Verdict == results.Slower {
				d.wrong++
			}
		case dear:
			d.dearer[c.Verdict]++
			if c.Busy == 0 && c.Usable >= c.Needed {
				d.clean++
				if c.Verdict == results.Slower {
					d.found++
				}
			}
		}
	}
}

// TestAADraw draws comparisons from simulated blocks: the verdicts are right whatever disturbs the runs,
// and it would be seen if they were not, because a server is not equal or not dearer.
func TestAADraw(t *testing.T) {
	once(t)
	for name, c := range map[string]struct {
		weather weather
		open    bool
		unequal float64 // CPU time of a server that is said to be equal
		more    float64 // CPU time of the one that is said to be dearer
		clean   bool    // the power can be judged
		faults  int
	}{
		"quiet":                   {weather{0, 0}, false, 1, aaMore, true, 0},
		"stolen time and others":  {weather{0.04, 0.3}, false, 1, aaMore, true, 0},
		"open loop, others":       {weather{0, 0.3}, true, 1, aaMore, true, 0},
		"open loop, no free time": {weather{0, 1}, true, 1, aaMore, false, 0},
		"not equal":               {weather{0.04, 0.3}, false, aaMore, aaMore, true, 2},
		"not dearer":              {weather{0.04, 0.3}, false, 1, 1, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := simulated{c.weather, c.open, 30, 1, 0}
			f := s.file(rand.New(rand.NewPCG(2, 2)))
			for i := range f.Runs {
				switch r := &f.Runs[i]; r.Subject {
				case "subject1":
					r.CPU.PerRequestUs *= c.unequal
				case "subject3":
					r.CPU.PerRequestUs *= c.more
				}
			}
			draws, err := aaDraw(f, []string{"base", "base@twin", "subject0", "subject1"}, "subject3")
			if err != nil {
				t.Fatal(err)
			}
			cpu := draws[results.MetricCPU]
			t.Logf("%+v", cpu)
			if got := cpu.faults(); len(got) != c.faults || cpu.all != aaComparisons || (cpu.clean >= aaClean) != c.clean {
				t.Errorf("%q of %+v", got, cpu)
			}
		})
	}
	if needed := stats.BlocksNeeded(2); aaBlocks < needed {
		t.Errorf("%d blocks, %d are needed", aaBlocks, needed)
	}
	s := simulated{weather{0, 0}, false, aaBlocks - 1, 1, 0}
	if _, err := aaDraw(s.file(rand.New(rand.NewPCG(2, 2))), []string{"base", "base@twin", "subject0"}, "subject3"); err == nil {
		t.Error("too few blocks, and no error")
	}
}

// TestAAPlan shares out the time of TestAA.
func TestAAPlan(t *testing.T) {
	for limit, want := range map[time.Duration][]time.Duration{
		20 * time.Second:  {20 * time.Second, 0, 0},
		50 * time.Second:  {25 * time.Second, 25 * time.Second, 0},
		116 * time.Second: {30 * time.Second, 30 * time.Second, 57 * time.Second},
		5 * time.Second:   {0, 0, 0},
	} {
		jobs := []*aaJob{{block: 2 * time.Second}, {block: 2 * time.Second}, {block: 2 * time.Second, open: true}}
		aaPlan(jobs, limit)
		for i, j := range jobs {
			if (j.share - want[i]).Abs() > time.Second {
				t.Errorf("%v: workload %d gets %v, want %v", limit, i, j.share, want[i])
			}
		}
	}
	if busy, idle, err := parsePattern("3s/700ms"); err != nil || busy != 3*time.Second || idle != 700*time.Millisecond {
		t.Error(busy, idle, err)
	}
	if _, _, err := parsePattern("3s"); err == nil {
		t.Error("no error without an idle time")
	}
}
