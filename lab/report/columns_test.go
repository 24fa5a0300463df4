package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// leads returns a file with one workload of each kind whose lead is not CPU: idle
// connections, and arrivals. Their order by CPU differs from that by the lead.
func leads() *results.File {
	full := sample.File()
	f := &results.File{
		Config: full.Config,
		Subjects: []results.Subject{
			{Name: "base", Role: roleBaseline}, {Name: "other", Role: "subject"}, {Name: "limit", Role: roleFloor},
		},
		Workloads: []results.Workload{
			{Name: "idle", Title: "Idle", Unit: "request", Method: "GET", Path: "/", Connections: 10_000, Pipeline: 1, Idle: true},
			{Name: "half", Title: "Half", Unit: "request", Method: "GET", Path: "/", Connections: 256, Pipeline: 1, Arrivals: "Poisson, 50 %"},
		},
	}
	f.Config.Baseline, f.Config.Blocks = "base", 6
	at := func(v float64) results.Estimate { return results.Estimate{Value: v, Low: v * 0.9, High: v * 1.1} }
	for name, v := range map[string]struct{ conn, p99, cpu float64 }{
		"base": {20_000, 1500, 9}, "other": {489, 300, 12}, "limit": {200, 250, 4},
	} {
		lat := full.Cells[0].Latency
		f.Cells = append(f.Cells,
			results.Cell{
				Workload: "idle", Subject: name, Blocks: 6,
				Metrics: map[results.Metric]results.Estimate{results.MetricConn: at(v.conn), results.MetricRSS: at(3 << 20)},
			},
			results.Cell{
				Workload: "half", Subject: name, Blocks: 6, Latency: lat,
				Metrics: map[results.Metric]results.Estimate{
					results.MetricP99: at(v.p99), results.MetricCPU: at(v.cpu), results.MetricRate: at(50_000),
				},
			})
		each := v.conn
		f.Runs = append(f.Runs,
			results.Run{ID: "idle/b1/" + name, Workload: "idle", Subject: name, Block: 1, Memory: results.Memory{PerConnectionBytes: &each}},
			results.Run{
				ID: "half/b1/" + name, Workload: "half", Subject: name, Block: 1, Latency: lat,
				Open: &results.Open{TargetRate: 50_000, SendLag: results.Latency{P99: &each}},
			})
	}
	compare := func(w string, m results.Metric, ratio float64, v results.Verdict) {
		f.Comparisons = append(f.Comparisons, results.Comparison{
			Workload: w, Subject: "other", Baseline: "base", Metric: m, Blocks: 6, Ratio: at(ratio), Verdict: v,
		})
	}
	compare("idle", results.MetricConn, 0.024, results.Faster)
	compare("half", results.MetricP99, 0.2, results.Faster)
	compare("half", results.MetricCPU, 1.33, results.Slower)
	return f
}

func TestLeads(t *testing.T) {
	f := leads()
	got := render(t, f, Markdown)
	for _, want := range []string{
		"GET /, 10000 connections\n",
		"| subject | memory/conn. | × baseline | × limit | verdict by memory | RSS peak |\n",
		"| limit | 200 B (180 B–220 B) | – | 1.00 | limit | 3.00 MiB |\n| other | 489 B (440 B–538 B) | 0.02 (0.02–0.03) | 2.44 | faster | 3.00 MiB |\n| base | 19.5 KiB (17.6 KiB–21.5 KiB) | 1 | 100 | baseline | 3.00 MiB |\n",
		"GET /, 256 connections, arrivals: Poisson, 50 %\n",
		"| subject | p99 | × baseline | × limit | verdict by p99 | requests per s | p50 | p99.9 | CPU µs/request | RSS peak | allocs/req |\n",
		"| other | 300 µs (270 µs–330 µs) | 0.20 (0.18–0.22) | 1.20 | faster | 50.0k |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	for i, want := range []string{
		"other used the least memory, 489 B per connection: 0.02\u00a0× that of base (0.02–0.03), and 2.44\u00a0× the limit.",
		"other had the shortest response times, p99 300 µs: 0.20\u00a0× that of base (0.18–0.22), and 1.20\u00a0× the limit.",
	} {
		if got := headline(f, f.Workloads[i]); got != want {
			t.Errorf("headline %q, want %q", got, want)
		}
	}
	for i, want := range []string{"Less memory than base: other (0.02\u00a0×).", "A shorter p99 than base: other (0.20\u00a0×)."} {
		if got := verdicts(f, f.Workloads[i]); got != want {
			t.Errorf("verdicts %q, want %q", got, want)
		}
	}
}

// TestLeadsOnThePage checks that the bars are of CPU whatever the lead is, and that idle
// connections have no charts.
func TestLeadsOnThePage(t *testing.T) {
	f := leads()
	v, err := newView(f)
	if err != nil {
		t.Fatal(err)
	}
	idle, half := v.Workloads[0], v.Workloads[1]
	if len(idle.Bars)+len(idle.Curves)+len(idle.Lines) > 0 {
		t.Errorf("idle connections are drawn: %+v", idle)
	}
	if len(half.Bars) != 3 || half.Bars[1].Value != 9 || half.Bars[2].Note != "1.33 × base, slower" || half.Limit == nil || *half.Limit != 4 {
		t.Errorf("bars %+v, limit %v", half.Bars, half.Limit)
	}
	var page bytes.Buffer
	if err := HTML(&page, f); err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?s)<section id="w(\d)".*?</section>`).FindAllString(page.String(), -1)
	if len(sections) != 2 || strings.Contains(sections[0], "<figure>") || !strings.Contains(sections[1], "<figure>") {
		t.Error("figures where nothing can be drawn, or none where something can")
	}
	for i, want := range []string{
		`<th scope="col" class="n">memory<br>per conn.</th><th scope="col" class="n">×<br>baseline</th>`,
		`<td class="n">300 µs <small>270 µs–330 µs</small></td><td class="n">0.20 <small>0.18–0.22</small></td><td class="n">1.20</td><td class="v faster">faster</td>`,
	} {
		if !strings.Contains(sections[i], want) {
			t.Errorf("section %d lacks %q", i, want)
		}
	}
}

func TestComparisonBesideOthers(t *testing.T) {
	c := results.Comparison{
		Workload: "at25", Subject: "a", Baseline: "b", Metric: results.MetricCPU, Verdict: results.Faster, Blocks: 9, Usable: 9, Busy: 4, Widened: 0.12,
		Ratio: results.Estimate{Value: 0.5, Low: 0.4, High: 0.6}, Reason: "4 of 9 pairs were measured beside others",
	}
	f := &results.File{
		Workloads:   []results.Workload{{Name: "at25", Lead: results.MetricCPU, Arrivals: "Poisson"}},
		Subjects:    []results.Subject{{Name: "a"}, {Name: "b", Role: roleBaseline}},
		Cells:       []results.Cell{{Workload: "at25", Subject: "a", Blocks: 9}, {Workload: "at25", Subject: "b", Blocks: 9}},
		Comparisons: []results.Comparison{c},
	}
	for _, format := range []Format{Terminal, Markdown} {
		var out strings.Builder
		if err := Table(&out, f, format, screen.Screen{Width: 160}, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"beside others", c.Reason} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the table lacks %q:\n%s", want, out.String())
			}
		}
	}
	raw := comparisonsTable(f)
	got := map[string]string{}
	for i, h := range raw.Heads {
		got[h.Text] = raw.Rows[0][i].Text
	}
	if got["usable"] != "9" || got["beside others"] != "4" || got["wider by"] != Percent(0.12) || got["reason"] != c.Reason {
		t.Errorf("%v", got)
	}
}

func TestRunsTableHasOpenLoops(t *testing.T) {
	table := runsTable(leads())
	for _, row := range table.Rows {
		if len(row) != len(table.Heads) {
			t.Fatalf("%d cells under %d heads", len(row), len(table.Heads))
		}
		target, lag, each := row[16], row[17], row[18]
		if idle := strings.HasPrefix(row[0].Text, "idle"); idle != (each.Value != "") || idle == (target.Value != "") || idle == (lag.Value != "") {
			t.Errorf("row %v", row)
		}
	}
}
