package trace

import (
	"cmp"
	"slices"

	xtrace "golang.org/x/exp/trace"
)

const (
	maxLanes = 64     // Ps that are drawn
	maxSpans = 20_000 // spans that are kept one by one
	maxNames = 2000   // functions of spans
)

// laneKind is what a P does.
type laneKind uint8

const (
	laneIdle laneKind = iota
	laneUser
	laneGC
	laneSyscall
	laneSched
	laneKinds
)

// lane is a P.
type lane struct {
	p     xtrace.ProcID
	index int // -1: it is not drawn
	rows  [laneKinds]*row
	kind  laneKind
	since int64
	g     xtrace.GoID
	fn    string
}

// lanes follows what each P does.
type lanes struct {
	grid   *grid
	byP    map[xtrace.ProcID]*lane
	drawn  []*lane
	total  [laneKinds]*row // of all Ps
	time   [laneKinds]int64
	spans  []laneSpan
	least  int64
	names  []string
	byName map[string]int
}

// laneSpan is a time in which a P did one thing.
type laneSpan struct {
	lane, name int32
	kind       laneKind
	from, ns   int64
	g          xtrace.GoID
}

func (l *lanes) init(g *grid) {
	l.grid, l.byP, l.byName = g, map[xtrace.ProcID]*lane{}, map[string]int{}
	for kind := laneUser; kind < laneKinds; kind++ {
		l.total[kind] = g.row(false)
	}
}

// know notes that there is a P; false: there are too many.
func (l *lanes) know(p xtrace.ProcID) bool {
	if l.byP[p] != nil {
		return true
	}
	if len(l.byP) >= maxProcs {
		return false
	}
	n := &lane{p: p, index: -1}
	if len(l.drawn) < maxLanes {
		n.index = len(l.drawn)
		l.drawn = append(l.drawn, n)
		for kind := laneUser; kind < laneKinds; kind++ {
			n.rows[kind] = l.grid.row(false)
		}
	}
	l.byP[p] = n
	return true
}

// set begins a new span on a P.
func (l *lanes) set(p xtrace.ProcID, now int64, kind laneKind, g *goroutine, fn string) {
	n := l.byP[p]
	if n == nil {
		return
	}
	l.settle(n, now)
	n.kind, n.since, n.fn, n.g = kind, now, fn, xtrace.NoGoroutine
	if g != nil {
		n.g = g.id
	}
}

// settle ends the span of a P.
func (l *lanes) settle(n *lane, now int64) {
	ns := now - n.since
	if ns <= 0 || n.kind == laneIdle {
		return
	}
	l.time[n.kind] = sum(l.time[n.kind], ns)
	l.total[n.kind].add(n.since, now, 1)
	if n.index < 0 {
		return
	}
	n.rows[n.kind].add(n.since, now, 1)
	if ns < l.least || n.kind == laneSched {
		return
	}
	l.spans = append(l.spans, laneSpan{lane: int32(n.index), name: l.name(n.fn), kind: n.kind, from: n.since, ns: ns, g: n.g})
	for len(l.spans) > maxSpans {
		// Spans that are too short to be seen make room: they are in the columns.
		l.least = max(1, l.least*2)
		l.spans = slices.DeleteFunc(l.spans, func(s laneSpan) bool { return s.ns < l.least })
	}
}

// name returns the index of a function, or -1.
func (l *lanes) name(fn string) int32 {
	if fn == "" {
		return -1
	}
	if i, ok := l.byName[fn]; ok {
		return int32(i)
	}
	if len(l.names) >= maxNames {
		return -1
	}
	l.byName[fn] = len(l.names)
	l.names = append(l.names, fn)
	return int32(len(l.names) - 1)
}

// result returns the report's part. The Ps have been settled.
func (l *lanes) result(end int64) Lanes {
	out := Lanes{
		StepNS: l.grid.step, Lanes: []Lane{}, More: len(l.byP) - len(l.drawn), Names: append([]string{}, l.names...),
		Spans: [][6]int64{}, LeastNS: l.least,
	}
	order := slices.Clone(l.drawn)
	slices.SortFunc(order, func(a, b *lane) int { return cmp.Compare(a.p, b.p) })
	place := make([]int64, len(order))
	for i, n := range order {
		place[n.index] = int64(i)
		out.Lanes = append(out.Lanes, Lane{
			P: int64(n.p), User: n.rows[laneUser].percents(end), GC: n.rows[laneGC].percents(end),
			Syscall: n.rows[laneSyscall].percents(end), Sched: n.rows[laneSched].percents(end),
		})
	}
	for _, s := range l.spans {
		out.Spans = append(out.Spans, [6]int64{place[s.lane], s.from, s.ns, int64(s.kind), int64(s.g), int64(s.name)})
	}
	return out
}
