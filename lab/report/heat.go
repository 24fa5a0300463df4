package report

import (
	"slices"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// heatMap is latency over time for every subject of a workload. All share the rows and
// the colour scale, so that subjects can be compared.
type heatMap struct {
	First    int           `json:"first"` // bucket of the lowest row
	Edges    []string      `json:"edges"` // lower edge of each row, as printed
	Max      uint64        `json:"max"`   // largest count of all cells
	Subjects []heatSubject `json:"subjects"`
}

// heatSubject holds the columns of the time axis, which are empty where nothing was
// measured.
type heatSubject struct {
	Subject int      `json:"subject"`
	Columns []column `json:"columns"`
}

// column is a sparse list: row, count, row, count...
type column []uint64

// heatColumns returns the sums of the latency counts of a subject's runs in each column
// of the time axis. Its rows are buckets of [results.HeatBucket].
func heatColumns(g grid, runs []results.Run) []column {
	counts := make([][results.HeatBuckets]uint64, g.columns())
	for _, r := range runs {
		for _, s := range r.Series {
			col := g.column(&r, s)
			if col < 0 {
				continue
			}
			for _, h := range s.Heat {
				if h[0] < results.HeatBuckets {
					counts[col][h[0]] += h[1]
				}
			}
		}
	}
	out := make([]column, len(counts))
	for i := range counts {
		out[i] = column{}
		for bucket, n := range counts[i] {
			if n > 0 {
				out[i] = append(out[i], uint64(bucket), n)
			}
		}
	}
	return out
}

// newHeatMap returns the heat map of all subjects. It changes the rows of their columns.
func newHeatMap(bySubject map[int][]column) heatMap {
	m := heatMap{Edges: []string{}, Subjects: []heatSubject{}}
	first, last := uint64(results.HeatBuckets), uint64(0)
	for subject, columns := range bySubject {
		m.Subjects = append(m.Subjects, heatSubject{Subject: subject, Columns: columns})
		for _, c := range columns {
			for i := 0; i < len(c); i += 2 {
				first, last = min(first, c[i]), max(last, c[i])
				m.Max = max(m.Max, c[i+1])
			}
		}
	}
	slices.SortFunc(m.Subjects, func(a, b heatSubject) int { return a.Subject - b.Subject })
	if m.Max == 0 {
		return m
	}
	m.First = int(first)
	for _, s := range m.Subjects {
		for _, c := range s.Columns {
			for i := 0; i < len(c); i += 2 {
				c[i] -= first
			}
		}
	}
	for b := first; b <= last; b++ {
		edge := results.HeatFloor(int(b))
		m.Edges = append(m.Edges, Micros(float64(edge)/float64(time.Microsecond), " "))
	}
	return m
}
