package suite

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
	"github.com/redline-go/redline/lab/stats"
)

// aaTime is how long TestAA measures; 0: it is skipped.
var aaTime = flag.Duration("aa", 0, "measure false verdicts and power on a disturbed machine, for about this long")

const (
	burnVerb  = "burn"
	burnShare = 0.3 // of the time of a CPU

	spinFlaw = "spin-" // a subject that computes so many rounds for each request

	aaMore        = 1.08 // CPU time of the dearer server
	aaComparisons = 200
	aaBlocks      = 9
)

// burn keeps its CPU busy for a share of the time, in bursts, until r ends.
func burn(r io.Reader) {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		ended <- err
	}()
	for {
		burst := time.Duration(50+rand.IntN(400)) * time.Millisecond
		for began := time.Now(); time.Since(began) < burst; {
			spun += rounds(1000)
		}
		select {
		case <-ended:
			return
		case <-time.After(time.Duration(float64(burst) * (1 - burnShare) / burnShare)):
		}
	}
}

// rounds computes, and returns what the compiler cannot leave out.
func rounds(n int) uint64 {
	x := uint64(n)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var spun uint64

// spin does the work of a subject that is called spin-ROUNDS.
func spin(flaw string) {
	n, err := strconv.Atoi(strings.TrimPrefix(flaw, spinFlaw))
	if err != nil {
		panic(err)
	}
	if rounds(n) == 1 { // never
		fmt.Fprintln(os.Stderr, "spun")
	}
}

// roundsFor returns how many rounds take so many microseconds of CPU time.
func roundsFor(t *testing.T, micros float64) int {
	t.Helper()
	const n = 50_000_000
	before, err := cputime.Own()
	if err != nil {
		t.Fatal(err)
	}
	spun += rounds(n)
	after, err := cputime.Own()
	if err != nil {
		t.Fatal(err)
	}
	return int(micros * n * 1e3 / float64(after-before))
}

// disturb keeps the CPUs busy for 30 % of the time until the test ends.
func disturb(t *testing.T, exe string, cpus []int) {
	t.Helper()
	l := spawn.NewLauncher()
	t.Cleanup(l.Close)
	for _, cpu := range cpus {
		cmd := exec.Command(exe, burnVerb)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Start(cmd, []int{cpu}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAA measures real comparisons while both CPUs are busy for 30 % of the time: of equal servers,
// which must not differ, and of one that computes more. It records blocks, and draws comparisons of
// nine of them (more of an open loop) with the equal servers in random roles.
func TestAA(t *testing.T) {
	if *aaTime == 0 {
		t.Skip("it takes minutes: make aa")
	}
	for _, load := range []string{"plaintext", "pipeline16", "at25"} {
		t.Run(load, func(t *testing.T) { aa(t, load, *aaTime/3) })
	}
}

// aa measures one workload.
func aa(t *testing.T, load string, limit time.Duration) {
	config := func(subjects ...string) Config {
		cfg := configOf(t, subjects...)
		cfg.Workloads, cfg.Connections, cfg.Seed = []string{load}, 64, rand.Uint64()>>11
		cfg.Window, cfg.Warmup = 600*time.Millisecond, 300*time.Millisecond
		return cfg
	}
	catalogue := func(names ...string) *Catalogue {
		c := catalogueOf(t, append(names, "good")...)
		c.external[floorName] = c.external["good"].renamed(floorName)
		return c
	}
	cfg := config("good")
	cfg.Blocks = 3
	quiet, err := compareNow(t, t.Context(), cfg, catalogue(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cost := quiet.Cells[0].Metrics[results.MetricCPU].Value
	dear := spinFlaw + strconv.Itoa(roundsFor(t, (aaMore-1)*cost))
	t.Logf("a request costs %.2f us; the dearer server computes %.2f us more", cost, (aaMore-1)*cost)

	disturb(t, cfg.Executable, cfg.cpus())
	equal := []string{"good", "same1", "same2"}
	cfg = config(append(equal, dear)...)
	cfg.Blocks, cfg.Budget, cfg.fixed = 1000, limit, true
	g, err := guard.Start(cfg.Executable)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Bench(t.Context(), cfg, catalogue("same1", "same2", dear), g, func(Step) {})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Comparisons {
		if c.Metric == f.Workloads[0].LeadMetric() {
			t.Logf("all blocks, %s: %.3f (%.3f to %.3f), noise %.1f %%, %s, %d of %d pairs usable", c.Subject, c.Ratio.Value, c.Ratio.Low, c.Ratio.High, 100*c.Noise, c.Verdict, c.Usable, c.Usable+c.Disturbed+c.Invalid)
		}
	}
	draws := aaDraw(t, f, append(equal, equal[0]+"@"+roleTwin), dear)
	for metric, d := range draws {
		t.Logf("%s: %d false verdicts of %d, dearer: %v", metric, d.wrong, d.all, d.dearer)
	}
	if d := draws[results.MetricCPU]; d.wrong > d.all/100 {
		t.Errorf("%d of %d verdicts on equal servers are false", d.wrong, d.all)
	}
}

// An aaCount counts the verdicts of drawn comparisons.
type aaCount struct {
	all, wrong int // on an equal server
	dearer     map[results.Verdict]int
}

// aaDraw draws comparisons from the blocks of f.
func aaDraw(t *testing.T, f *results.File, equal []string, dear string) map[results.Metric]*aaCount {
	t.Helper()
	var blocks []int
	for block := range counted(f, f.Workloads[0].Name, dear) {
		blocks = append(blocks, block)
	}
	slices.Sort(blocks)
	if len(blocks) < aaBlocks {
		t.Fatalf("%d blocks were measured, and a comparison needs %d: give it more time", len(blocks), aaBlocks)
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
				t.Fatal(err)
			}
			if draws[m.name] == nil {
				draws[m.name] = &aaCount{dearer: map[results.Verdict]int{}}
			}
			draws[m.name].add(rows, equal[2], dear)
		}
	}
	return draws
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
		}
	}
}

// TestAADraw draws comparisons from simulated blocks.
func TestAADraw(t *testing.T) {
	once(t)
	s := simulated{weather{0.04, 0.3}, false, 30, 1}
	f := s.file(rand.New(rand.NewPCG(2, 2)))
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Subject == "subject3" {
			r.CPU.PerRequestUs *= aaMore
		}
	}
	draws := aaDraw(t, f, []string{"base", "base@twin", "subject0", "subject1"}, "subject3")
	cpu := draws[results.MetricCPU]
	if cpu.all != aaComparisons || cpu.wrong > cpu.all/100 || cpu.dearer[results.Slower] < aaComparisons*19/20 {
		t.Errorf("%+v", cpu)
	}
	if needed := stats.BlocksNeeded(2); aaBlocks < needed {
		t.Errorf("%d blocks, %d are needed", aaBlocks, needed)
	}
}
