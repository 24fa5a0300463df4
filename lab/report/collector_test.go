package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/results"
)

// The figures of the garbage collector are in every format if they were measured, and the name of
// a build is not cut.
func TestCollectorColumns(t *testing.T) {
	const name = "redline-nethttp@1.26.11"
	f := sample.File()
	for _, format := range []Format{Terminal, Markdown} {
		if text := render(t, f, format); strings.Contains(text, "GCs") {
			t.Errorf("columns without figures in\n%s", text)
		}
	}
	old := f.Cells[0].Subject
	for i := range f.Subjects {
		if s := &f.Subjects[i]; s.Name == old {
			s.Name, s.Build = name, &results.Build{Asked: "1.26", Toolchain: "go1.26.11", Flags: "-tags=x"}
		}
	}
	f.Cells[0].Subject = name
	for m, v := range map[results.Metric]float64{
		results.MetricCycles: 29.2, results.MetricStops: 1220, results.MetricStop: 42.3, results.MetricGCCPU: 0.038,
	} {
		f.Cells[0].Metrics[m] = results.Estimate{Value: v, Low: v, High: v}
	}
	f.Subjects = append(f.Subjects, results.Subject{Name: "old@1.25.3", Role: "subject", Build: &results.Build{}, LeftOut: "too old"})
	f.Notes = append(f.Notes, "old@1.25.3 is left out: too old")
	var page bytes.Buffer
	if err := HTML(&page, f); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text string
		want []string
	}{
		"terminal": {render(t, f, Terminal), []string{"GCs", "stopped", "29.2", "1.22ms", "42.3µs", "3.8 %", name, "left out: too old"}},
		"markdown": {render(t, f, Markdown), []string{"GCs per s", "stopped/GC", "29.2", "1.22 ms", "42.3 µs", "3.8 %", name}},
		"page":     {page.String(), []string{"GCs<br>per s", "1.22 ms", "42.3 µs", "3.8 %", name + " by go1.26.11, GOFLAGS -tags=x"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s lacks %q", what, w)
			}
		}
	}
	if strings.Contains(page.String(), "old@1.25.3 by") {
		t.Error("the page lists a build that was not made")
	}
}
