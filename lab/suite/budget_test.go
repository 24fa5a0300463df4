package suite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// progressOf returns a bench that has measured the blocks of a file with one workload.
func progressOf(t *testing.T, f *results.File, cfg Config) (b *bench, said *[]string) {
	t.Helper()
	all, said := workloads(), new([]string)
	cfg.Blocks = f.Config.Blocks
	return &bench{
		cfg: cfg, file: f, loads: []*workload{&all[0]}, foreseen: map[string]bool{}, dropped: map[string]bool{},
		tell: func(s Step) { *said = append(*said, s.Note) },
	}, said
}

// TestBlocksAreAdded adds a block only if the main metric lacks usable pairs and the machine was
// disturbed.
func TestBlocksAreAdded(t *testing.T) {
	spoil := func(gate, lead string) *results.File {
		f := measured(t, 1, func(r *results.Run) {
			if r.Subject == "other" && r.Block <= 5 {
				r.Gates = []results.Gate{failing(gate, false)}
			}
		})
		f.Workloads[0].Lead = results.Metric(lead)
		return f
	}
	// also has one subject whose every run fails a gate, and others that are disturbed in so many blocks.
	also := func(gate string, disturbed int) *results.File {
		f := measured(t, 1, func(r *results.Run) {
			if r.Subject == "other" {
				r.Gates = []results.Gate{failing("steal", false), failing(gate, false)}
			} else if r.Block <= disturbed {
				r.Gates = []results.Gate{failing("steal", false)}
			}
		})
		f.Workloads[0].Lead = results.MetricRate
		return f
	}
	// busy is an open loop of whose blocks so many were measured beside other processes.
	busy := func(blocks int) *results.File {
		f := measured(t, 1, func(r *results.Run) {
			if r.Block <= blocks {
				r.Gates = []results.Gate{failing("foreign CPU", true)}
			}
		})
		f.Workloads[0].Arrivals = "Poisson"
		f.Workloads[0].Lead = results.MetricCPU
		return f
	}
	// slow is an open loop whose baseline did not reach the rate in so many blocks.
	slow := func(blocks int) *results.File {
		f := measured(t, 1, func(r *results.Run) {
			if r.Subject == "base" && r.Block <= blocks {
				r.Short, r.Counted = "did not reach the rate", false
			}
		})
		f.Workloads[0].Arrivals = "Poisson"
		return f
	}
	rate, budget := string(results.MetricRate), Config{Budget: time.Minute}
	for name, c := range map[string]struct {
		file   *results.File
		cfg    Config
		blocks int
		want   bool
	}{
		"not all blocks are measured":   {spoil("steal", ""), Config{}, 8, true},
		"CPU is not spoilt":             {spoil("steal", ""), Config{}, 9, false},
		"the rate is spoilt":            {spoil("steal", rate), Config{}, 9, true},
		"twice as many without budget":  {spoil("steal", rate), Config{}, 18, false},
		"more with a budget":            {spoil("steal", rate), budget, 18, true},
		"wrong answers remain wrong":    {spoil("errors", ""), budget, 9, false},
		"wrong answers when disturbed":  {also("errors", 1), budget, 9, false},
		"others lack pairs":             {also("errors", 4), budget, 9, true},
		"the number of blocks is fixed": {spoil("steal", rate), Config{fixed: true}, 9, false},
		"others spoil an open loop":     {busy(5), budget, 9, true},
		"they do so all the time":       {busy(9), budget, 9, false},
		"the baseline is slow at times": {slow(4), budget, 9, true},
		"the baseline is too slow":      {slow(7), budget, 9, false},
	} {
		b, _ := progressOf(t, c.file, c.cfg)
		if got := b.wanting(c.blocks); (len(got) > 0) != c.want {
			t.Errorf("%s: %d workloads want a block after %d", name, len(got), c.blocks)
		}
	}
}

// TestBlocksForThoseThatAreLeft adds no block for a subject that was given up, for the floor, whatever
// its name, or without a baseline.
func TestBlocksForThoseThatAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		disturbed, gone string
		want            bool
	}{
		"a subject":           {"other", "", true},
		"the same, given up":  {"other", "other", false},
		"another given up":    {"other", floorName, true},
		"the floor":           {floorName, "", false},
		"the baseline is out": {"other", "base", false},
		"the twin is out":     {"other", "base@twin", false},
	} {
		f := measured(t, 1, func(r *results.Run) {
			if r.Subject == c.disturbed && r.Block <= 5 {
				r.Gates = []results.Gate{failing("steal", false)}
			}
			if r.Subject == floorName {
				r.Subject += "@1.26"
			}
		})
		f.Workloads[0].Lead = results.MetricRate
		f.Subjects[3].Name += "@1.26"
		b, _ := progressOf(t, f, Config{Budget: time.Minute})
		b.failures = map[string]int{c.gone: givenUp}
		if got := b.wanting(9); (len(got) > 0) != c.want {
			t.Errorf("%s: %d workloads want a block", name, len(got))
		}
	}
}

// TestBlocksForThoseThatLackPairs adds blocks with the baseline and the subjects that lack pairs, and no
// others.
func TestBlocksForThoseThatLackPairs(t *testing.T) {
	f := measured(t, 1, func(r *results.Run) {
		if r.Subject == "other" && r.Block <= 5 {
			r.Gates = []results.Gate{failing("steal", false)}
		}
	})
	f.Workloads[0].Lead = results.MetricRate
	b, _ := progressOf(t, f, Config{Budget: time.Minute})
	for i, s := range f.Subjects {
		name, _, _ := strings.Cut(s.Name, "@")
		b.subjects = append(b.subjects, &Subject{Name: name, role: f.Subjects[i].Role})
	}
	for blocks, want := range map[int]string{0: "base base@twin limit other", 9: "base other"} {
		var labels []string
		for _, r := range newPlan(1, b.subjects).next(b.wanting(blocks)) {
			for _, s := range r.steps {
				labels = append(labels, s.subject.label())
			}
		}
		slices.Sort(labels)
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("after %d blocks the next one has %s, want %s", blocks, got, want)
		}
	}
	if b.total != 2 {
		t.Errorf("%d more runs are planned, want 2", b.total)
	}
}

// TestAffordable spends a budget that is too short for all workloads on those that it is enough for.
func TestAffordable(t *testing.T) {
	for name, c := range map[string]struct {
		spoilt string        // workload whose first blocks other processes spoil
		rest   time.Duration // of the budget
		want   string
		notes  int
	}{
		"enough for all":  {"at25", time.Hour, "at25 plaintext", 0},
		"for plaintext":   {"at25", 5 * time.Minute, "plaintext", 1},
		"for at25":        {"plaintext", 5 * time.Minute, "at25", 1},
		"for none at all": {"at25", time.Minute, "at25 plaintext", 0},
	} {
		f := measured(t, 1, func(*results.Run) {})
		var runs []results.Run
		for _, w := range []string{"plaintext", "at25"} {
			for _, r := range f.Runs {
				if r.Block > 4 {
					continue
				}
				if r.Workload = w; w == c.spoilt && r.Block != 4 {
					r.Gates = []results.Gate{failing("steady", false)}
				}
				runs = append(runs, r)
			}
		}
		f.Runs, f.Workloads = runs, append(f.Workloads, results.Workload{Name: "at25", Lead: results.MetricCPU, Arrivals: "Poisson"})
		b, _ := progressOf(t, f, Config{})
		b.loads = append(b.loads, findWorkload("at25"))
		for _, s := range f.Subjects {
			name, _, _ := strings.Cut(s.Name, "@")
			b.subjects = append(b.subjects, &Subject{Name: name, role: s.Role, Workloads: []string{"plaintext", "at"}})
		}
		// 32 of 72 runs are done, each of which took 15 s: three more blocks of the undisturbed one take 3 minutes.
		b.done, b.total, b.began = 32, 72, time.Now().Add(-8*time.Minute)
		b.cfg.Budget = 8*time.Minute + c.rest
		for range 2 {
			var names []string
			for _, w := range b.wanting(4) {
				names = append(names, w.workload.name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want || len(f.Notes) != c.notes {
				t.Errorf("%s: %s, want %s; notes %q", name, got, c.want, f.Notes)
			}
		}
	}
}

// TestForesee says early, and once, that the budget is too short.
func TestForesee(t *testing.T) {
	f := measured(t, 1, func(r *results.Run) {
		if r.Subject == "other" && r.Block > 1 {
			r.Gates = []results.Gate{failing("steal", false)}
		}
	})
	f.Workloads[0].Lead = results.MetricRate
	b, said := progressOf(t, f, Config{Budget: 45 * time.Minute})
	b.began, b.done, b.total = time.Now().Add(-30*time.Minute), 36, 36
	b.foresee(9)
	b.foresee(9)
	want := "plaintext: 1 of the pairs of 9 blocks are undisturbed; the budget of 45m0s will probably end with about 1, and 7 are needed"
	if len(*said) != 1 || (*said)[0] != want {
		t.Errorf("said %q, want %q", *said, want)
	}
	f = measured(t, 1, func(r *results.Run) { r.Gates = []results.Gate{failing("foreign CPU", true)} })
	f.Workloads[0].Arrivals, f.Workloads[0].Lead = "Poisson", results.MetricCPU
	b, said = progressOf(t, f, Config{Budget: 45 * time.Minute})
	b.began, b.done, b.total = time.Now().Add(-30*time.Minute), 36, 36
	if b.foresee(9); len(*said) != 1 || !strings.HasSuffix((*said)[0], "7 are needed: pairs that were measured beside other processes make up for the rest, with wider intervals") {
		t.Errorf("beside others: said %q", *said)
	}
	f = measured(t, 1, func(*results.Run) {})
	b, said = progressOf(t, f, Config{Budget: time.Minute})
	b.began = time.Now().Add(-2 * time.Minute)
	if b.foresee(9); len(*said) != 0 {
		t.Errorf("past the budget, with enough pairs: said %q", *said)
	}
	f.Workloads[0].Lead = results.MetricRSS
	b, said = progressOf(t, f, Config{Budget: time.Hour})
	b.began = time.Now().Add(-30 * time.Minute)
	if b.foresee(9); len(*said) != 0 {
		t.Errorf("said %q of memory, which nothing spoils", *said)
	}
}

func TestAnnounce(t *testing.T) {
	for budget, want := range map[time.Duration]string{
		0:                "9 blocks of 4 runs: about 36s",
		time.Minute:      "9 blocks of 4 runs: about 36s, within the budget of 1m0s",
		20 * time.Second: "9 blocks of 4 runs: about 36s; the budget of 20s ends before: about 5 blocks fit; those of plaintext alone take about 36s",
	} {
		b := toBegin(t, Config{Budget: budget, Window: 500 * time.Millisecond, Warmup: 250 * time.Millisecond}, 4, "plaintext")
		if said := announced(b); said != want {
			t.Errorf("%v: %q, want %q", budget, said, want)
		}
	}
}

// toBegin returns a bench that is about to begin, with 9 blocks of so many runs of each workload.
func toBegin(t *testing.T, cfg Config, subjects int, loads ...string) *bench {
	t.Helper()
	cfg.Blocks = 9
	b := &bench{cfg: cfg, file: &results.File{}, foreseen: map[string]bool{}}
	for _, name := range loads {
		b.loads = append(b.loads, findWorkload(name))
	}
	for range subjects {
		b.subjects = append(b.subjects, &Subject{Name: "one", Workloads: []string{"plaintext", "json"}})
	}
	return b
}

// announced returns what is said about the time before the first run.
func announced(b *bench) (said string) {
	b.tell = func(s Step) { said += s.Note }
	b.fit()
	b.total = b.cfg.Blocks * b.blockRuns()
	b.announce()
	return said
}

// TestWindowsFitTheBudget has shorter windows for a budget, as far as the blocks need that, and down to those of
// the quick comparison; beyond, it says what to leave out.
func TestWindowsFitTheBudget(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		asked  bool // for the windows
		window time.Duration
		want   string
	}{
		{time.Hour, false, 5 * time.Second, "9 blocks of 14 runs: about 15m14s, within the budget of 1h0m0s"},
		{8 * time.Minute, false, 1800 * time.Millisecond, "9 blocks of 14 runs, with windows of 1.8s after 700ms for the budget: about 5m47s, within the budget of 8m0s"},
		{2 * time.Minute, false, ShortestWindow, "9 blocks of 14 runs, with windows of 600ms after 300ms for the budget: about 2m25s; the budget of 2m0s ends before: about 7 blocks fit; without json all would"},
		{time.Minute, false, ShortestWindow, "9 blocks of 14 runs, with windows of 600ms after 300ms for the budget: about 2m25s; the budget of 1m0s ends before: about 3 blocks fit; those of plaintext alone take about 1m12s"},
		{8 * time.Minute, true, 5 * time.Second, "9 blocks of 14 runs: about 15m14s; the budget of 8m0s ends before: about 4 blocks fit; without json all would"},
	} {
		b := toBegin(t, Config{Budget: c.budget, Fit: !c.asked, Window: 5 * time.Second, Warmup: 2 * time.Second}, 7, "plaintext", "json")
		if said := announced(b); said != c.want || b.cfg.Window != c.window {
			t.Errorf("%v: windows of %v, %q\nwant %v, %q", c.budget, b.cfg.Window, said, c.window, c.want)
		}
		if b.fitted && b.file.Config.WindowSeconds != b.cfg.Window.Seconds() {
			t.Errorf("%v: recorded %v", c.budget, b.file.Config.WindowSeconds)
		}
	}
}

// TestFewBlocksForetellLittle says nothing of what more blocks may solve: two pairs that are lost to stolen
// time, or that it makes uneven, where there is time for many blocks with those that lack pairs.
func TestFewBlocksForetellLittle(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*results.Run)
		blocks int
		budget time.Duration
		want   string
	}{
		"uneven": {func(r *results.Run) {
			if r.Subject == "other" {
				r.Generator.StealRatio = 0.03
			}
		}, 2, time.Hour, ""},
		"uneven for long": {func(r *results.Run) {
			if r.Subject == "other" {
				r.Generator.StealRatio = 0.06
			}
		}, 9, 11 * time.Minute, "plaintext will probably have no verdict: stolen time differs"},
		"lost": {func(r *results.Run) {
			if r.Subject == "other" {
				r.Gates = []results.Gate{failing("steady", false)}
			}
		}, 2, time.Hour, ""},
		"lost for long": {func(r *results.Run) {
			if r.Subject == "other" {
				r.Gates = []results.Gate{failing("steady", false)}
			}
		}, 9, 11 * time.Minute, "plaintext: 0 of the pairs of 9 blocks are undisturbed; the budget of 11m0s will probably end with about 0, and 7 are needed"},
		"no time beside others": {func(r *results.Run) {
			r.Gates = []results.Gate{failing("foreign CPU", true)}
		}, 2, 210 * time.Second, "plaintext: 0 of the pairs of 2 blocks are undisturbed; the budget of 3m30s will probably end with about 0, and 7 are needed"},
		"no time": {func(r *results.Run) {}, 2, 210 * time.Second, "plaintext: 2 of the pairs of 2 blocks are undisturbed; the budget of 3m30s will probably end with about 3, and 7 are needed"},
	} {
		f := measured(t, 1, c.spoil)
		f.Runs = slices.DeleteFunc(f.Runs, func(r results.Run) bool { return r.Block > c.blocks })
		b, said := progressOf(t, f, Config{Budget: c.budget})
		// Each block has taken a minute.
		b.done, b.total, b.began = 4*c.blocks, 36, time.Now().Add(-time.Duration(c.blocks)*time.Minute)
		b.foresee(c.blocks)
		if got := strings.Join(*said, ""); !strings.HasPrefix(got, c.want) || strings.Contains(got, "make up") || (got == "") != (c.want == "") {
			t.Errorf("%s: said %q, want %q", name, got, c.want)
		}
	}
}

// TestBudgetEndsIt ends a comparison in time: an unfinished block does not count, and the end is
// recorded.
func TestBudgetEndsIt(t *testing.T) {
	once(t)
	cfg := configOf(t, "good", "slow")
	cfg.Blocks, cfg.Budget = 1000, 3*time.Second
	f, err := compareNow(t, t.Context(), cfg, catalogueOf(t, "good", "slow"), nil)
	if err != nil || f.Partial != "" {
		t.Fatalf("err %v, partial %q", err, f.Partial)
	}
	if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, "the budget of 3s ended in block ") }) {
		t.Errorf("notes %q", f.Notes)
	}
	blocks := map[int]int{}
	for _, r := range f.Runs {
		if r.Counted {
			blocks[r.Block]++
		}
	}
	for block, n := range blocks {
		if n != 3 {
			t.Errorf("block %d counts with %d of 3 runs", block, n)
		}
	}
}
