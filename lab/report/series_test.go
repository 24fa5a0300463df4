package report

import (
	"reflect"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

// TestLinesOfRuntime: a reading of the runtime covers the time since the previous one.
func TestLinesOfRuntime(t *testing.T) {
	r := run(1, 1, 0.2, 0, -1)
	if l := newLines(newGrid([]results.Run{r}), []results.Run{r}, 0); l.Goroutines != nil {
		t.Errorf("lines without a reading: %+v", l)
	}
	for i := range r.Series {
		for seconds, n := range map[float64]int{0: 90, 0.4: 20, 0.6: 40} {
			if d := r.Series[i].T - seconds; d < 1e-9 && d > -1e-9 {
				r.Series[i].Goroutines = n
			}
		}
	}
	l := newLines(newGrid([]results.Run{r}), []results.Run{r}, 0)
	if got, want := values(l.Goroutines), []float64{20, 20, 40, -1, -1}; !reflect.DeepEqual(got, want) {
		t.Errorf("goroutines %v, want %v", got, want)
	}
	// The maximum of a column's goroutines.
	l = newLines(grid{Step: 1, PerBlock: 1, Blocks: []int{1}, tick: 0.2}, []results.Run{r}, 0)
	if most := values(l.Goroutines); most[0] != 40 {
		t.Errorf("in one column: goroutines %v", most)
	}
}
