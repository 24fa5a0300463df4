package query

import (
	"cmp"
	"slices"
)

// match tries each function once.
func (q *Profile) match(match func(*Func) bool) []bool {
	out := make([]bool, len(q.funcs))
	for i := range q.funcs {
		out[i] = match(&q.funcs[i])
	}
	return out
}

// Sum is the value of the samples that have at least one matching function in their stack. Each
// sample counts once.
func (q *Profile) Sum(match func(*Func) bool) int64 {
	wanted, sum := q.match(match), int64(0)
	for i := range q.samples {
		if q.innermost(&q.samples[i], wanted) >= 0 {
			sum += q.samples[i].value
		}
	}
	return sum
}

// Share is [Profile.Sum] as a part of the total, between 0 and 1; 0 if the total is 0.
func (q *Profile) Share(match func(*Func) bool) float64 {
	if q.total == 0 {
		return 0
	}
	return float64(q.Sum(match)) / float64(q.total)
}

// innermost returns the place in a stack of the innermost matching function, -1 if there is none.
func (q *Profile) innermost(s *sample, wanted []bool) int {
	for i, place := range s.places {
		for _, f := range q.places[place] {
			if wanted[f.fn] {
				return i
			}
		}
	}
	return -1
}

// A Row is a function with its values.
type Row struct {
	*Func
	Flat int64 // of samples in which it is innermost
	Cum  int64 // of samples in whose stack it is
}

// Order is that of rows.
type Order int

// Orders.
const (
	ByFlat Order = iota
	ByCum
)

// Top returns the functions with the highest values, at most n, or all if n is negative.
func (q *Profile) Top(by Order, n int) []Row {
	flat, cum := make([]int64, len(q.funcs)), make([]int64, len(q.funcs))
	clear(q.seen)
	for i := range q.samples {
		s := &q.samples[i]
		for j, place := range s.places {
			for k, f := range q.places[place] {
				if j == 0 && k == 0 {
					flat[f.fn] += s.value
				}
				if q.seen[f.fn] != int32(i+1) {
					q.seen[f.fn] = int32(i + 1)
					cum[f.fn] += s.value
				}
			}
		}
	}
	rows := make([]Row, 0, len(q.funcs))
	for i := range q.funcs {
		if flat[i] != 0 || cum[i] != 0 {
			rows = append(rows, Row{&q.funcs[i], flat[i], cum[i]})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		byFlat, byCum := cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum)
		if by == ByCum {
			byFlat, byCum = byCum, byFlat
		}
		return cmp.Or(byFlat, byCum, cmp.Compare(a.Name, b.Name))
	})
	if n >= 0 && len(rows) > n {
		rows = rows[:n]
	}
	return rows
}

// A Caller is a function that causes what others do.
type Caller struct {
	*Func
	Line  int   // the one that causes most of it, 0 if it is not known
	Value int64 // of the samples
}

// Callers says on whose behalf matching functions run: for each sample with a match, the nearest
// function above the innermost one that is code of the user or of a library, and that skip does
// not match (nil skips none). They are ordered by value. rest is the value of samples that
// have none.
func (q *Profile) Callers(match, skip func(*Func) bool) (callers []Caller, rest int64) {
	wanted := q.match(match)
	ours := q.match(func(f *Func) bool {
		return (f.Kind == User || f.Kind == Library) && (skip == nil || !skip(f))
	})
	values := map[frame]int64{}
	for i := range q.samples {
		s := &q.samples[i]
		if f, matched, found := q.above(s, wanted, ours); found {
			values[f] += s.value
		} else if matched {
			rest += s.value
		}
	}
	type most struct {
		Caller
		line int64 // value of Line
	}
	sums := map[int32]*most{}
	for f, v := range values {
		m := sums[f.fn]
		if m == nil {
			m = &most{Caller: Caller{Func: &q.funcs[f.fn]}}
			sums[f.fn] = m
		}
		m.Value += v
		if v > m.line || v == m.line && int(f.line) < m.Line {
			m.line, m.Line = v, int(f.line)
		}
	}
	for _, m := range sums {
		callers = append(callers, m.Caller)
	}
	slices.SortFunc(callers, func(a, b Caller) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	return callers, rest
}

// above finds in a stack the innermost wanted function, and the nearest of ours above it.
func (q *Profile) above(s *sample, wanted, ours []bool) (f frame, matched, found bool) {
	for _, place := range s.places {
		for _, f := range q.places[place] {
			if matched && ours[f.fn] {
				return f, true, true
			}
			matched = matched || wanted[f.fn]
		}
	}
	return f, matched, false
}
