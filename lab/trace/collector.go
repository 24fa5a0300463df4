package trace

import (
	"cmp"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

const (
	markPhase  = "GC concurrent mark phase"
	markAssist = "GC mark assist"
	sweepRange = "GC incremental sweep"
	stopPrefix = "stop-the-world ("

	maxMoments = 1000 // mark phases, and pauses of a kind, with their times
	maxOpen    = 1 << 16
)

// rangeKey is an open range: its name, and the goroutine or P that it is of.
type rangeKey struct {
	name  string
	scope xtrace.ResourceID
}

// begun is the begin of a range.
type begun struct {
	at    int64
	stack *stack
}

type assistKey struct {
	root, call string
}

// collector adds up the work of the garbage collector.
type collector struct {
	open     map[rangeKey]begun
	cycles   int64
	mark     int64
	marks    [][2]int64
	pauses   table[string, pause]
	assists  table[assistKey, tally]
	assisted spread
	worker   int64
	sweep    spread
	swept    uint64
	freed    uint64
}

type pause struct {
	spread
	at [][2]int64
}

// rangeEvent takes the begin or the end of a range. One that was active when the window began
// counts from its begin.
func (a *analysis) rangeEvent(e *xtrace.Event, kind xtrace.EventKind) {
	r := e.Range()
	key := rangeKey{r.Name, r.Scope}
	g := a.assistant(r)
	c := &a.gc
	if kind != xtrace.EventRangeEnd {
		if _, ok := c.open[key]; ok {
			return // it is reported as active in every generation
		}
		if len(c.open) >= maxOpen {
			return
		}
		from := a.now
		if kind == xtrace.EventRangeActive {
			from = 0
		}
		c.open[key] = begun{from, a.stacks.of(e.Stack())}
		if r.Name == markPhase {
			c.cycles++
		}
		if g != nil {
			g.assists = true
			a.retint(g)
		}
		return
	}
	if g != nil {
		g.assists = false
		a.retint(g)
	}
	was, ok := c.open[key]
	if !ok {
		return
	}
	delete(c.open, key)
	c.end(key, was, a.now, g)
	if r.Name == sweepRange {
		for _, attr := range e.RangeAttributes() {
			switch attr.Name {
			case "bytes swept":
				c.swept += attr.Value.Uint64()
			case "bytes reclaimed":
				c.freed += attr.Value.Uint64()
			}
		}
	}
}

// assistant returns the goroutine that a range makes work for the collector, or nil.
func (a *analysis) assistant(r xtrace.Range) *goroutine {
	if r.Name != markAssist || r.Scope.Kind != xtrace.ResourceGoroutine {
		return nil
	}
	return a.goroutines[r.Scope.Goroutine()]
}

// retint changes what the P of a running goroutine does.
func (a *analysis) retint(g *goroutine) {
	if g.state == xtrace.GoRunning {
		a.lanes.set(g.proc, a.now, a.kindOf(g), g, g.function())
	}
}

// end ends a range.
func (c *collector) end(key rangeKey, was begun, now int64, g *goroutine) {
	ns := now - was.at
	switch {
	case key.name == markPhase:
		c.mark = sum(c.mark, ns)
		if len(c.marks) < maxMoments {
			c.marks = append(c.marks, [2]int64{was.at, now})
		}
	case key.name == markAssist:
		c.assisted.add(ns)
		root := noFunction
		if g != nil {
			root = g.function()
		}
		c.assists.at(assistKey{root, whereOf(was.stack).Call}).add(ns)
	case key.name == sweepRange:
		c.sweep.add(ns)
	case strings.HasPrefix(key.name, stopPrefix):
		name := strings.TrimSuffix(strings.TrimPrefix(key.name, stopPrefix), ")")
		if p := c.pauses.at(short(name)); p != nil {
			p.add(ns)
			if len(p.at) < maxMoments {
				p.at = append(p.at, [2]int64{was.at, now})
			}
		}
	}
}

// forget ends what a goroutine left open.
func (c *collector) forget(g *goroutine) {
	if g.assists {
		delete(c.open, rangeKey{markAssist, xtrace.MakeResourceID(g.id)})
	}
}

// finish ends what is open at the end of the window.
func (c *collector) finish(now int64, goroutines map[xtrace.GoID]*goroutine) {
	for key, was := range c.open {
		var g *goroutine
		if key.scope.Kind == xtrace.ResourceGoroutine {
			g = goroutines[key.scope.Goroutine()]
		}
		c.end(key, was, now, g)
	}
}

// result returns the report's part; all is the time of all Ps together.
func (c *collector) result(all int64) Collector {
	out := Collector{
		Cycles: c.cycles, MarkNS: c.mark, Marks: c.marks, Pauses: []Pause{}, Assists: []Assist{}, Assisted: c.assisted.result(),
		WorkerNS: c.worker, Sweep: c.sweep.result(), SweptBytes: c.swept, FreedBytes: c.freed,
	}
	if all > 0 {
		out.WorkerShare = float64(c.worker) / float64(all)
	}
	for _, kind := range c.pauses.sorted(maxReported, func(p *pause) int64 { return p.total }, strings.Compare) {
		p := c.pauses.rows[kind]
		out.Pauses = append(out.Pauses, Pause{Kind: kind, Spread: p.result(), At: p.at})
	}
	less := func(x, y assistKey) int {
		return cmp.Or(strings.Compare(x.root, y.root), strings.Compare(x.call, y.call))
	}
	for _, k := range c.assists.sorted(maxReported, func(t *tally) int64 { return t.total }, less) {
		t := c.assists.rows[k]
		out.Assists = append(out.Assists, Assist{Func: k.root, Call: k.call, Count: t.count, TotalNS: t.total, MaxNS: t.max})
	}
	return out
}
