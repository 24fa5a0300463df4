package tree

import (
	"cmp"
	"slices"

	"github.com/redline-go/redline/lab/profile/frames"
)

// Function is what a profile has for a function or a class, in the unit of its samples.
type Function struct {
	Symbol
	Flat int64 // in the function itself
	Cum  int64 // with the functions that it called; a sample counts once in a recursive function
}

// Functions returns the values of all functions, those with the largest flat value first.
func (s *Samples) Functions() []Function {
	out := make([]Function, len(s.Symbols))
	for i := range out {
		out[i].Symbol = s.Symbols[i]
	}
	seen := make([]int, len(out)) // number of the stack in which it was seen last, from 1
	for n, stack := range s.Stacks {
		for _, f := range stack {
			if seen[f] != n+1 {
				seen[f] = n + 1
				out[f].Cum += s.Values[n]
			}
		}
		if len(stack) > 0 {
			out[stack[len(stack)-1]].Flat += s.Values[n]
		}
	}
	slices.SortFunc(out, largest)
	return out
}

func largest(a, b Function) int {
	return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Name, b.Name))
}

// Classes returns the values of the classes that occur, those with the largest flat value first.
// The flat value of a class is that of the samples whose innermost frame with a purpose is of the
// class: an allocation in encoding/json is of alloc, and not of json. Its cumulative value is
// that of all samples with a frame of the class. In profiles of waits the scheduler is not a
// purpose: all waits end there.
func (s *Samples) Classes() []Function {
	names := frames.Classes()
	waiting := slices.Contains(waits, s.Type)
	out, index := make([]Function, len(names)), map[string]int{}
	for i, name := range names {
		out[i].Name, index[name] = name, i
	}
	seen := make([]int, len(out))
	for n, stack := range s.Stacks {
		count := func(name string) {
			if i := index[name]; seen[i] != n+1 {
				seen[i] = n + 1
				out[i].Cum += s.Values[n]
			}
		}
		flat := s.classOf(stack, waiting)
		out[index[flat]].Flat += s.Values[n]
		count(flat)
		for _, f := range stack {
			if class := s.Symbols[f].Class; class != "" {
				count(class)
			}
		}
	}
	out = slices.DeleteFunc(out, func(f Function) bool { return f.Flat == 0 && f.Cum == 0 })
	slices.SortFunc(out, largest)
	return out
}

// waits are the values of profiles of waits.
var waits = []string{"wall", "offcpu", "delay", "goroutine", "contentions", "waits"}

// classOf returns the class of a stack: that of the innermost frame that has one. Functions of
// users and libraries without a class end the search.
func (s *Samples) classOf(stack []int32, waiting bool) string {
	last := frames.ClassOther
	for _, f := range slices.Backward(stack) {
		at := &s.Symbols[f]
		switch {
		case at.Kernel:
			last = frames.ClassKernel
		case waiting && at.Class == "scheduler":
			last = at.Class
		case at.Class != "":
			return at.Class
		case last == frames.ClassKernel && at.Origin != frames.Standard && at.Origin != frames.Runtime:
			return last
		case at.Origin == frames.User:
			return frames.ClassUser
		case at.Origin == frames.Library:
			return frames.ClassLibrary
		}
	}
	return last
}

// ByCum sorts functions by their cumulative value, the largest first.
func ByCum(list []Function) {
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), cmp.Compare(b.Flat, a.Flat), cmp.Compare(a.Name, b.Name))
	})
}
