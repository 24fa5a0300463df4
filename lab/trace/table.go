package trace

import (
	"cmp"
	"maps"
	"slices"
)

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
