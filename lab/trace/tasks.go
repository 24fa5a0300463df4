package trace

import (
	"fmt"
	"slices"

	xtrace "golang.org/x/exp/trace"
)

// annotation takes the begin or the end of a task or a region.
func (a *analysis) annotation(e *xtrace.Event, kind xtrace.EventKind) error {
	g := a.goroutines[e.Goroutine()]
	switch kind {
	case xtrace.EventTaskBegin:
		return a.beginTask(g, e.Task())
	case xtrace.EventTaskEnd:
		a.endTask(e.Task())
	case xtrace.EventRegionBegin:
		return a.beginRegion(g, e.Region())
	case xtrace.EventRegionEnd:
		a.endRegion(g, e.Region())
	}
	return nil
}

// beginTask begins a task: it is followed on the goroutine that began it.
func (a *analysis) beginTask(g *goroutine, task xtrace.Task) error {
	if len(a.spans.tasks) >= maxTasks {
		return fmt.Errorf("the trace has more than %d open tasks", maxTasks)
	}
	sp := &span{kind: KindTask, name: short(task.Type), g: g, from: a.now, parent: task.Parent}
	if g == nil {
		sp.g = &goroutine{id: xtrace.NoGoroutine}
	}
	a.spans.tasks[task.ID] = sp
	a.follow(g, sp)
	return nil
}

// follow gives a span the time of a goroutine.
func (a *analysis) follow(g *goroutine, sp *span) {
	if g == nil || len(g.tasks) >= maxNested {
		a.spans.unnested++
		return
	}
	sp.followed = true
	g.tasks = append(g.tasks, sp)
}

// unfollow ends that.
func (a *analysis) unfollow(sp *span) {
	sp.g.tasks = slices.DeleteFunc(sp.g.tasks, func(s *span) bool { return s == sp })
}

// endTask ends a task on any goroutine.
func (a *analysis) endTask(task xtrace.Task) {
	sp := a.spans.tasks[task.ID]
	if sp == nil {
		return // it began before the window
	}
	delete(a.spans.tasks, task.ID)
	if parent := a.spans.tasks[sp.parent]; parent != nil {
		parent.child(KindTask, sp.name, a.now-sp.from)
	}
	a.closeSpan(sp, false)
	a.unfollow(sp)
}

// child adds a region or a task to the task that it belongs to.
func (sp *span) child(kind, name string, ns int64) {
	if sp.children == nil {
		sp.children = map[childKey]*tally{}
	}
	key := childKey{kind, name}
	row := sp.children[key]
	if row == nil && len(sp.children) >= maxChildren {
		key.name = otherPart
		row = sp.children[key]
	}
	if row == nil {
		row = &tally{}
		sp.children[key] = row
	}
	row.add(ns)
}

// beginRegion begins a region. Outside of tasks and requests, the outermost region is a span of
// its own.
func (a *analysis) beginRegion(g *goroutine, r xtrace.Region) error {
	if g == nil {
		return nil
	}
	if a.openRegions >= maxRegions {
		return fmt.Errorf("the trace has more than %d open regions", maxRegions)
	}
	a.openRegions++
	open := region{task: r.Task, name: short(r.Type), from: a.now}
	if len(g.regions) == 0 && len(g.tasks) == 0 && (g.serving == nil || g.serving.provisional) && a.spans.tasks[r.Task] == nil {
		open.span = &span{kind: KindRegion, name: open.name, g: g, from: a.now}
		a.follow(g, open.span)
	}
	g.regions = append(g.regions, open)
	return nil
}

// endRegion ends the innermost region. The reader has checked that they are nested.
func (a *analysis) endRegion(g *goroutine, r xtrace.Region) {
	if g == nil || len(g.regions) == 0 {
		return // it began before the window
	}
	last := g.regions[len(g.regions)-1]
	if last.task != r.Task || last.name != short(r.Type) {
		return
	}
	g.regions = g.regions[:len(g.regions)-1]
	a.openRegions--
	ns := a.now - last.from
	if last.span != nil {
		a.closeSpan(last.span, false)
		a.unfollow(last.span)
		return
	}
	if task := a.spans.tasks[last.task]; task != nil {
		task.child(KindRegion, last.name, ns)
	} else if g.serving != nil {
		g.serving.child(KindRegion, last.name, ns)
	}
}

// closeSpans ends what a goroutine leaves open at its end. Its tasks continue.
func (a *analysis) closeSpans(g *goroutine) {
	if g.serving != nil && !g.serving.provisional {
		a.closeSpan(g.serving, false)
		g.serving = nil
	}
	a.drop(g)
	for _, r := range g.regions {
		if r.span != nil {
			a.closeSpan(r.span, false)
		}
	}
	for _, sp := range g.tasks {
		sp.followed = false
	}
	g.tasks = nil
}

// finishSpans ends everything at the end of the window.
func (a *analysis) finishSpans() {
	for _, g := range a.goroutines {
		if g.serving != nil && !g.serving.provisional {
			a.closeSpan(g.serving, true)
		}
		for _, r := range g.regions {
			if r.span != nil {
				a.closeSpan(r.span, true)
			}
		}
	}
	for _, sp := range a.spans.tasks {
		a.closeSpan(sp, true)
	}
}

// Handlers are calls of handlers of net/http that were seen from outside while a trace was taken.
type Handlers struct {
	Names []string
	List  []Handled // in the order of time
}

// A Handled is one call of a handler.
type Handled struct {
	Time   int64 // nanoseconds of CLOCK_MONOTONIC
	Thread int32 // that ran it
	Name   int32 // index of the name; -1: unknown
}

// handled names requests by the calls of handlers that were seen from outside.
type handled struct {
	*Handlers
	next    int
	ahead   int64                           // of the trace's clock
	clocked bool                            // the trace tells ahead
	on      map[xtrace.ThreadID]xtrace.GoID // goroutine that runs on a thread
}

// clock takes the readings of clocks at the begin of a generation, which traces have since Go 1.25.
func (h *handled) clock(s xtrace.Sync) {
	if c := s.ClockSnapshot; c != nil {
		h.ahead, h.clocked = int64(c.Trace)-int64(c.Mono), true
	}
}

// until names the requests whose handlers were called before an event. The last handler of a request
// is the innermost: those before it have called it.
func (a *analysis) until(e *xtrace.Event) {
	h := &a.handled
	if h.Handlers == nil || !h.clocked {
		return
	}
	for ; h.next < len(h.List) && h.List[h.next].Time+h.ahead <= int64(e.Time()); h.next++ {
		one := h.List[h.next]
		g := a.goroutines[h.goroutine(xtrace.ThreadID(one.Thread))]
		if g != nil && g.serving != nil && one.Name >= 0 {
			g.serving.provisional, g.serving.name = false, short(h.Names[one.Name])
		}
	}
	if e.Thread() != xtrace.NoThread {
		h.on[e.Thread()] = e.Goroutine()
	}
}

// goroutine returns what runs on a thread.
func (h *handled) goroutine(thread xtrace.ThreadID) xtrace.GoID {
	if id, ok := h.on[thread]; ok {
		return id
	}
	return xtrace.NoGoroutine
}
