package trace

import (
	"cmp"
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms cover a nanosecond to an hour with two digits. A longer time is in the highest
// bucket; its exact value is in max and total.
const (
	longest = int64(3600e9)
	digits  = 2
)

// beyond is how many samples lie above a percentile that is reported.
const beyond = 10

// spread collects a distribution. Its zero value is empty.
type spread struct {
	hist              *hdrhistogram.Histogram
	count, total, max int64
}

func (s *spread) add(ns int64) {
	if s.hist == nil {
		s.hist = hdrhistogram.New(1, longest, digits)
	}
	s.count++
	s.total = sum(s.total, ns)
	s.max = max(s.max, ns)
	_ = s.hist.RecordValue(min(max(ns, 1), longest)) // the value is within the bounds
}

// result returns the distribution.
func (s *spread) result() Spread {
	out := Spread{Count: s.count, TotalNS: s.total, MaxNS: s.max}
	out.P50NS, out.P99NS = s.percentile(50), s.percentile(99)
	return out
}

func (s *spread) percentile(p float64) *int64 {
	if float64(s.count)*(100-p) < 100*beyond {
		return nil
	}
	v := min(s.hist.ValueAtQuantile(p), s.max)
	return &v
}

// sum adds durations. It stays at the largest number where a hostile trace would overflow it.
func sum(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return 1<<63 - 1
}

// maxRows limits a table.
const maxRows = 4096

// table adds up rows by key. When it is full, new keys are counted and left out.
type table[K comparable, V any] struct {
	rows    map[K]*V
	limit   int
	dropped uint64
}

// at returns the row of a key, or nil if it was left out.
func (t *table[K, V]) at(k K) *V {
	if v, ok := t.rows[k]; ok {
		return v
	}
	limit := t.limit
	if limit == 0 {
		limit = maxRows
	}
	if len(t.rows) >= limit {
		t.dropped++
		return nil
	}
	if t.rows == nil {
		t.rows = map[K]*V{}
	}
	v := new(V)
	t.rows[k] = v
	return v
}

// sorted returns the keys by descending weight, at most n, and equal ones in the order of less.
func (t *table[K, V]) sorted(n int, weight func(*V) int64, less func(a, b K) int) []K {
	keys := slices.SortedFunc(maps.Keys(t.rows), func(a, b K) int {
		return cmp.Or(cmp.Compare(weight(t.rows[b]), weight(t.rows[a])), less(a, b))
	})
	return keys[:min(n, len(keys))]
}

// tally is a number of times, with their sum and the longest.
type tally struct{ count, total, max int64 }

func (t *tally) add(ns int64) {
	if t == nil {
		return
	}
	t.count++
	t.total = sum(t.total, ns)
	t.max = max(t.max, ns)
}

// stackTally is a tally of one place, with the first stack that was seen there.
type stackTally struct {
	tally
	stack *stack
	lost  int64 // system calls that lost their P
}

// addAt adds a time at a stack.
func (t *stackTally) addAt(ns int64, st *stack) {
	if t == nil {
		return
	}
	if t.count == 0 {
		t.stack = st
	}
	t.add(ns)
}
