package page

import (
	"math"
	"testing"

	"github.com/redline-go/redline/lab/load/page/internal/sample"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// at returns a point at a time, with one answer in each of the buckets.
func at(t float64, buckets ...uint64) present.Point {
	p := present.Point{Sample: results.Sample{T: t, Rate: 10 * t}}
	for _, b := range buckets {
		p.Heat = append(p.Heat, [2]uint64{b, 4})
	}
	return p
}

func TestLayOut(t *testing.T) {
	long := make([]present.Point, 3600)
	for i := range long {
		long[i] = at(float64(i + 1))
	}
	for _, c := range []struct {
		name   string
		series []present.Point
		start  float64
		step   float64
		counts []int // points of the first columns
		n      int
	}{
		{"nothing", nil, 0, 0, nil, 0},
		{"one point", []present.Point{at(0.2)}, 0, 0.2, []int{1}, 1},
		{"warm-up and window", []present.Point{at(-0.2), at(0), at(0.2), at(0.4), at(0.6)}, -0.4, 0.2, []int{1, 1, 1, 1, 1}, 5},
		{"clocks are late", []present.Point{at(0.203), at(0.41), at(0.601), at(0.809), at(1)}, 0, 0.2, []int{1, 1, 1, 1, 1}, 5},
		{"one tick took twice as long", []present.Point{at(0.2), at(0.4), at(0.6), at(0.8), at(1.2), at(1.4), at(1.6), at(1.8), at(2)}, 0, 0.2, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10},
		{"a warm-up that was made longer", []present.Point{at(-0.2), at(0), at(-0.2), at(0), at(0.2), at(0.4)}, -0.4, 0.2, []int{1, 1, 1, 1}, 4},
		{"an hour", long, 0, 12, []int{12, 12}, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, columns := layOut(c.series)
			if math.Abs(a.Start-c.start) > 1e-9 || math.Abs(a.Step-c.step) > 1e-9 || a.Columns != c.n || len(columns) != c.n {
				t.Fatalf("axis %+v of %d columns, want %v + %v × %d", a, len(columns), c.start, c.step, c.n)
			}
			for i, n := range c.counts {
				if len(columns[i]) != n {
					t.Errorf("column %d has %d points, want %d", i, len(columns[i]), n)
				}
			}
		})
	}
}

// A point that covers several columns is divided: nothing is counted twice.
func TestDivide(t *testing.T) {
	p := at(1, 30, 40)
	p.Errors, p.Heat[1][1] = 5, 7
	var errors, first, second uint64
	for _, part := range divide(p, 3) {
		errors += part.Errors
		counts := heatOf([]present.Point{part})
		first, second = first+counts[30], second+counts[40]
	}
	if errors != 5 || first != 4 || second != 7 {
		t.Errorf("%d errors, %d and %d answers", errors, first, second)
	}
}

func TestQuantiles(t *testing.T) {
	one := at(1, 30)
	one.P50Us, one.P99Us = 200, 220
	if got := quantiles([]present.Point{one}); *got[0] != 200 || *got[2] != 220 || *got[1] < 200 || *got[1] > 220 {
		t.Errorf("of one point %v %v %v", *got[0], *got[1], *got[2])
	}
	both := quantiles([]present.Point{one, at(2, 50)})
	for i, b := range [3]int{30, 50, 50} {
		low, high := results.HeatFloor(b).Seconds()*1e6, results.HeatFloor(b+1).Seconds()*1e6
		if v := *both[i]; v < low || v > high {
			t.Errorf("quantile %d is %v, want within %v to %v", i, v, low, high)
		}
	}
	if got := quantiles([]present.Point{at(1)}); got[0] != nil || got[1] != nil || got[2] != nil {
		t.Error("a quantile of no answer")
	}
}

// While the server stalls, the response time is absent, not 0.
func TestStallIsAGap(t *testing.T) {
	d, err := sample.Run("open")
	if err != nil {
		t.Fatal(err)
	}
	v, err := draw(d)
	if err != nil {
		t.Fatal(err)
	}
	i := int(math.Round((5.3 - v.Axis.Start) / v.Axis.Step))
	for _, c := range v.Charts {
		switch got := c.Lines[0].Values[i]; c.Plot {
		case "times":
			if got != nil {
				t.Errorf("p50 of the stall is %v", *got)
			}
		case "rate":
			if got == nil || *got != 0 || c.Lines[1].Values[i] == nil || *c.Lines[1].Values[i] < 2000 {
				t.Errorf("the rate of the stall is %v", got)
			}
		case "waiting":
			if got == nil || *got < 100 {
				t.Errorf("%v wait in the stall", got)
			}
		case "errors":
			if got == nil || *got != 2 {
				t.Errorf("errors of the stall: %v", got)
			}
		}
	}
}
