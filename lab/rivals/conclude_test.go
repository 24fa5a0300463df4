package rivals

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/report/screen"
)

func closedRun(tool string, round int, rate, perCall float64) Run {
	return Run{
		Tool: tool, Workload: Plain, Round: round, Seconds: 2, Requests: 2 * rate, Rate: rate,
		PerCall: perCall, CPU: 2 * rate * perCall / 1e6, ServerCPU: 0.95, Report: Report{Requests: 1, Rate: rate + 1},
	}
}

// TestTable computes ratios within a round: the ratio 3 does not refer to wrk's median.
func TestTable(t *testing.T) {
	tools := catalogue("redline")
	runs := []Run{
		closedRun("wrk", 0, 100, 5), closedRun("redline", 0, 300, 2.5),
		closedRun("redline", 1, 620, 2), closedRun("wrk", 1, 200, 5),
		closedRun("wrk", 2, 400, 4), closedRun("redline", 2, 1200, 2),
		{Tool: "hey", Workload: Plain, Failed: "it ended too early"},
		closedRun("hey", 1, 50, 20),
		{Tool: "vegeta", Workload: Plain, Failed: "no"},
	}
	runs[len(runs)-2].Report.Errors = 7
	got := tableOf(Plain, tools, runs)
	if got.Base != "wrk" || len(got.Rows) != 4 {
		t.Fatalf("base %q, %d rows", got.Base, len(got.Rows))
	}
	r := got.Rows[0]
	if r.Tool != "redline" || r.Rounds != 3 || r.Rate != (Range{620, 300, 1200}) || r.PerCall != (Range{2, 2, 2.5}) ||
		!near(r.RateOf, ptr(3)) || !near(r.PerCoreOf, ptr(2)) || r.Own != 621 {
		t.Errorf("%+v", r)
	}
	if h := got.Rows[2]; h.Tool != "vegeta" || h.Failed != 1 || h.Rounds != 0 || h.RateOf != nil {
		t.Errorf("%+v", h)
	}
	if h := got.Rows[3]; h.Tool != "hey" || h.Failed != 1 || h.Errors != 7 || !near(h.RateOf, ptr(0.25)) {
		t.Errorf("%+v", h)
	}
}

func TestMarkdown(t *testing.T) {
	tools := catalogue("redline")
	c := Config{Workloads: []string{Plain, HTTP2, Stalled}, Stall: 2 * time.Second, Rate: 1000}
	quiet := closedRun("wrk", 0, 200_000, 4.9)
	starved := closedRun("redline", 0, 300_000, 1)
	starved.ServerCPU = 0.4
	r := &Result{Skipped: []string{"oha is not installed; cargo install oha"}, Runs: []Run{
		quiet, starved,
		{Tool: "redline", Workload: Stalled, Requests: 10001, Report: Report{Requests: 10000, P50: ptr(2.1), P99: ptr(1903), Max: ptr(2002)}},
		{Tool: "wrk", Workload: Stalled, Requests: 200000, Late: 20000, Report: Report{Requests: 200000, P50: ptr(2), P99: ptr(3), Max: ptr(2002)}},
		{Tool: "hey", Workload: Stalled, Failed: "no"},
	}}
	r.conclude(tools, &c)
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| redline | 300k (300k–300k) | 1.50 | 1.00 µs | 1.00M | 4.90 | 300k | 30 %, 40 % |",
		"| wrk | 200k (200k–200k) | 1.00 |",
		"INVALID rates: redline. Neither CPU was 90 % busy",
		"No tool could make this load.",
		"| *what users see* | 10000 | 2.00 ms | | 1.90 s | | 2.00 s | |",
		"| redline | 10001 | 2.10 ms | +5.0 % | 1.90 s | +0.0 % | 2.00 s | +0.0 % |",
		"| wrk (closed loop, corrected) | 200000 | 2.00 ms | +0.0 % | 3.00 ms | -99.8 % | 2.00 s | +0.0 % |",
		"| hey | failed |",
		"INVALID: the server itself was more than 500 µs late with too many answers: wrk 10.0 %.",
		"- oha is not installed",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
	for _, s := range []screen.Screen{{Width: 48, Color: true}, {Width: 80}, {Width: 140}} {
		b.Reset()
		if err := r.Print(&b, s); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if n := screen.Width(strings.TrimSuffix(l, "\n")); n > s.Columns() || strings.Contains(l, "|") {
				t.Errorf("%d columns on %+v: %q", n, s, l)
			}
		}
	}
}

// The same seed gives the same order, and rounds differ.
func TestShuffled(t *testing.T) {
	tools := catalogue("redline")
	order := func(seed uint64) (names []string) {
		random := rand.New(rand.NewPCG(seed, 0))
		for range 3 {
			for _, tool := range shuffled(tools, random) {
				names = append(names, tool.Name)
			}
		}
		return names
	}
	one := order(1)
	if !slices.Equal(one, order(1)) || slices.Equal(one, order(2)) {
		t.Error("the order is not that of the seed")
	}
	n := len(tools)
	if slices.Equal(one[:n], one[n:2*n]) && slices.Equal(one[n:2*n], one[2*n:]) {
		t.Error("all rounds have the same order")
	}
	if got := slices.Sorted(slices.Values(one[:n])); !slices.Equal(got, slices.Sorted(slices.Values(Names()))) {
		t.Errorf("a round of %v", got)
	}
}

// The command lines follow the tools' manuals.
func TestCommands(t *testing.T) {
	c := Config{Window: 3 * time.Second, Stall: 2 * time.Second, Rate: 1000}
	for _, x := range []struct{ tool, workload, want string }{
		{"redline", Plain, "load --quiet --json - --allow-invalid --warmup 0s -c 64 -d 6s URL"},
		{"redline", Pipelined, "load --quiet --json - --allow-invalid --warmup 0s -c 64 -d 6s --pipeline 16 URL"},
		{"redline", Stalled, "load --quiet --json - --allow-invalid --warmup 0s -c 64 -d 10s -r 1000 URL"},
		{"wrk", Plain, "-t1 -c64 -d6s --timeout 30s -s DIR/report.lua URL"},
		{"h2load", Plain, "-t1 -c64 -m1 -D6 --h1 URL"},
		{"h2load", Pipelined, "-t1 -c64 -m16 -D6 --h1 URL"},
		{"h2load", HTTP2, "-t1 -c32 -m16 -D6 URL"},
		{"h2load", Stalled, "-t1 -c64 -m1 -D10 --h1 --rps=15.625 --log-file=DIR/requests.tsv URL"},
		{"oha", HTTP2, "--no-tui --output-format json -c 32 -z 6s --http2 --insecure -p 16 URL"},
		{"oha-corrected", Stalled, "--no-tui --output-format json -c 64 -z 10s -q 1000 --latency-correction URL"},
		{"bombardier", Stalled, "-c 64 -d 10s -t 30s -l -p r -o json -r 1000 URL"},
		{"vegeta", Plain, "attack -targets DIR/targets -duration 6s -output DIR/results.gob -rate 0 -max-workers 64"},
		{"hey", Stalled, "-c 64 -z 10s -cpus 1 -q 15.625 URL"},
	} {
		tools := catalogue("redline")
		tool := tools[slices.IndexFunc(tools, func(t *Tool) bool { return t.Name == x.tool })]
		if !tool.can(x.workload) {
			t.Errorf("%s cannot make %s", x.tool, x.workload)
		}
		l := c.load(x.workload)
		l.URL, l.Dir = "URL", t.TempDir()
		args, err := tool.command(&l)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(args, " "), l.Dir, "DIR"); got != x.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", x.tool, x.workload, got, x.want)
		}
		if x.tool == "vegeta" {
			text, err := os.ReadFile(filepath.Join(l.Dir, "targets"))
			if err != nil || string(text) != "GET URL\n" {
				t.Errorf("targets %q, %v", text, err)
			}
		}
	}
}

// wrk sends 16 requests at once only if the load requires it.
func TestWrkScript(t *testing.T) {
	for workload, pipelined := range map[string]bool{Plain: false, Pipelined: true} {
		l := (&Config{Window: time.Second}).load(workload)
		l.Dir = t.TempDir()
		if _, err := wrkCommand(&l); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(l.Dir, "report.lua"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "for i = 1, 16 do") != pipelined || !strings.Contains(string(text), `"requests":%d`) {
			t.Errorf("%s: %s", workload, text)
		}
	}
}

func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tool := range catalogue("redline")[2:] {
		tool.find(t.Context())
		if !strings.Contains(tool.Missing, "is not installed; ") || !strings.Contains(tool.Missing, "install ") || tool.Version != "" {
			t.Errorf("%s: %q, version %q", tool.Name, tool.Missing, tool.Version)
		}
	}
}
