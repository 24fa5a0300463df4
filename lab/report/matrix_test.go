package report

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// partial returns the sample with its first workload at four rates. "gin" does not reach
// the last one, and "limit" does not serve it.
func partial() *results.File {
	f := sample.File()
	base := f.Workloads[0]
	f.Workloads = nil
	var cells []results.Cell
	var comparisons []results.Comparison
	var runs []results.Run
	for _, name := range []string{"at5", "at10", "at25", "at50"} {
		w := base
		w.Name, w.Family, w.Lead, w.Arrivals = name, "at", results.MetricCPU, "Poisson"
		last := name == "at50"
		if last {
			w.NotServed = []string{"limit"}
		}
		f.Workloads = append(f.Workloads, w)
		for _, c := range f.Cells {
			if c.Workload != base.Name || last && c.Subject == "limit" {
				continue
			}
			c.Workload = name
			if last && c.Subject == "gin" {
				c = results.Cell{Workload: name, Subject: "gin", Short: 6}
			}
			cells = append(cells, c)
		}
		for _, c := range f.Comparisons {
			if c.Workload == base.Name && !(last && (c.Subject == "gin" || c.Subject == "limit")) {
				c.Workload = name
				comparisons = append(comparisons, c)
			}
		}
		for _, r := range f.Runs {
			if r.Workload != base.Name || last && r.Subject == "limit" {
				continue
			}
			r.Workload = name
			r.Open = &results.Open{Due: 1000, Sent: 1000, Waited: 25}
			if last && r.Subject == "gin" {
				r.Counted, r.Short = false, "did not reach the rate: 81.0 % of 118000 requests per second were sent"
			}
			runs = append(runs, r)
		}
	}
	f.Cells, f.Comparisons, f.Runs = cells, comparisons, runs
	f.Ceiling = &results.Ceiling{Subject: "limit", Rate: 236000, Connections: 64, Bound: true}
	return f
}

func TestMatrix(t *testing.T) {
	for name, format := range map[string]Format{"terminal": Terminal, "markdown": Markdown} {
		t.Run(name, func(t *testing.T) {
			out := render(t, partial(), format)
			for _, want := range []string{
				"the rates are shares of the maximum rate of limit: 236k per second in a closed loop of 64 connections, bound by the generator",
				"CPU of the server, µs per request or event", "Response time, p50 (p99)",
				"too slow", "not served", "2.5 %",
				"gin: not counted in 6 blocks; last reason: did not reach the rate: 81.0 %",
			} {
				if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
					t.Errorf("the report lacks %q:\n%s", want, out)
				}
			}
			if format == Terminal {
				for line := range strings.Lines(out) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > screen.Usual {
						t.Errorf("%d columns: %q", n, line)
					}
				}
			} else if row := regexp.MustCompile(`(?m)^\| at5 \|.*\| 4\.03 \(0\.43, 1\.14\) \|`); !row.MatchString(out) {
				t.Errorf("no row of at5 with redline's CPU and ratios:\n%s", out)
			}
		})
	}
}

// TestMatrixIsForMany checks that few workloads have no common tables.
func TestMatrixIsForMany(t *testing.T) {
	if m := matrices(sample.File()); m != nil {
		t.Errorf("three workloads have %d common tables", len(m))
	}
	f := partial()
	for i := range f.Workloads {
		f.Workloads[i].Idle = i > 0
	}
	if m := matrices(f); m != nil {
		t.Errorf("idle connections count as workloads: %+v", m)
	}
}
