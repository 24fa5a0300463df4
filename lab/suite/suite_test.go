package suite

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
)

// catalogueOf returns a catalogue of subjects that are this test binary, one
// for each flaw.
func catalogueOf(t *testing.T, flaws ...string) *Catalogue {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &Catalogue{external: map[string]*Subject{}}
	for _, flaw := range flaws {
		file := filepath.Join(t.TempDir(), flaw+".yaml")
		text := "name: " + flaw + "\ncommand: [" + exe + ", serve, " + flaw + ", \"{addr}\"]\nurl: http://{addr}\nworkloads: [plaintext, pipeline16, idle, half, rate20k, at]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readSubject(file)
		if err != nil {
			t.Fatal(err)
		}
		c.external[flaw] = s
	}
	return c
}

func configOf(t *testing.T, subjects ...string) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		fixed:    true, // on a busy machine few pairs can be used, and more blocks are no better
		Subjects: subjects, Baseline: subjects[0], Workloads: []string{"plaintext"},
		Connections: 4, Window: pace.Window(200 * time.Millisecond), Warmup: 100 * time.Millisecond, Blocks: 1, Seed: 1,
		ServerCPUs: cpus[:1], GeneratorCPUs: cpus[len(cpus)-1:], Congestion: "reno", Executable: exe,
	}
}

// openTemp returns a temporary directory that other users can enter: backends run as other
// users.
func openTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compareNow runs a comparison and checks that it left nothing behind.
func compareNow(t *testing.T, ctx context.Context, cfg Config, c *Catalogue, tell Progress) (*results.File, error) {
	t.Helper()
	if tell == nil {
		tell = func(Step) {}
	}
	g, err := guard.Start(cfg.Executable)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", openTemp(t))
	f, err := Bench(ctx, cfg, c, g, tell)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	left, globErr := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	if globErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, globErr)
	}
	if out, err := exec.Command("pgrep", "-P", itoa(os.Getpid())).Output(); err == nil {
		t.Errorf("processes left behind: %s", out)
	}
	return f, err
}

// compareSome runs a comparison until each run that has not failed has at least so many requests:
// a machine that is busy elsewhere may let a short window pass without any. The next windows are
// four times as long, and the last comparison counts whatever it has.
func compareSome(t *testing.T, cfg Config, c *Catalogue, least uint64) *results.File {
	t.Helper()
	few := func(r results.Run) bool {
		return r.Failed == "" && (r.Requests < least || slices.ContainsFunc(r.Targets, func(one results.Target) bool { return one.Requests == 0 }))
	}
	for tries := 1; ; tries++ {
		f, err := compareNow(t, t.Context(), cfg, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tries == 3 || !slices.ContainsFunc(f.Runs, few) {
			return f
		}
		cfg.Window *= 4
	}
}

func TestBenchMeasures(t *testing.T) {
	cfg := configOf(t, "good", "slow")
	cfg.Workloads = []string{"plaintext", "pipeline16"}
	cfg.Blocks = 2
	f := compareSome(t, cfg, catalogueOf(t, "good", "slow"), 1)
	counted := 0
	for _, r := range f.Runs {
		if r.Failed != "" {
			t.Errorf("%s: %s", r.ID, r.Failed)
		}
		if !r.Counted {
			continue
		}
		counted++
		// A disturbed run may have too few responses for a median.
		if r.Requests == 0 || r.CPU.PerRequestUs <= 0 || r.Memory.RSSPeakBytes == 0 || r.Latency.P50 == nil && r.Valid || len(r.Series) == 0 {
			t.Errorf("%s lacks a figure: %+v", r.ID, r)
			continue
		}
		if r.Subject == "slow" && r.Latency.P50 != nil && *r.Latency.P50 < 2000 {
			t.Errorf("%s: p50 %v us of a server that sleeps 2 ms", r.ID, *r.Latency.P50)
		}
	}
	if want := 2 * 2 * 3; counted != want { // blocks, workloads, subjects with the twin
		t.Errorf("%d runs counted, want %d", counted, want)
	}
	for _, name := range []string{"good", "good@twin", "slow"} {
		i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Subject == name })
		if i < 0 || f.Cells[i].Blocks != 2 {
			t.Errorf("no cell of two blocks for %s", name)
		}
	}
}

func TestBenchMeasuresOpenLoops(t *testing.T) {
	once(t)
	cfg := configOf(t, "good")
	cfg.Workloads = []string{"half", "rate20k"}
	f, err := compareNow(t, t.Context(), cfg, catalogueOf(t, "good"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Runs {
		o := r.Open
		if r.Failed != "" || o == nil {
			t.Errorf("%s: failed %q, open %v", r.ID, r.Failed, o)
			continue
		}
		if half := r.Workload == "half"; half != (o.CeilingRate > 0) || half && o.TargetRate != o.CeilingRate/2 || !half && o.TargetRate != commonRate {
			t.Errorf("%s: target %v, ceiling %v", r.ID, o.TargetRate, o.CeilingRate)
		}
		if o.Due == 0 || r.Latency.Count != o.Due-o.Failed || o.Service.Count != r.Latency.Count-o.Unfinished || o.SendLag.Count != o.Pacing.Count {
			t.Errorf("%s: %d response times, %+v", r.ID, r.Latency.Count, o)
		}
		for _, name := range []string{"achieved", "send lag", "generator", "answers", "errors"} {
			if !slices.ContainsFunc(r.Gates, func(g results.Gate) bool { return g.Name == name }) {
				t.Errorf("%s: no gate %s", r.ID, name)
			}
		}
	}
	for _, c := range f.Comparisons {
		if c.Metric == results.MetricRate {
			t.Errorf("the rate, which the schedule sets, is compared: %+v", c)
		}
	}
	for _, w := range f.Workloads {
		if w.Arrivals == "" || w.Connections != openConnections {
			t.Errorf("workload %+v", w)
		}
	}
}

func TestBenchMeasuresIdleConnections(t *testing.T) {
	once(t)
	cfg := configOf(t, "good", "closes")
	cfg.Workloads = []string{"idle"}
	// The idle timeout expires after all connections are open, however long that takes,
	// and before the end of the window.
	cfg.Connections, cfg.ConnectionsSet = 150, true
	cfg.Warmup, cfg.Window = 100*time.Millisecond, idleTimeout+time.Second
	f, err := compareNow(t, t.Context(), cfg, catalogueOf(t, "good", "closes"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Runs {
		if r.Failed != "" {
			t.Errorf("%s: %s", r.ID, r.Failed)
			continue
		}
		closes := r.Subject == "closes"
		failed := func(name string) bool {
			i := slices.IndexFunc(r.Gates, func(g results.Gate) bool { return g.Name == name })
			return i >= 0 && !r.Gates[i].Passed
		}
		if closes != (failed("errors") || failed("held")) {
			t.Errorf("%s: held %d, errors %v, gates %+v", r.ID, r.Held, r.Errors, r.Gates)
		}
		if closes {
			continue
		}
		m := r.Memory
		if r.Requests != 0 || r.Held != 150 || m.RSSBaseBytes == 0 || m.PerConnectionBytes == nil || *m.PerConnectionBytes < 1000 {
			t.Errorf("%s: %d requests, %d held, memory %+v", r.ID, r.Requests, r.Held, m)
		}
	}
	i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Subject == "good" })
	if m := f.Cells[i].Metrics; m[results.MetricConn].Value < 1000 || len(m) != 2 {
		t.Errorf("metrics %v, want those of memory", m)
	}
}

// TestBenchAndTheBroken checks that a subject that cannot take part ends the comparison, and
// that the others are measured if one fails later.
func TestBenchAndTheBroken(t *testing.T) {
	flaws := map[string]struct {
		failed, stderr string
		ends           bool
	}{
		"no-start":   {"process ended: exit status 3", "no such directive", true},
		"wrong-body": {"not the same work", "", true},
		"crash":      {"", "out of cheese", false},
	}
	for flaw, want := range flaws {
		t.Run(flaw, func(t *testing.T) {
			f, err := compareNow(t, t.Context(), configOf(t, "good", flaw), catalogueOf(t, "good", flaw), nil)
			if want.ends != (err != nil) || err != nil && !strings.Contains(err.Error(), flaw+" cannot take part; fix it, or leave it out of --subjects") {
				t.Fatalf("%v, want an end: %v", err, want.ends)
			}
			var failed, good bool
			for _, r := range f.Runs {
				if r.Subject == flaw && r.Failed != "" {
					failed = true
					if !strings.Contains(r.Failed, want.failed) || !strings.Contains(r.Stderr, want.stderr) {
						t.Errorf("%s: failed with %q, stderr %q; want %q, %q", r.ID, r.Failed, r.Stderr, want.failed, want.stderr)
					}
				}
				good = good || r.Subject == "good" && r.Counted
			}
			if !failed || good == want.ends {
				t.Errorf("failed run recorded: %v; the other subject measured: %v", failed, good)
			}
		})
	}
}

// TestWrongAnswersAreInvalid checks that the runs of a server with wrong answers are compared in
// nothing, also when the machine is disturbed, and that no block is added for them.
func TestWrongAnswersAreInvalid(t *testing.T) {
	once(t)
	cfg := configOf(t, "good", "errors")
	cfg.Blocks, cfg.fixed = 2, false
	f := compareSome(t, cfg, catalogueOf(t, "good", "errors"), 30)
	more, disturbed := false, false
	for _, r := range f.Runs {
		more = more || r.Block > cfg.Blocks
		if r.Subject == "errors" {
			if r.Valid || r.Errors["status"] == 0 {
				t.Errorf("%s: valid %v with errors %v", r.ID, r.Valid, r.Errors)
			}
			continue
		}
		disturbed = disturbed || len(results.Spoilers(r.Gates, results.FigureCPU)) > 0
	}
	if more && !disturbed {
		t.Error("the right answers could be compared, but blocks were added")
	}
	for _, c := range f.Comparisons {
		if c.Subject == "errors" && (c.Usable != 0 || c.Disturbed != 0 || c.Invalid != c.Blocks || c.Verdict != results.NoVerdict) {
			t.Errorf("%s: %+v", c.Metric, c)
		}
	}
	if results.Valid(f.Gates) {
		t.Errorf("a server with wrong answers in each run was compared: %+v", f.Gates)
	}
}

func TestBrokenBaselineEndsIt(t *testing.T) {
	f, err := compareNow(t, t.Context(), configOf(t, "no-start", "good"), catalogueOf(t, "good", "no-start"), nil)
	if err == nil || f == nil || f.Partial == "" {
		t.Fatalf("err %v, file %v", err, f)
	}
}

func TestInterruptSavesWhatIsThere(t *testing.T) {
	cfg := configOf(t, "good", "slow")
	cfg.Blocks = 50
	ctx, cancel := context.WithCancel(t.Context())
	f, err := compareNow(t, ctx, cfg, catalogueOf(t, "good", "slow"), func(s Step) {
		if s.Block == 2 && s.Run == nil {
			time.AfterFunc(150*time.Millisecond, cancel) // during a run
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	if f.Partial != "interrupted" || len(f.Cells) == 0 {
		t.Errorf("partial %q, %d cells", f.Partial, len(f.Cells))
	}
}

func TestUnknownNames(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Subjects = []string{"nginx2"}; c.Baseline = "nginx2" }, `unknown subject "nginx2"; known: good`},
		{func(c *Config) { c.Workloads = []string{"plain"} }, `unknown workload "plain"; known: plaintext, json`},
		{func(c *Config) { c.Baseline = "other" }, `unknown baseline "other"; known: good`},
	} {
		cfg := configOf(t, "good")
		c.change(&cfg)
		_, err := compareNow(t, t.Context(), cfg, catalogueOf(t, "good"), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("err = %v, want %q", err, c.want)
		}
	}
}
