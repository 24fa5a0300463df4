package suite

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/results"
)

func TestNamesOfFamilies(t *testing.T) {
	for _, test := range []struct {
		name          string
		path, backend string
		ceiling, rate float64
	}{
		{"at5", "/plaintext", "", 0.05, 0},
		{"at50", "/plaintext", "", 0.5, 0},
		{"redis", "/redis", "redis", 0, 0},
		{"redis-20000", "/redis", "redis", 0, 20000},
		{"wait-1ms", "/wait?wait=1ms", "wait", 0, 0},
		{"wait-300us-4000", "/wait?wait=300us", "wait", 0, 4000},
		{"postgres", "/postgres", "postgres", 0, 0},
		{"postgres-500", "/postgres", "postgres", 0, 500},
		{"fanout", "/fanout?wait=1ms", "fanout", 0, 0},
		{"fanout-500", "/fanout?wait=1ms", "fanout", 0, 500},
		{"mixed-900us", "/plaintext", "", 0, 2300},
		{"get16k", "/bytes?size=16384", "", 0, 0},
		{"post20k", "/order", "", 0, 0},
		{"mix", "/bytes?size=59960", "", 0, 0},
	} {
		w := findWorkload(test.name)
		if w == nil {
			t.Errorf("%s is unknown", test.name)
			continue
		}
		if w.name != test.name || w.path != test.path || w.backend != test.backend || w.ceiling != test.ceiling || w.rate != test.rate {
			t.Errorf("%s is %+v", test.name, w)
		}
		if w.floor != (w.ceiling > 0) {
			t.Errorf("%s is served by %s: %v", test.name, floorName, w.floor)
		}
		if w.connections != 0 {
			t.Errorf("%s sets its number of connections", test.name)
		}
	}
	for _, name := range []string{"at0", "at100", "at", "redis-", "redis-0", "wait", "wait-5", "fanout-", "postgres-0", "wait-2000ms", "mixed-1us", "get2k", "post10m", "mixed", "sizes", "all", "redis-all"} {
		if w := findWorkload(name); w != nil {
			t.Errorf("%s is %+v", name, w)
		}
	}
}

func TestExpand(t *testing.T) {
	names := Expand([]string{"all"})
	for _, name := range append(names, known()[:len(known())-5]...) {
		if findWorkload(name) == nil {
			t.Errorf("%s is in a list, but unknown", name)
		}
	}
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
		t.Errorf("a name is twice in %v", names)
	}
	if got := Expand([]string{"json", "at-all"}); !slices.Equal(got, []string{"json", "at5", "at10", "at25", "at50"}) {
		t.Errorf("json and at-all are %v", got)
	}
}

// TestMeasurable checks that shares of limit's rate need limit.
func TestMeasurable(t *testing.T) {
	quick := Quick()
	c := catalogueOf(t, "good")
	kept, left := c.Measurable(quick)
	if !slices.Equal(kept, []string{"plaintext", "pipeline16"}) || !slices.Equal(left, []string{"at25"}) {
		t.Errorf("without %s: kept %v, left %v", floorName, kept, left)
	}
	c.external[floorName] = c.external["good"].renamed(floorName)
	if kept, left := c.Measurable(quick); !slices.Equal(kept, quick) || left != nil {
		t.Errorf("with %s: kept %v, left %v", floorName, kept, left)
	}
}

// TestVariedRequestsDiffer checks that no two requests are the same, and that each call
// returns the same requests.
func TestVariedRequestsDiffer(t *testing.T) {
	w := findWorkload("pipeline16")
	all := append([][]byte{w.request("a", "")}, w.more("a", "")...)
	if len(all) != variedRequests {
		t.Fatalf("%d requests", len(all))
	}
	again := append([][]byte{w.request("a", "")}, w.more("a", "")...)
	seen := map[string]bool{}
	for i, r := range all {
		if !bytes.Equal(r, again[i]) {
			t.Errorf("request %d differs between calls: %q, %q", i, r, again[i])
		}
		line, rest, _ := strings.Cut(string(r), "\r\n")
		for _, field := range []string{"Host: a", "User-Agent: ", "X-Request-Id: ", "traceparent: 00-"} {
			if !strings.Contains(rest, field) {
				t.Errorf("request %d has no %s: %q", i, field, r)
			}
		}
		for _, l := range append(strings.Split(rest, "\r\n"), line) {
			if strings.HasPrefix(l, "X-Req") || strings.HasPrefix(l, "traceparent") || strings.HasPrefix(l, "GET") {
				if seen[l] {
					t.Errorf("%q appears twice", l)
				}
				seen[l] = true
			}
		}
	}
	if plain := findWorkload("plaintext"); plain.more("a", "") != nil {
		t.Error("plaintext varies")
	}
}

func TestBenchMeasuresAtShareOfLimit(t *testing.T) {
	once(t)
	for _, among := range []bool{true, false} {
		c := catalogueOf(t, "good")
		c.external[floorName] = c.external["good"].renamed(floorName)
		cfg := configOf(t, "good")
		if among {
			cfg = configOf(t, "good", floorName)
		}
		cfg.Workloads = []string{"at10"}
		f, err := compareNow(t, t.Context(), cfg, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Ceiling == nil || f.Ceiling.Subject != floorName || f.Ceiling.Rate <= 0 || f.Ceiling.Connections != cfg.Connections || len(f.Ceiling.Gates) == 0 {
			t.Fatalf("ceiling %+v", f.Ceiling)
		}
		noted := slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, "limit is not among the subjects") })
		if noted == among {
			t.Errorf("limit among the subjects: %v; notes %q", among, f.Notes)
		}
		for _, r := range f.Runs {
			o := r.Open
			if r.Failed != "" || o == nil || o.CeilingRate != f.Ceiling.Rate || o.TargetRate != 0.1*f.Ceiling.Rate {
				t.Errorf("%s: failed %q, open %+v, ceiling %v", r.ID, r.Failed, o, f.Ceiling.Rate)
			}
			for _, name := range []string{"achieved", "pacing", "generator"} {
				if !slices.ContainsFunc(r.Gates, func(g results.Gate) bool { return g.Name == name }) {
					t.Errorf("%s: no gate %s in %+v", r.ID, name, r.Gates)
				}
			}
		}
		if w := f.Workloads[0]; w.Lead != results.MetricCPU || w.Connections != cfg.Connections || !strings.Contains(w.Arrivals, "10 %") {
			t.Errorf("workload %+v", w)
		}
	}
}

// renamed returns a copy of the subject with another name.
func (s *Subject) renamed(name string) *Subject {
	other := *s
	other.Name = name
	return &other
}

// TestSubjectsThatAreTooSlow sends a subject that sleeps 100 ms more requests than its few
// connections can carry: it is reported as short, runs once, and has no figures. A run
// that the machine disturbed is not reported as short.
func TestSubjectsThatAreTooSlow(t *testing.T) {
	once(t)
	c := catalogueOf(t, "good", "sleeps")
	c.external[floorName] = c.external["good"].renamed(floorName)
	cfg := configOf(t, "good", "sleeps")
	cfg.Workloads = []string{"at5"}
	f, err := compareNow(t, t.Context(), cfg, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last results.Run
	for _, r := range f.Runs {
		if r.Subject != "sleeps" {
			continue
		}
		last = r
		if r.Failed != "" || r.Open == nil || r.Open.Waited == 0 {
			t.Fatalf("%s: failed %q, open %+v", r.ID, r.Failed, r.Open)
		}
		disturbed := slices.ContainsFunc(r.Gates, func(g results.Gate) bool {
			return !g.Passed && !slices.Contains([]string{"achieved", "steady", "answers"}, g.Name)
		})
		if (r.Short == "") != disturbed || r.Short != "" && r.Counted {
			t.Errorf("%s: short %q, counted %v, gates %+v", r.ID, r.Short, r.Counted, r.Gates)
		}
	}
	i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Subject == "sleeps" })
	if last.ID == "" || i < 0 || (f.Cells[i].Short == 1) != (last.Short != "") || (f.Cells[i].Blocks == 0) != (last.Short != "") {
		t.Errorf("the last run is %+v, the cells are %+v", last, f.Cells)
	}
}

func TestShort(t *testing.T) {
	at, plain := findWorkload("at50"), findWorkload("rate20k")
	gate := func(name string, passed bool) results.Gate { return results.Gate{Name: name, Passed: passed} }
	run := func(gates ...results.Gate) *results.Run {
		return &results.Run{Open: &results.Open{TargetRate: 1000, Due: 1000, Sent: 810}, Gates: gates}
	}
	for _, test := range []struct {
		name string
		w    *workload
		run  *results.Run
		want string
	}{
		{"reached the rate", at, run(gate("achieved", true), gate("steady", true)), ""},
		{"did not reach it", at, run(gate("achieved", false), gate("steady", true)), "did not reach the rate: 81.0 % of 1000 requests per second were sent"},
		{"a growing backlog", at, run(gate("achieved", false), gate("steady", false)), "did not reach the rate: 81.0 % of 1000 requests per second were sent"},
		{"the generator did not", at, run(gate("achieved", false), gate("generator", false)), ""},
		{"the machine was disturbed", at, run(gate("steal", false), gate("achieved", false)), ""},
		{"a rate of another kind", plain, run(gate("achieved", false)), ""},
	} {
		if got := short(test.w, test.run); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestBenchAsksBackends(t *testing.T) {
	once(t)
	cfg := configOf(t, "asks")
	cfg.Workloads = []string{"redis", "redis-500", "wait-300us", "wait-300us-500", "fanout", "fanout-200"}
	c := catalogueOf(t, "asks", "good")
	asks := c.external["asks"]
	asks.Command = append(asks.Command, "{redis}", "{wait}", "{fanout}")
	asks.Workloads = []string{familyRedis, familyWait, familyFan}
	cfg.Subjects = append(cfg.Subjects, "good")
	f := compareSome(t, cfg, c, 1)
	for _, r := range f.Runs {
		backend, _, _ := strings.Cut(r.Workload, "-")
		if r.Failed != "" || r.Requests == 0 || r.Backend == nil || r.Backend.Name != backend || r.Backend.CPUSeconds <= 0 {
			t.Errorf("%s: failed %q, %d requests, backend %+v", r.ID, r.Failed, r.Requests, r.Backend)
		}
		if backend == backendWait && r.Latency.P50 != nil && *r.Latency.P50 < 300 {
			t.Errorf("%s: p50 %v us with a backend that takes 300", r.ID, *r.Latency.P50)
		}
	}
	for _, w := range f.Workloads {
		if !slices.Equal(w.NotServed, []string{"good"}) || w.Backend == "" {
			t.Errorf("workload %+v", w)
		}
	}
}

func TestMissingRedisIsReportedBefore(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cfg := configOf(t, "good")
	cfg.Workloads = []string{"plaintext", "redis-500"}
	b := &bench{cfg: cfg}
	if err := b.resolve(catalogueOf(t, "good")); err != nil {
		t.Fatal(err)
	}
	err := b.checkBackends()
	if err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("err = %v", err)
	}
	b.loads = b.loads[:1]
	if err := b.checkBackends(); err != nil {
		t.Errorf("without such a workload: %v", err)
	}
}

// TestGuardEndsBackends kills the suite with SIGKILL while its backends run.
func TestGuardEndsBackends(t *testing.T) {
	dir := openTemp(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := len(backends)
	if err := hasPostgres(); err != nil {
		t.Log(err)
		want--
	}
	cmd := exec.Command(exe, "bench-backends")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	if err := json.NewDecoder(out).Decode(&pids); err != nil || len(pids) != want {
		t.Fatalf("its backends are %v: %v", pids, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the error reports that it was killed
	t.Cleanup(func() { removeSegments(t, pids) })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		alive := slices.ContainsFunc(pids, func(pid int) bool {
			_, err := os.Stat(filepath.Join("/proc", itoa(pid), "exe"))
			return err == nil
		})
		if !alive && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("backends still running: %v; left behind: %v", alive, left)
		}
	}
}

func TestBenchMeasuresMixed(t *testing.T) {
	once(t)
	cfg := configOf(t, "asks")
	cfg.Workloads = []string{"mixed-300us"}
	cfg.Window = pace.Window(400 * time.Millisecond)
	c := catalogueOf(t, "asks")
	c.external["asks"].Workloads = []string{familyMixed}
	f := compareSome(t, cfg, c, 1)
	if w := f.Workloads[0]; !strings.Contains(w.Path, "/burn?rounds=") || w.Lead != results.MetricP99 {
		t.Errorf("workload %+v", w)
	}
	for _, r := range f.Runs {
		if r.Failed != "" || len(r.Targets) != 2 || r.Targets[0].Name != quickTarget || r.Targets[1].Name != slowTarget {
			t.Fatalf("%s: failed %q, targets %+v", r.ID, r.Failed, r.Targets)
		}
		quick, slow := r.Targets[0], r.Targets[1]
		if quick.Requests == 0 || slow.Requests == 0 || quick.Requests < slow.Requests || r.Latency.Histogram != quick.Latency.Histogram {
			t.Errorf("%s: %d quick ones, %d slow ones, latency of %d", r.ID, quick.Requests, slow.Requests, r.Latency.Count)
		}
	}
}
