package report

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/results"
)

// A reading of the runtime stands for the time since the one before.
func TestLinesOfRuntime(t *testing.T) {
	r := run(1, 1, 0.2, 0, -1)
	at := func(seconds float64) *results.Sample {
		for i := range r.Series {
			if d := r.Series[i].T - seconds; d < 1e-9 && d > -1e-9 {
				return &r.Series[i]
			}
		}
		t.Fatalf("no sample at %v", seconds)
		return nil
	}
	if l := newLines(newGrid([]results.Run{r}), []results.Run{r}, 0); l.Goroutines != nil || l.Heap != nil || l.GC != nil || l.Sched != nil {
		t.Errorf("lines without a reading: %+v", l)
	}
	for seconds, n := range map[float64]uint64{0: 9, 0.4: 2, 0.6: 4} {
		s := at(seconds)
		s.Goroutines = int(10 * n)
		s.Runtime = &results.RuntimeSample{HeapBytes: n << 20, GCCycles: n, SchedLatencyP99Us: float64(n)}
	}
	l := newLines(newGrid([]results.Run{r}), []results.Run{r}, 0)
	for name, c := range map[string]struct {
		got  []*float64
		want []float64
	}{
		"goroutines": {l.Goroutines, []float64{20, 20, 40, -1, -1}},
		"heap":       {l.Heap, []float64{2, 2, 4, -1, -1}},
		"gc":         {l.GC, []float64{5, 5, 20, -1, -1}},
		"sched":      {l.Sched, []float64{2, 2, 4, -1, -1}},
	} {
		if got := values(c.got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v, want %v", name, got, c.want)
		}
	}
	// The mean of a column's collections, and the most of its goroutines.
	l = newLines(grid{Step: 1, PerBlock: 1, Blocks: []int{1}, tick: 0.2}, []results.Run{r}, 0)
	if gc, most := values(l.GC), values(l.Goroutines); gc[0] != 12.5 || most[0] != 40 {
		t.Errorf("in one column: collections %v, goroutines %v", gc, most)
	}
}

// What the page of a load has depends on what is known of it.
func TestHTMLOfLoad(t *testing.T) {
	plots := func(page string) (names []string) {
		for _, name := range []string{"cpu", "latency", "heat", "rate", "rss", "goroutines", "heap", "gc", "sched"} {
			if strings.Contains(page, `data-plot="`+name+`"`) {
				names = append(names, name)
			}
		}
		return names
	}
	page := markup(t, htmlOf(t, sample.Load(false)))
	if got := plots(page); len(got) != 9 {
		t.Errorf("plots %v", got)
	}
	for _, want := range []string{
		"<summary>Workers</summary>", "<td>rack-5</td>", ">requests</th>", ">4001</td>", "3.21 ± 0.04 ms</td>", ">61.0 %</td>", ">40.0 %</td>", ">12.5 µs</td>",
		"was lost: it fell silent", "<strong>NOTE</strong> profiles were taken within the window (cpu, heap)", ">collections</th>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<script"); n != 3 || strings.Contains(page, "notices doubt") {
		t.Errorf("%d scripts; notes are doubts: %v", n, strings.Contains(page, "notices doubt"))
	}
	page = markup(t, htmlOf(t, sample.Load(true)))
	if got := fmt.Sprint(plots(page)); got != "[latency heat rate]" {
		t.Errorf("plots %v of a load of which nothing else is known", got)
	}
	for _, absent := range []string{"Workers", "<strong>NOTE", "collections", "goroutines"} {
		if strings.Contains(page, absent) {
			t.Errorf("the page has %q", absent)
		}
	}
}
