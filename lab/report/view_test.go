package report

import (
	"math"
	"reflect"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/results"
)

// histogram returns a histogram of 1, 2, 3... n microseconds, once each.
func histogram(t *testing.T, n int) results.Latency {
	t.Helper()
	h := hdr.New(1, int64(time.Minute), 3)
	for i := range n {
		if err := h.RecordValue(int64(i+1) * 1000); err != nil {
			t.Fatal(err)
		}
	}
	return sample.Latency(h)
}

func TestCurveEndsWhereSamplesDo(t *testing.T) {
	tests := []struct {
		samples int
		lastP   float64 // percentile of the last point; 0 for none
		cut     float64
	}{
		{9, 0, 0},
		{19, 0, 47.3684},
		{20, 0.5, 50},
		{100, 0.9, 90},
		{1000, 0.99, 99},
		{5000, 0.998, 99.8},
		{100_000, 0.9999, 0},
		{500_000, 0.9999, 0},
	}
	for _, test := range tests {
		c, err := NewCurve(histogram(t, test.samples))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Cut-test.cut) > 1e-9 {
			t.Errorf("%d samples: cut at %v, want %v", test.samples, c.Cut, test.cut)
		}
		if test.lastP == 0 {
			if len(c.Points) != 0 {
				t.Errorf("%d samples: points %v, want none", test.samples, c.Points)
			}
			continue
		}
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		if want := round(nines(0.5), 4); first[0] != want {
			t.Errorf("%d samples: begins at %v, want %v", test.samples, first[0], want)
		}
		if want := round(nines(test.lastP), 4); math.Abs(last[0]-want) > 1e-4 {
			t.Errorf("%d samples: ends at %v, want %v", test.samples, last[0], want)
		}
		// The values equal the ranks; the histogram's precision is 0.1 %.
		if want := test.lastP * float64(test.samples); math.Abs(last[1]-want) > want*0.002+1 {
			t.Errorf("%d samples: last value %v, want %v", test.samples, last[1], want)
		}
		for i := 1; i < len(c.Points); i++ {
			if c.Points[i][0] <= c.Points[i-1][0] || c.Points[i][1] < c.Points[i-1][1] {
				t.Fatalf("%d samples: falls at %v", test.samples, c.Points[i])
			}
		}
	}
	if _, err := NewCurve(results.Latency{Histogram: "no"}); err == nil {
		t.Error("a damaged histogram gave a curve")
	}
}

// run returns a run whose samples are tick apart, with the given jitter.
func run(block int, window, tick, jitter float64, first int) results.Run {
	r := results.Run{Subject: "s", Block: block, WindowSeconds: window, Counted: true}
	for i := first; float64(i)*tick <= window+1e-9; i++ {
		t := float64(i) * tick
		if i%2 == 0 {
			t += jitter
		}
		r.Series = append(r.Series, results.Sample{
			T: t, Rate: float64(100*block + i), RSSBytes: uint64(i+10) << 20,
			Heat: [][2]uint64{{uint64(20 + block), 5}, {40, 1}},
		})
	}
	return r
}

func TestGrid(t *testing.T) {
	many := []results.Run{}
	for b := 1; b <= 20; b++ {
		many = append(many, run(b, 10, 0.2, 0, 1))
	}
	tests := []struct {
		name string
		runs []results.Run
		want grid
	}{
		{"none", nil, grid{Blocks: []int{}}},
		{"no series", []results.Run{{Block: 3, WindowSeconds: 1}}, grid{Blocks: []int{3}}},
		{"one", []results.Run{run(1, 1, 0.2, 0, 1)}, grid{Step: 0.2, PerBlock: 5, Blocks: []int{1}}},
		{"gap", []results.Run{run(4, 1, 0.2, 0, 1), run(2, 1, 0.2, 0, 1)}, grid{Step: 0.2, PerBlock: 5, Blocks: []int{2, 4}}},
		{"coarser", many, grid{Step: 1, PerBlock: 10, Blocks: func() (b []int) {
			for i := range 20 {
				b = append(b, i+1)
			}
			return b
		}()}},
	}
	for _, test := range tests {
		got := newGrid(test.runs)
		if math.Abs(got.tick-0.2) > 1e-9 && got.PerBlock > 0 {
			t.Errorf("%s: tick %v", test.name, got.tick)
		}
		got.tick = 0
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func values(v []*float64) []float64 {
	out := make([]float64, len(v))
	for i, p := range v {
		out[i] = -1
		if p != nil {
			out[i] = *p
		}
	}
	return out
}

func TestLinesAlign(t *testing.T) {
	// The warm-up (samples up to T 0) is not on the axis, the clock jitters, and block
	// 2 lacks its first two samples.
	runs := []results.Run{run(1, 1, 0.2, 0.05, -3), run(2, 1, 0.2, -0.05, 3)}
	l := newLines(newGrid(runs), runs, 7)
	want := []float64{101, 102, 103, 104, 105, -1, -1, 203, 204, 205}
	if got := values(l.Rate); !reflect.DeepEqual(got, want) {
		t.Errorf("rate %v, want %v", got, want)
	}
	want = []float64{11, 12, 13, 14, 15, -1, -1, 13, 14, 15}
	if got := values(l.RSS); !reflect.DeepEqual(got, want) {
		t.Errorf("memory %v, want %v", got, want)
	}
	// Two samples per column: the mean of the rate, the maximum of the memory.
	runs = runs[:1]
	l = newLines(grid{Step: 0.4, PerBlock: 3, Blocks: []int{1}, tick: 0.2}, runs, 0)
	if got, want := values(l.Rate), []float64{101.5, 103.5, 105}; !reflect.DeepEqual(got, want) {
		t.Errorf("rate %v, want %v", got, want)
	}
	if got, want := values(l.RSS), []float64{12, 14, 15}; !reflect.DeepEqual(got, want) {
		t.Errorf("memory %v, want %v", got, want)
	}
}

func TestHeatGrid(t *testing.T) {
	a := []results.Run{run(1, 0.4, 0.2, 0, -1), run(2, 0.4, 0.2, 0, 2)}
	b := []results.Run{run(2, 0.4, 0.2, 0, 1)}
	b[0].Series[0].Heat = [][2]uint64{{19, 900}, {results.HeatBuckets, 7}}
	g := newGrid(append(append([]results.Run{}, a...), b...))
	m := newHeatMap(map[int][]column{3: heatColumns(g, b), 1: heatColumns(g, a)})
	want := []heatSubject{
		{1, []column{{2, 5, 21, 1}, {2, 5, 21, 1}, {}, {3, 5, 21, 1}}},
		{3, []column{{}, {}, {0, 900}, {3, 5, 21, 1}}},
	}
	if !reflect.DeepEqual(m.Subjects, want) {
		t.Errorf("columns %v, want %v", m.Subjects, want)
	}
	if m.First != 19 || m.Max != 900 || len(m.Edges) != 22 {
		t.Errorf("first %d, max %d, %d rows", m.First, m.Max, len(m.Edges))
	}
	if m.Edges[1] != "32.0 µs" || m.Edges[21] != "1.02 ms" {
		t.Errorf("edges %v", m.Edges)
	}
	if empty := newHeatMap(map[int][]column{0: {{}, {}}}); len(empty.Edges) != 0 || empty.Max != 0 {
		t.Errorf("empty map %+v", empty)
	}
}

func TestViewKeepsCounts(t *testing.T) {
	f := sample.File()
	v, err := newView(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range v.Workloads {
		var drawn, measured uint64
		for _, s := range w.Heat.Subjects {
			for _, c := range s.Columns {
				for j := 1; j < len(c); j += 2 {
					drawn += c[j]
				}
			}
		}
		for _, r := range f.Runs {
			if r.Workload != f.Workloads[i].Name || !r.Counted {
				continue
			}
			for _, s := range r.Series {
				for _, h := range s.Heat {
					if s.T > 0.05 {
						measured += h[1]
					}
				}
			}
		}
		if drawn != measured || drawn == 0 {
			t.Errorf("workload %d: %d drawn, %d measured", i, drawn, measured)
		}
		if want := *f.Cells[0].Latency.P50; i == 0 && w.Curves[len(w.Curves)-1].Points[0][1] < want {
			t.Errorf("the last curve begins at %v, below the baseline's %v", w.Curves[len(w.Curves)-1].Points[0], want)
		}
		if w.Limit == nil || *w.Limit != w.Bars[0].Value {
			t.Errorf("workload %d: limit %v", i, w.Limit)
		}
	}
}

func TestRows(t *testing.T) {
	rows := rowsOf(sample.File(), results.Workload{Name: "push"})
	if r := rows[0]; r.Role != roleFloor || r.limit != 1 || !(rows[1].limit > 1) {
		t.Errorf("first row %+v", r)
	}
	last := rows[len(rows)-1]
	if last.Name != "echo" || last.verdict() != "failed" || last.print(" ").CPU != none {
		t.Errorf("last row %+v", last)
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].rank() < rows[i-1].rank() {
			t.Errorf("%s is after %s", rows[i].Name, rows[i-1].Name)
		}
	}
	if rows := rowsOf(sample.File(), results.Workload{Name: "none"}); len(rows) != 0 {
		t.Errorf("an unknown workload has %d rows", len(rows))
	}
}
