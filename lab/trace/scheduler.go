package trace

import (
	"fmt"

	xtrace "golang.org/x/exp/trace"
)

// cause is why a goroutine became runnable.
type cause uint8

const (
	causeUnknown cause = iota // before the window
	causeNetwork
	causeTimer
	causeGoroutine
	causeCreated
	causePreempted
	causeYielded
	causeSyscall
	causes
)

var causeNames = [causes]string{
	causeNetwork: "network poller", causeTimer: "timer or runtime", causeGoroutine: "another goroutine", causeCreated: "created",
	causePreempted: "preempted", causeYielded: "yielded", causeSyscall: "after a system call",
}

// network is the runtime's reason for a wait for the network poller.
const network = "network"

// scheduler is the state of run queues and Ps.
type scheduler struct {
	grid        *grid
	waits       [causes]spread
	ready       level
	outside     level // goroutines in system calls without a P: each has a thread
	active      level // Ps that run: each has a thread
	alive       level
	heap        *row
	openRegions int
}

// level is a number that changes over time, and the row that integrates it.
type level struct {
	row   *row
	peak  *row // nil: none
	value int64
	since int64
}

func (s *scheduler) init() {
	s.grid = newGrid()
	s.ready = level{row: s.grid.row(false), peak: s.grid.row(true)}
	s.outside.row, s.active.row, s.alive.row = s.grid.row(false), s.grid.row(false), s.grid.row(false)
	s.heap = s.grid.row(true)
}

// change changes a level at a time.
func (l *level) change(now, by int64) {
	if by == 0 {
		return
	}
	l.settle(now)
	l.value = max(0, l.value+by)
}

// settle adds what has passed since the last change.
func (l *level) settle(now int64) {
	l.row.add(l.since, now, l.value)
	if l.peak != nil {
		l.peak.add(l.since, now, l.value)
	}
	l.since = now
}

func (a *analysis) waited(c cause, ns int64) {
	if c != causeUnknown {
		a.waits[c].add(ns)
	}
}

// causeOf says why a goroutine becomes runnable. Nobody runs when the network poller or a timer
// makes a goroutine runnable: the scheduler does.
func (a *analysis) causeOf(g *goroutine, e *xtrace.Event, st xtrace.StateTransition, from xtrace.GoState) cause {
	switch from {
	case xtrace.GoNotExist:
		return causeCreated
	case xtrace.GoSyscall:
		return causeSyscall
	case xtrace.GoRunning:
		if st.Reason == "preempted" {
			return causePreempted
		}
		return causeYielded
	case xtrace.GoWaiting:
		switch {
		case e.Goroutine() != xtrace.NoGoroutine:
			return causeGoroutine
		case g.reason == network:
			return causeNetwork
		}
		return causeTimer
	}
	return causeUnknown
}

// procTransition follows the Ps.
func (a *analysis) procTransition(e *xtrace.Event, st xtrace.StateTransition) error {
	p := st.Resource.Proc()
	from, to := st.Proc()
	if !a.lanes.know(p) {
		return fmt.Errorf("the trace has more than %d Ps", maxProcs)
	}
	if from == to {
		return nil
	}
	switch {
	case to == xtrace.ProcRunning:
		a.active.change(a.now, 1)
		a.lanes.set(p, a.now, laneSched, nil, "")
	case from == xtrace.ProcRunning:
		a.active.change(a.now, -1)
		a.lanes.set(p, a.now, laneIdle, nil, "")
	default:
		return nil
	}
	if g := a.calls.on[p]; g != nil && to == xtrace.ProcIdle {
		// A P that is stopped within a system call is lost to its goroutine.
		f := taken
		if e.Goroutine() == g.id {
			f = given
		}
		a.calls.lose(g, f)
		a.outside.change(a.now, 1)
		delete(a.calls.on, p)
	}
	return nil
}
