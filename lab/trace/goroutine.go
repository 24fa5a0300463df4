package trace

import (
	"cmp"
	"slices"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

// noFunction is the name of goroutines that never showed a stack.
const noFunction = "(unknown function)"

// goroutine is the state of a goroutine that lives.
type goroutine struct {
	id     xtrace.GoID
	state  xtrace.GoState
	since  int64
	born   int64 // -1: before the window
	cause  cause // of being runnable
	reason string
	stack  *stack // where it blocked, or entered a system call
	by     *stack // what made it runnable
	proc   xtrace.ProcID
	fate   fate

	creator string // the call that created it
	root    string // its first function; empty: not known yet
	assists bool   // it marks for the collector
	spent   [4]int64
	blocked map[string]int64 // before root was known

	serving *span // of net/http; nil: none
	reading bool  // it waits for a request of net/http
	tasks   []*span
	regions []region
}

func (g *goroutine) function() string { return cmp.Or(g.root, noFunction) }

// name notes the first function of a goroutine, from any of its stacks.
func (a *analysis) name(g *goroutine, st *stack) {
	if g.root == "" {
		g.root = st.root
		a.register(g)
	}
}

// register adds a goroutine to its function, with the time that it spent before.
func (a *analysis) register(g *goroutine) {
	l := a.lifeOf(g)
	if l == nil {
		return
	}
	if g.born >= 0 {
		if l.created++; l.creator == "" {
			l.creator = g.creator
		}
	} else {
		l.existed++
	}
	l.spend(g.spent, g.blocked)
	g.spent, g.blocked = [4]int64{}, nil
}

// life adds up the goroutines of a function.
type life struct {
	existed, created, ended int64
	creator                 string // of the first
	life                    spread
	spent                   [4]int64
	blocked                 map[string]int64
}

// States of goroutines, as indexes of spent.
const (
	stateRunning = iota
	stateReady
	stateBlocked
	stateSyscall
)

var stateNames = [...]string{"running", "runnable", "blocked", "syscall"}

// index is the state of a goroutine as an index of spent; false: it has none.
func (g *goroutine) index() (int, bool) {
	switch g.state {
	case xtrace.GoRunning:
		return stateRunning, true
	case xtrace.GoRunnable:
		return stateReady, true
	case xtrace.GoWaiting:
		return stateBlocked, true
	case xtrace.GoSyscall:
		return stateSyscall, true
	}
	return 0, false
}

func (a *analysis) lifeOf(g *goroutine) *life { return a.lives.at(g.function()) }

func (l *life) spend(spent [4]int64, blocked map[string]int64) {
	for i, ns := range spent {
		l.spent[i] = sum(l.spent[i], ns)
	}
	if l.blocked == nil && len(blocked) > 0 {
		l.blocked = map[string]int64{}
	}
	for reason, ns := range blocked {
		l.blocked[reason] = sum(l.blocked[reason], ns)
	}
}

// spend accounts for the time of a goroutine in the state that it leaves.
func (a *analysis) spend(g *goroutine, ns int64, by *stack) {
	i, ok := g.index()
	if !ok || ns <= 0 {
		return
	}
	if g.root == "" {
		g.spent[i] = sum(g.spent[i], ns)
		if i == stateBlocked {
			if g.blocked == nil {
				g.blocked = map[string]int64{}
			}
			g.blocked[g.reason] = sum(g.blocked[g.reason], ns)
		}
	} else if l := a.lifeOf(g); l != nil {
		l.spent[i] = sum(l.spent[i], ns)
		if i == stateBlocked {
			if l.blocked == nil {
				l.blocked = map[string]int64{}
			}
			l.blocked[g.reason] = sum(l.blocked[g.reason], ns)
		}
	}
	if i == stateBlocked {
		a.blocks.at(blockKey{g.reason, whereOf(g.stack).Call, restful(g)}).addAt(ns, g.stack)
	}
	if i == stateRunning && gcWorker(g.root) {
		a.gc.worker = sum(a.gc.worker, ns)
	}
	a.spendSpans(g, i, ns, by)
}

// blockKey is a place where goroutines wait.
type blockKey struct {
	reason, call string
	idle         bool
}

// restful reports whether a goroutine that is blocked waits for work.
func restful(g *goroutine) bool {
	return idleReason(g.reason) || g.stack != nil && g.stack.idle()
}

// gcWorker reports whether a goroutine is one of the workers of the collector.
func gcWorker(root string) bool { return root == "runtime.gcBgMarkWorker" }

// kindOf is what a P does that runs a goroutine.
func (a *analysis) kindOf(g *goroutine) laneKind {
	if g.assists || gcWorker(g.root) || g.root == "runtime.bgsweep" || g.root == "runtime.bgscavenge" {
		return laneGC
	}
	return laneUser
}

// blockResult returns the rows of the waits: those that are idle last.
func (a *analysis) blockResult() []Block {
	less := func(x, y blockKey) int {
		return cmp.Or(strings.Compare(x.reason, y.reason), strings.Compare(x.call, y.call))
	}
	var busy, idle []Block
	for _, k := range a.blocks.sorted(maxRows, func(t *stackTally) int64 { return t.total }, less) {
		t := a.blocks.rows[k]
		b := Block{Reason: k.reason, Where: whereOf(t.stack), Idle: k.idle, Count: t.count, TotalNS: t.total, MaxNS: t.max}
		if k.idle {
			idle = append(idle, b)
		} else if len(busy) < maxReported {
			busy = append(busy, b)
		}
	}
	return slices.Concat([]Block{}, busy, idle[:min(len(idle), maxReported/2)])
}

// reasonEarly is the reason of waits that began before the window: the trace does not have it.
const reasonEarly = "since before the window"

// idleReason reports whether a reason says nothing about what is slow.
func idleReason(reason string) bool {
	return reason == reasonEarly || reason == "system goroutine wait" || reason == "GC background sweeper wait"
}

// lifeResult returns the rows of the functions.
func (a *analysis) lifeResult() []Life {
	out := []Life{}
	weight := func(l *life) int64 { return l.created + l.existed }
	for _, name := range a.lives.sorted(maxReported, weight, strings.Compare) {
		l := a.lives.rows[name]
		row := Life{
			Func: name, Creator: l.creator, Existed: l.existed, Created: l.created, Ended: l.ended, Life: l.life.result(),
			RunningNS: l.spent[stateRunning], ReadyNS: l.spent[stateReady], SyscallNS: l.spent[stateSyscall], Blocked: []BlockedBy{},
		}
		for reason, ns := range l.blocked {
			row.Blocked = append(row.Blocked, BlockedBy{reason, ns})
		}
		slices.SortFunc(row.Blocked, func(x, y BlockedBy) int {
			return cmp.Or(cmp.Compare(y.TotalNS, x.TotalNS), strings.Compare(x.Reason, y.Reason))
		})
		out = append(out, row)
	}
	return out
}

// leaks returns the functions whose goroutines began in the window and were blocked at its end.
func (a *analysis) leaks() []Leak {
	type key struct {
		root, reason, call string
	}
	var found table[key, Leak]
	for _, g := range a.goroutines {
		if g.born < 0 || g.state != xtrace.GoWaiting || restful(g) || strings.HasPrefix(g.root, "runtime") {
			continue
		}
		l := found.at(key{g.function(), g.reason, whereOf(g.stack).Call})
		if l == nil {
			continue
		}
		age := a.now - g.since
		if l.Count == 0 || age < l.LeastNS {
			l.LeastNS = age
		}
		l.Count++
	}
	out := []Leak{}
	less := func(x, y key) int { return cmp.Or(strings.Compare(x.root, y.root), strings.Compare(x.call, y.call)) }
	for _, k := range found.sorted(maxReported, func(l *Leak) int64 { return l.Count }, less) {
		l := *found.rows[k]
		l.Func, l.Reason, l.Call = k.root, k.reason, k.call
		if row := a.lives.rows[k.root]; row != nil {
			l.Created = row.created
		}
		out = append(out, l)
	}
	return out
}
