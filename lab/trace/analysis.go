package trace

import (
	"errors"
	"fmt"

	xtrace "golang.org/x/exp/trace"
)

const (
	maxGoroutines = 1 << 20 // alive at once
	maxTasks      = 1 << 18 // open at once
	maxRegions    = 1 << 20 // open at once
	maxProcs      = 1 << 12
	latest        = int64(1) << 55 // a year: times of a trace that is longer are broken
)

// analysis is the state of the one pass over a trace.
type analysis struct {
	begun  bool
	begin  xtrace.Time
	now    int64 // of the newest event, since begin
	events uint64

	stacks     *stacks
	goroutines map[xtrace.GoID]*goroutine
	seen       int // goroutines
	threads    map[xtrace.ThreadID]struct{}
	gomaxprocs int
	scheduler
	calls   syscalls
	gc      collector
	blocks  table[blockKey, stackTally]
	lives   table[string, life]
	spans   spans
	lanes   lanes
	handled handled
	reasons map[string]string
}

func newAnalysis(h *Handlers) *analysis {
	a := &analysis{
		stacks: newStacks(), goroutines: map[xtrace.GoID]*goroutine{}, threads: map[xtrace.ThreadID]struct{}{},
		reasons: map[string]string{},
	}
	if h != nil {
		a.handled = handled{Handlers: h, on: map[xtrace.ThreadID]xtrace.GoID{}}
	}
	a.scheduler.init()
	a.lanes.init(a.grid)
	a.spans.init()
	a.calls.on, a.gc.open = map[xtrace.ProcID]*goroutine{}, map[rangeKey]begun{}
	a.gc.pauses.limit, a.lives.limit = 64, 1024 // their rows have histograms
	return a
}

// errEvents is the error of a trace that says nothing.
var errEvents = errors.New("the trace has no events: nothing happened while it was taken, or it was ended at once")

// event takes the next event. An error ends the pass; what was seen until then is valid.
func (a *analysis) event(e *xtrace.Event) error {
	if !a.begun {
		a.begun, a.begin = true, e.Time()
	}
	kind := e.Kind()
	if kind == xtrace.EventSync {
		a.stacks.generation()
		a.handled.clock(e.Sync())
		return nil
	}
	t := int64(e.Time() - a.begin)
	if t < a.now || t > latest {
		return fmt.Errorf("event %d has an impossible time", a.events)
	}
	a.now = t
	a.events++
	if _, ok := a.threads[e.Thread()]; !ok && e.Thread() != xtrace.NoThread {
		if len(a.threads) >= 1<<16 {
			return fmt.Errorf("the trace has more than %d threads", len(a.threads))
		}
		a.threads[e.Thread()] = struct{}{}
	}
	a.until(e)
	a.observe(e)
	switch kind {
	case xtrace.EventStateTransition:
		return a.transition(e)
	case xtrace.EventRangeBegin, xtrace.EventRangeActive, xtrace.EventRangeEnd:
		a.rangeEvent(e, kind)
	case xtrace.EventMetric:
		a.metric(e.Metric())
	case xtrace.EventTaskBegin, xtrace.EventTaskEnd, xtrace.EventRegionBegin, xtrace.EventRegionEnd:
		return a.annotation(e, kind)
	case xtrace.EventLog:
		a.route(e)
	}
	return nil
}

func (a *analysis) metric(m xtrace.Metric) {
	if m.Value.Kind() != xtrace.ValueUint64 {
		return
	}
	v := m.Value.Uint64()
	switch m.Name {
	case "/sched/gomaxprocs:threads":
		a.gomaxprocs = max(a.gomaxprocs, int(min(v, maxProcs)))
	case "/memory/classes/heap/objects:bytes":
		a.heap.add(a.now, a.now+1, int64(min(v, 1<<62)))
	}
}

func (a *analysis) transition(e *xtrace.Event) error {
	st := e.StateTransition()
	switch st.Resource.Kind {
	case xtrace.ResourceProc:
		return a.procTransition(e, st)
	case xtrace.ResourceGoroutine:
		return a.goTransition(e, st)
	}
	return nil
}

// reason interns the reason of a block. Of the reasons of a hostile trace, it keeps the first.
func (a *analysis) reason(text string) string {
	if known, ok := a.reasons[text]; ok {
		return known
	}
	if len(a.reasons) >= 64 {
		return "other"
	}
	if text = short(text); text == "" {
		text = "unspecified"
	}
	a.reasons[text] = text
	return text
}

// goTransition moves a goroutine to its next state.
func (a *analysis) goTransition(e *xtrace.Event, st xtrace.StateTransition) error {
	from, to := st.Goroutine()
	own := a.stacks.of(st.Stack)
	id := st.Resource.Goroutine()
	if to == xtrace.GoRunning && a.handled.on != nil && e.Thread() != xtrace.NoThread {
		a.handled.on[e.Thread()] = id
	}
	g := a.goroutines[id]
	if g == nil {
		if len(a.goroutines) >= maxGoroutines {
			return fmt.Errorf("the trace has more than %d goroutines at once", maxGoroutines)
		}
		g = &goroutine{id: id, proc: xtrace.NoProc, born: -1}
		a.goroutines[id] = g
		a.seen++
		a.alive.change(a.now, 1)
		if from == xtrace.GoNotExist {
			g.born, g.since = a.now, a.now
			g.creator = whereOf(a.stacks.of(e.Stack())).Call
		}
	}
	if own != nil {
		a.name(g, own)
	}
	if from == to {
		return nil // the status at the begin of a generation
	}
	if from != xtrace.GoUndetermined && from != xtrace.GoNotExist {
		a.leave(g, e, to)
	}
	a.enter(g, e, st, own, from, to)
	return nil
}

// leave ends the time of a goroutine in a state.
func (a *analysis) leave(g *goroutine, e *xtrace.Event, to xtrace.GoState) {
	ns := a.now - g.since
	var by *stack
	if g.state == xtrace.GoWaiting {
		by = a.stacks.of(e.Stack())
	}
	a.spend(g, ns, by)
	switch g.state {
	case xtrace.GoRunnable:
		a.ready.change(a.now, -1)
		a.waited(g.cause, ns)
	case xtrace.GoRunning:
		if to != xtrace.GoSyscall {
			a.lanes.set(g.proc, a.now, laneSched, nil, "")
		}
	case xtrace.GoSyscall:
		a.calls.end(g, ns, to == xtrace.GoRunnable)
		a.outside.change(a.now, -g.outside())
	}
}

// enter begins the time of a goroutine in a state.
func (a *analysis) enter(g *goroutine, e *xtrace.Event, st xtrace.StateTransition, own *stack, from, to xtrace.GoState) {
	g.state, g.since, g.stack, g.by = to, a.now, own, nil
	if from == xtrace.GoUndetermined {
		g.since = 0 // as it has been since the begin of the window
	}
	switch to {
	case xtrace.GoRunnable:
		a.ready.change(a.now, 1)
		g.cause = a.causeOf(g, e, st, from)
		if from == xtrace.GoWaiting {
			g.by = a.stacks.of(e.Stack())
		}
	case xtrace.GoRunning:
		if e.Proc() != xtrace.NoProc {
			g.proc = e.Proc()
		}
		a.lanes.set(g.proc, a.now, a.kindOf(g), g, g.function())
	case xtrace.GoWaiting:
		if g.reason = a.reason(st.Reason); from == xtrace.GoUndetermined {
			g.reason = reasonEarly
		}
	case xtrace.GoSyscall:
		g.proc, g.fate = e.Proc(), kept
		if g.proc == xtrace.NoProc || from == xtrace.GoUndetermined {
			g.proc, g.fate = xtrace.NoProc, unknown // it was in the call when the window began
		} else {
			a.lanes.set(g.proc, a.now, laneSyscall, g, g.function())
			a.calls.on[g.proc] = g
		}
		a.outside.change(a.now, g.outside())
	case xtrace.GoNotExist:
		a.end(g)
	}
	if own != nil {
		a.serve(g, own, to)
	} else if from == xtrace.GoWaiting {
		a.woken(g)
	}
}

// end forgets a goroutine.
func (a *analysis) end(g *goroutine) {
	a.closeSpans(g)
	if g.root == "" {
		a.register(g)
	}
	if l := a.lifeOf(g); l != nil {
		l.ended++
		if g.born >= 0 {
			l.life.add(a.now - g.born)
		}
	}
	a.gc.forget(g)
	a.openRegions -= len(g.regions)
	delete(a.goroutines, g.id)
	a.alive.change(a.now, -1)
}
