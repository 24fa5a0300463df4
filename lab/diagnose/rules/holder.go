package rules

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

// holder says who holds a lock for which goroutines wait in a function, and what it does meanwhile;
// empty: unknown. It is a goroutine in the same function that does not wait for the lock, or else in
// another function of the same type: the lock is usually a field of it.
func (v *view) holder(function string) string {
	waiters := map[string]bool{} // functions that lead there
	for _, s := range v.load.Wall.Filter(func(s *stack) bool { return locked(s) && s.Has(called(function)) }).List {
		for _, f := range s.Frames {
			waiters[f.Func] = true
		}
	}
	methods := called(typeOf(function) + "*")
	places := []struct {
		name string
		in   match
	}{
		{"in the same function", called(function)},
		{"in another function of the same type", func(f diagnose.Frame) bool { return methods(f) && !waiters[f.Func] }},
	}
	for i, p := range places {
		within := v.load.Wall.Filter(func(s *stack) bool { return !locked(s) && s.Has(p.in) && (i == 0 || s.State != "runnable") })
		if at, does := mostly(within, p.in); does != "" {
			return fmt.Sprintf("Who holds it is probably %s: in %s, goroutines %s meanwhile.", p.name, at, does)
		}
	}
	for _, p := range places { // a goroutine that runs shows only its first function
		on := v.load.OnCPU.Without(lockWork).Sites(p.in)
		if len(on) > 0 && userCode(on[0].Frame) {
			return fmt.Sprintf("Who holds it is probably %s: goroutines compute in %s meanwhile.", p.name, placeOf(on[0].Frame))
		}
	}
	return ""
}

// typeOf returns what the names of the methods of a function's type begin with, or the function's own
// name if it is none's.
func typeOf(function string) string {
	if end := strings.Index(function, ")."); end >= 0 {
		return function[:end+2]
	}
	return function
}

func placeOf(f diagnose.Frame) string {
	if f.File == "" {
		return f.Func
	}
	return fmt.Sprintf("%s (%s:%d)", f.Func, f.File, f.Line)
}

// mostly returns what most goroutines do within a function, and where in it.
func mostly(within *stacks, function match) (at, does string) {
	best := 0.0
	sums := map[[2]string]float64{}
	for i := range within.List {
		s := &within.List[i]
		what := "run"
		switch s.State {
		case "runnable":
			what = "wait for a CPU"
		case "syscall":
			what = "are in a system call in " + waiter(s).Func
		case "waiting", "":
			what = fmt.Sprintf("wait (%s) in %s", reason(s), waiter(s).Func)
		}
		for _, f := range s.Frames {
			if function(f) {
				k := [2]string{placeOf(f), what}
				if sums[k] += s.Weight; sums[k] > best {
					best, at, does = sums[k], k[0], what
				}
				break
			}
		}
	}
	return at, does
}
