package push

import "sort"

// A series holds values in ascending order of their places. What is removed leaves a hole;
// holes at the beginning are freed at once, others when they are the majority.
type series[T any] struct {
	slots []slot[T]
	holes int
}

type slot[T any] struct {
	at uint64
	v  *T // nil: a hole
}

// len is the number of values.
func (s *series[T]) len() int { return len(s.slots) - s.holes }

// add appends a value. Its place comes after all others.
func (s *series[T]) add(at uint64, v *T) { s.slots = append(s.slots, slot[T]{at, v}) }

// search returns the index of the first slot that does not come before a place.
func (s *series[T]) search(at uint64) int {
	return sort.Search(len(s.slots), func(i int) bool { return s.slots[i].at >= at })
}

// remove takes out the value at a place.
func (s *series[T]) remove(at uint64) {
	s.slots[s.search(at)].v = nil
	s.holes++
	for len(s.slots) > 0 && s.slots[0].v == nil {
		s.slots = s.slots[1:]
		s.holes--
	}
	if s.holes <= 64 || s.holes <= len(s.slots)/2 {
		return
	}
	kept := make([]slot[T], 0, s.len()+64)
	for _, e := range s.slots {
		if e.v != nil {
			kept = append(kept, e)
		}
	}
	s.slots, s.holes = kept, 0
}
