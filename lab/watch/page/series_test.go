package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/watch"
)

func texts(values []*float64) (list []string) {
	for _, v := range values {
		if v == nil {
			list = append(list, "-")
		} else {
			list = append(list, fmt.Sprint(*v))
		}
	}
	return list
}

// A figure that is read less often covers the time before each reading, and a long gap stays one.
func TestValues(t *testing.T) {
	s := newSeries(1)
	for i, v := range []float64{1, 0, 3, 0, 0, 0, 0, 0, 9} {
		values := map[string]float64{"always": float64(i)}
		if v > 0 {
			values["rarely"] = v
		}
		s.add(float64(i)+0.1, values)
	}
	if got := texts(s.values("rarely", 2)); !slices.Equal(got, []string{"2", "6", "6", "-", "-", "-", "-", "-", "18"}) {
		t.Error(got)
	}
	if got := texts(s.values("never", 1)); len(got) != 9 || got[0] != "-" {
		t.Error(got)
	}
	if m := s.mean("rarely"); fmt.Sprintf("%.2f", m) != "4.33" || s.mean("never") != 0 {
		t.Error(m)
	}
}

// However long a watch is, the columns are bounded, and their means are those of the samples.
func TestFold(t *testing.T) {
	s := newSeries(0.2)
	const n = 10_000
	for i := range n {
		s.add(0.2*float64(i), map[string]float64{"x": float64(i)})
	}
	values := s.values("x", 1)
	if len(values) > mostColumns || len(values) < mostColumns/2 || s.axis().Step*float64(len(values)) < 0.2*n {
		t.Fatalf("%d columns of %v s", len(values), s.step)
	}
	each := s.step / 0.2
	for i, v := range values[:len(values)-1] {
		if want := (float64(i)+0.5)*each - 0.5; v == nil || *v < want-1 || *v > want+1 {
			t.Fatalf("column %d: %v, want %v", i, *v, want)
		}
	}
}

// Every figure of the plans exists, and no chart has more lines than looks.
func TestPlans(t *testing.T) {
	known := map[string]watch.Figure{}
	for _, f := range watch.Figures() {
		known[f.Name] = f
	}
	for _, g := range plans {
		for _, c := range g.charts {
			units := map[string]bool{}
			for _, f := range c.figures {
				if known[f[0]].Name == "" {
					t.Errorf("%s: no figure %s", c.title, f[0])
				}
				print, _ := printed(known[f[0]].Unit)
				units[print] = true
			}
			if len(units) != 1 || len(c.figures) > len(looks) {
				t.Errorf("%s: %d figures, units %v", c.title, len(c.figures), units)
			}
		}
	}
}
