package trace

import (
	"strings"

	xtrace "golang.org/x/exp/trace"
)

// fate is what happened to the P of a goroutine in a system call.
type fate uint8

const (
	kept fate = iota
	unknown
	taken
	given
)

// syscalls adds up system calls.
type syscalls struct {
	on       map[xtrace.ProcID]*goroutine // goroutines in a system call that have a P
	handoffs Handoffs
	times    spread
	lost     spread
	places   table[string, stackTally]
}

// lose notes that a goroutine lost its P in a system call.
func (s *syscalls) lose(g *goroutine, f fate) {
	g.fate = f
	if f == given {
		s.handoffs.Given++
	} else {
		s.handoffs.Taken++
	}
}

// end ends a system call. blocked: the goroutine has to wait for a P.
func (s *syscalls) end(g *goroutine, ns int64, blocked bool) {
	if s.on[g.proc] == g {
		delete(s.on, g.proc)
	}
	if g.fate == unknown {
		return // it began before the window
	}
	s.handoffs.Calls++
	s.times.add(ns)
	row := s.places.at(whereOf(g.stack).Call)
	row.addAt(ns, g.stack)
	if blocked {
		s.handoffs.Blocked++
	}
	if g.fate == taken || g.fate == given || blocked {
		s.lost.add(ns)
		if row != nil {
			row.lost++
		}
	}
}

// outside is 1 for a goroutine in a system call without a P, else 0.
func (g *goroutine) outside() int64 {
	if g.state == xtrace.GoSyscall && g.fate != kept {
		return 1
	}
	return 0
}

// result returns the report's rows.
func (s *syscalls) result() []Call {
	out := []Call{}
	for _, call := range s.places.sorted(maxReported, func(t *stackTally) int64 { return t.total }, strings.Compare) {
		t := s.places.rows[call]
		out = append(out, Call{Where: whereOf(t.stack), Count: t.count, TotalNS: t.total, MaxNS: t.max, Lost: t.lost})
	}
	return out
}

func whereOf(st *stack) Where {
	if st == nil {
		return Where{Call: noStack}
	}
	return st.where()
}

const noStack = "(no stack)"
