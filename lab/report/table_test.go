package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func render(t *testing.T, f *results.File, format Format) string {
	t.Helper()
	return renderOn(t, f, format, screen.Screen{})
}

func renderOn(t *testing.T, f *results.File, format Format, s screen.Screen) string {
	t.Helper()
	var out bytes.Buffer
	if err := Table(&out, f, format, s, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTableGolden(t *testing.T) {
	f := sample.File()
	f.Partial = "interrupted in block 6"
	f.Gates = append(f.Gates, results.Gate{Name: "aa", Text: "the baseline differs from itself by 9 % (limit 5 %)"})
	for _, test := range []struct {
		name   string
		format Format
	}{
		{"markdown.md", Markdown},
		{"terminal.txt", Terminal},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := render(t, f, test.format)
			path := filepath.Join("testdata", test.name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s (run with -update to accept):\n%s", path, got)
			}
		})
	}
}

func TestTableBeginsWithDoubt(t *testing.T) {
	f := sample.File()
	f.Gates = []results.Gate{{Name: "headroom", Text: "the generator\nwas too slow"}, {Name: "aa", Passed: true, Text: "unseen"}}
	f.Partial = "the disk was full"
	want := []string{
		"INVALID: the generator was too slow (gate headroom)",
		"PARTIAL: the disk was full",
		"Plaintext, bare client: redline used the least CPU, 4.03 µs per request: 0.43 × that of net-http",
	}
	got := strings.Split(render(t, f, Terminal), "\n")[:len(want)]
	if !slices.Equal(got, want) {
		t.Errorf("starts with\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGatesOnRequest lists the gates only if they are asked for.
func TestGatesOnRequest(t *testing.T) {
	const line = "Gate: steal failed in 1 of 180 runs; first plaintext/b3/hertz: the hypervisor took 8.3"
	for _, gates := range []bool{false, true} {
		var out bytes.Buffer
		if err := Table(&out, sample.File(), Terminal, screen.Screen{}, gates); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), line); got != gates {
			t.Errorf("gates %v: they are there %v\n%s", gates, got, out.String()[:2000])
		}
	}
}

// TestDisturbances says in plain words what disturbed the runs.
func TestDisturbances(t *testing.T) {
	steal := func(share float64) results.Gate {
		return results.Gate{Name: "steal", Value: share, Disturbance: true, Spoils: []results.Figure{results.FigureRate, results.FigureLatency}}
	}
	foreign := results.Gate{Name: "foreign CPU", Value: 0.3, Disturbance: true, Spoils: []results.Figure{results.FigureLatency, results.FigureCPU}}
	run := func(gates ...results.Gate) results.Run { return results.Run{Counted: true, Gates: gates} }
	for _, c := range []struct {
		runs []results.Run
		want string
	}{
		{[]results.Run{run(), run(results.Gate{Name: "errors"})}, ""},
		{[]results.Run{run(steal(0.04)), run(), run(steal(0.091))}, "The hypervisor took 4 to 9\u00a0% of the CPUs in 2 of 3 runs, whose rates and latencies are left out: CPU per request is not touched by it."},
		{
			[]results.Run{run(foreign, steal(0.04)), run(foreign)},
			"Other processes took 30\u00a0% of the CPUs in 2 of 2 runs, whose latencies and CPU are left out, CPU only in open loops; " +
				"the hypervisor took 4\u00a0% of the CPUs in 1 of 2 runs, whose rates and latencies are left out: CPU per request is not touched by it.",
		},
	} {
		if got := disturbances(&results.File{Runs: c.runs}); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	late := results.Gate{Name: "pacing", Disturbance: true, Spoils: []results.Figure{results.FigureLatency}}
	f := &results.File{
		Runs:      []results.Run{run(foreign, late), run()},
		Workloads: []results.Workload{{Name: "at25", Lead: results.MetricCPU}, {Name: "plaintext"}},
		Comparisons: []results.Comparison{
			{Workload: "at25", Metric: results.MetricCPU, Widened: 0.151},
			{Workload: "at25", Metric: results.MetricCPU},
			{Workload: "plaintext", Metric: results.MetricP99, Widened: 0.5},
		},
	}
	want := "Other processes took 30\u00a0% of the CPUs in 1 of 2 runs, whose latencies and CPU are left out, CPU only in open loops; " +
		"at25 was compared beside them nevertheless, with intervals up to 16\u00a0% wider."
	if got := disturbances(f); got != want {
		t.Errorf("%q\nwant %q: a generator is late because of the others", got, want)
	}
	f.Runs = append(f.Runs, run(late))
	if got := disturbances(f); !strings.Contains(got, "the generator was late in 1 of 3 runs") {
		t.Errorf("%q: one run was late without others", got)
	}
}

// TestUnknownNoise has no figure for the noise of a metric in which the baseline has too few pairs with itself.
func TestUnknownNoise(t *testing.T) {
	f := sample.File()
	i := slices.IndexFunc(f.Comparisons, func(c results.Comparison) bool {
		return c.Workload == f.Workloads[0].Name && c.Subject == "net-http@twin" && c.Metric == results.MetricRate
	})
	f.Comparisons[i].Verdict = results.TooDisturbed
	if got, want := noiseFloors(f)[0], "plaintext CPU 2.1 %, p99 2.1 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestResultBeforeWhatIsMissing has the results before the workloads without a verdict.
func TestResultBeforeWhatIsMissing(t *testing.T) {
	f := sample.File()
	f.Partial = ""
	f.Gates = []results.Gate{{Name: "pairs", Disturbance: true, Text: "at25 has 3 of 9"}, {Name: "failed", Text: "2 runs failed"}}
	text := render(t, f, Terminal)
	at := -1
	for _, part := range []string{"used the least CPU", "The hypervisor took", "UNDECIDED: at25 has 3 of 9", "FAILED: 2 runs", "A/A noise floor"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Errorf("%q is at %d, want it after %d", part, i, at)
		}
		at = i
	}
	if text[:len("Plaintext")] != "Plaintext" {
		t.Errorf("begins with %q", text[:60])
	}
}

// TestOldFile renders a file of version 1.
func TestOldFile(t *testing.T) {
	f, err := results.Load("../results/testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	text := render(t, f, Terminal)
	for _, want := range []string{"INVALID: 1 of 2 runs failed a gate, even after their block was run again", "gin", "equivalent"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if err := HTML(new(bytes.Buffer), f); err != nil {
		t.Error(err)
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// wide returns a file in which all figures and names have their maximum width.
func wide() *results.File {
	f := sample.File()
	f.Partial = strings.Repeat("unbroken", 40) + " and some words after it, to be wrapped at the edge of the terminal"
	long := 99_949_000.0
	for i := range f.Subjects {
		name := f.Subjects[i].Name + "-with-a-name-beyond-all-measure"
		for j := range f.Cells {
			if f.Cells[j].Subject == f.Subjects[i].Name {
				f.Cells[j].Subject, f.Cells[j].Bound = name, 6
			}
		}
		for j := range f.Comparisons {
			if f.Comparisons[j].Subject == f.Subjects[i].Name {
				f.Comparisons[j].Subject, f.Comparisons[j].Verdict = name, results.Inconclusive
				f.Comparisons[j].Ratio = results.Estimate{Value: 10.55, Low: 10.11, High: 11.99}
			}
		}
		f.Subjects[i].Name = name
	}
	for _, c := range f.Cells {
		for m := range c.Metrics {
			c.Metrics[m] = results.Estimate{Value: 1023.4, Low: 1011.1, High: 1044.4}
		}
		c.Latency.P50, c.Latency.P99, c.Latency.P999 = &long, &long, &long
	}
	for i := range f.Workloads {
		f.Workloads[i].Title = strings.Repeat("title ", 40)
		f.Workloads[i].Unit = "transaction"
	}
	return f
}

func TestTerminalWidth(t *testing.T) {
	for name, f := range map[string]*results.File{"usual": sample.File(), "wide": wide()} {
		for _, s := range []screen.Screen{{}, {Color: true}, {Width: 80}, {Width: 48, Color: true}, {Width: 140}} {
			for l := range strings.Lines(renderOn(t, f, Terminal, s)) {
				if w := screen.Width(strings.TrimRight(l, "\n")); w > s.Columns() {
					t.Errorf("%s: %d columns on %+v: %q", name, w, s, l)
				}
			}
		}
	}
}

func TestTerminalColor(t *testing.T) {
	plain, color := render(t, sample.File(), Terminal), renderOn(t, sample.File(), Terminal, screen.Screen{Color: true})
	if strings.ContainsRune(plain, 0x1b) {
		t.Error("plain text has escape sequences")
	}
	if !strings.Contains(color, "\x1b[32mfaster\x1b[0m") {
		t.Error("the verdict has no colour")
	}
	strip := func(s string) string { // trailing blanks differ where colours end
		return regexp.MustCompile(` +\n`).ReplaceAllString(escapes.ReplaceAllString(s, ""), "\n")
	}
	if strip(color) != plain {
		t.Error("colour changes the text")
	}
}

func TestTableIsHarmless(t *testing.T) {
	f := sample.File()
	f.Workloads[0].Title = sample.Hostile
	f.Partial = sample.Hostile
	for _, r := range render(t, f, Terminal) {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			t.Errorf("terminal text has %U", r)
		}
	}
	md := render(t, f, Markdown)
	fenced := regexp.MustCompile("(?s)````text\n.*?\n````").ReplaceAllString(md, "")
	if fenced == md {
		t.Error("the fence is not longer than the one in the text")
	}
	if strings.ContainsAny(fenced, "<>") || strings.Contains(fenced, "```") {
		t.Errorf("markup in Markdown: %s", fenced)
	}
	for l := range strings.Lines(md) {
		if strings.HasPrefix(l, "| ") && strings.Count(l, "|") != 12 && !strings.HasPrefix(l, "| a |") {
			t.Errorf("row with another number of columns: %s", l)
		}
	}
}

func TestTableOfNothing(t *testing.T) {
	if got := render(t, &results.File{}, Terminal); got != "A/A noise floor: not measured\n" {
		t.Errorf("got %q", got)
	}
	f := &results.File{
		Subjects:  []results.Subject{{Name: "a"}, {Name: "unused"}},
		Workloads: []results.Workload{{Name: "w", Unit: "request"}},
		Runs:      []results.Run{{ID: "w/b1/a", Workload: "w", Subject: "a", Failed: "did not start"}},
	}
	got := render(t, f, Markdown)
	if !strings.Contains(got, "| a | – | – | – | failed | – |") || strings.Contains(got, "unused") {
		t.Errorf("got %s", got)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestErrors(t *testing.T) {
	if err := Table(brokenWriter{}, sample.File(), Terminal, screen.Screen{}, false); !errors.Is(err, errBroken) {
		t.Errorf("table: %v", err)
	}
	if err := Table(new(bytes.Buffer), sample.File(), Format(9), screen.Screen{}, false); err == nil {
		t.Error("an unknown format was written")
	}
	if err := HTML(brokenWriter{}, sample.File()); !errors.Is(err, errBroken) {
		t.Errorf("page: %v", err)
	}
	f := sample.File()
	f.Cells[2].Latency.Histogram = "HISTgarbage"
	if err := HTML(new(bytes.Buffer), f); err == nil || !strings.Contains(err.Error(), "latency of redline") {
		t.Errorf("damaged histogram: %v", err)
	}
}
