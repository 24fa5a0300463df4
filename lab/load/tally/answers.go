package tally

import (
	"strconv"

	"github.com/redline-go/redline/lab/load/spec"
)

// Answers counts complete answers by status, and keeps the range of the right ones' sizes. The zero
// value is empty.
type Answers struct {
	statuses [1000]uint64
	sizes    spec.Sizes
}

// Add counts n answers of a status, whose bodies have that many bytes.
func (a *Answers) Add(status, n int, size int64, right bool) {
	if status >= 0 && status < len(a.statuses) {
		a.statuses[status] += uint64(n)
	}
	if !right {
		return
	}
	if a.sizes.Count == 0 || size < a.sizes.Min {
		a.sizes.Min = size
	}
	a.sizes.Max = max(a.sizes.Max, size)
	a.sizes.Count += uint64(n)
}

// Result stores the counts in res.
func (a *Answers) Result(res *spec.Result) {
	res.Statuses = map[string]uint64{}
	for status, n := range a.statuses {
		if n > 0 {
			res.Statuses[strconv.Itoa(status)] = n
		}
	}
	if sizes := a.sizes; sizes.Count > 0 {
		res.Bodies = &sizes
	}
}
