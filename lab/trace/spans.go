package trace

import (
	"cmp"
	"slices"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

const (
	maxSegments  = 128     // of a request
	allSegments  = 1 << 20 // of all open requests
	maxParts     = 12      // ways in which a request spent its time
	groupParts   = 64
	maxGroups    = 256
	maxChildren  = 16
	maxNested    = 8 // open tasks and regions of a goroutine that are followed
	slowestEach  = 3 // of a group
	maxSlowest   = 30
	noHandler    = NotSeen
	otherPart    = "(other)"
	stateMissing = "elsewhere"
)

// partKey is a way to spend time.
type partKey struct {
	state        int
	reason, call string
}

// segment is a piece of a span.
type segment struct {
	from, ns int64
	state    int
	reason   string
	call, by *stack
}

// span is a request, a task or a region that a goroutine works on.
type span struct {
	kind, name  string
	g           *goroutine
	from        int64
	early       bool
	provisional bool // of net/http: the head of the request may not have arrived
	parts       map[partKey]*tally
	segments    []segment
	cut         int64
	children    map[childKey]*tally
	hot         map[string]int64 // CPU samples by call
	parent      xtrace.TaskID
	ignored     bool // it is a request for a profile or for this trace
	followed    bool // it gets the time of g
	ended       bool
}

type childKey struct{ kind, name string }

// region is an open region of a goroutine.
type region struct {
	task xtrace.TaskID
	name string
	from int64
	span *span // nil: it is within a request
}

// group adds up the spans of one name.
type group struct {
	spread
	open    int64
	parts   map[partKey]*tally
	hot     map[string]int64
	slowest []Request
}

// spans is the state of all requests.
type spans struct {
	tasks    map[xtrace.TaskID]*span
	groups   table[childKey, group]
	segments int    // of open spans
	unnested uint64 // spans that were not followed
}

func (s *spans) init() {
	s.tasks, s.groups.limit = map[xtrace.TaskID]*span{}, maxGroups
}

// serve follows a goroutine that serves a connection or a stream of net/http.
func (a *analysis) serve(g *goroutine, st *stack, to xtrace.GoState) {
	switch st.use {
	case useReading:
		if g.serving != nil && !g.serving.provisional {
			a.closeSpan(g.serving, false)
			g.serving = nil
		}
		g.reading = true
		switch {
		case to == xtrace.GoWaiting:
			a.drop(g) // nothing has arrived, or not all of a head
		case g.serving == nil:
			g.serving = &span{kind: KindHTTP, g: g, from: a.now, provisional: true, followed: true}
		}
	case useServing, useProfile:
		g.reading = false
		if g.serving == nil {
			g.serving = &span{kind: KindHTTP, g: g, from: a.now, early: g.born < 0, followed: true}
			if g.born < 0 {
				g.serving.from = 0
			}
		}
		g.serving.provisional = false
		g.serving.ignored = g.serving.ignored || st.use == useProfile
		if g.serving.name == "" {
			g.serving.name = st.handler
		}
	}
}

// woken follows a goroutine whose wait ended: if it waited for a request, one has arrived.
func (a *analysis) woken(g *goroutine) {
	if g.reading && g.serving == nil && g.state == xtrace.GoRunnable {
		g.serving = &span{kind: KindHTTP, g: g, from: a.now, provisional: true, followed: true}
	}
}

// drop forgets a request that did not come.
func (a *analysis) drop(g *goroutine) {
	if g.serving != nil {
		a.spans.segments -= len(g.serving.segments)
		g.serving = nil
	}
}

// observe names the request of a goroutine that runs, by the stack of any of its events.
func (a *analysis) observe(e *xtrace.Event) {
	g := a.goroutines[e.Goroutine()]
	if g == nil {
		return
	}
	if e.Kind() == xtrace.EventStackSample {
		a.sample(g, a.stacks.of(e.Stack()))
	}
	if g.serving == nil || g.serving.name != "" {
		return
	}
	if st := a.stacks.of(e.Stack()); st != nil && st.use == useServing {
		g.serving.provisional = false
		g.serving.name = st.handler
	}
}

// routeCategory is that of the log messages that name requests: see contrib/control/routes.
const routeCategory = "http.route"

// route names the request of a goroutine by what its program has logged. A trace has stacks only
// where something happens, and in short handlers nothing does.
func (a *analysis) route(e *xtrace.Event) {
	g, line := a.goroutines[e.Goroutine()], e.Log()
	if g != nil && g.serving != nil && line.Category == routeCategory && line.Message != "" {
		g.serving.provisional = false
		g.serving.name = short(line.Message)
	}
}

// sample counts a sample of the CPU profile, which a trace has while one is taken.
func (a *analysis) sample(g *goroutine, st *stack) {
	if st == nil {
		return
	}
	if g.serving != nil {
		g.serving.hot = heat(g.serving.hot, st.call, 1, maxParts)
	}
	for _, s := range g.tasks {
		s.hot = heat(s.hot, st.call, 1, maxParts)
	}
}

// heat counts samples of a call.
func heat(hot map[string]int64, call string, n int64, limit int) map[string]int64 {
	if hot == nil {
		hot = map[string]int64{}
	}
	if _, ok := hot[call]; !ok && len(hot) >= limit {
		call = otherPart
	}
	hot[call] += n
	return hot
}

// hottest returns the calls with the most samples.
func hottest(hot map[string]int64) []Hot {
	var out []Hot
	for call, n := range hot {
		out = append(out, Hot{call, n})
	}
	slices.SortFunc(out, func(x, y Hot) int { return cmp.Or(cmp.Compare(y.Samples, x.Samples), strings.Compare(x.Call, y.Call)) })
	return out
}

// spendSpans gives the spans of a goroutine the time that it spent in a state.
func (a *analysis) spendSpans(g *goroutine, state int, ns int64, by *stack) {
	if g.serving != nil {
		a.spans.spend(g.serving, g, state, a.now, ns, by)
	}
	for _, s := range g.tasks {
		a.spans.spend(s, g, state, a.now, ns, by)
	}
}

func (s *spans) spend(sp *span, g *goroutine, state int, now, ns int64, by *stack) {
	if ns = min(ns, now-sp.from); ns <= 0 {
		return
	}
	key := partKey{state: state}
	seg := segment{from: now - ns, ns: ns, state: state, by: by}
	if state == stateBlocked || state == stateSyscall {
		seg.call, key.call = g.stack, whereOf(g.stack).Call
		if state == stateBlocked {
			seg.reason, key.reason = g.reason, g.reason
		}
	}
	if state == stateReady {
		seg.reason = causeNames[g.cause]
		key.reason, seg.by = seg.reason, g.by
	}
	sp.parts = addPart(sp.parts, key, tally{1, ns, ns}, maxParts)
	if len(sp.segments) >= maxSegments || s.segments >= allSegments {
		sp.cut++
		return
	}
	sp.segments = append(sp.segments, seg)
	s.segments++
}

// addPart adds time to a way of spending it. What does not fit is added up for the state.
func addPart(parts map[partKey]*tally, key partKey, t tally, limit int) map[partKey]*tally {
	if parts == nil {
		parts = map[partKey]*tally{}
	}
	row := parts[key]
	if row == nil && len(parts) >= limit {
		key = partKey{state: key.state, call: otherPart}
		row = parts[key]
	}
	if row == nil {
		row = &tally{}
		parts[key] = row
	}
	row.count, row.total, row.max = row.count+t.count, sum(row.total, t.total), max(row.max, t.max)
	return parts
}

// closeSpan ends a span. open: the window ended before it.
func (a *analysis) closeSpan(sp *span, open bool) {
	if sp.ended {
		return
	}
	sp.ended = true
	if i, ok := sp.g.index(); ok && sp.followed {
		a.spans.spend(sp, sp.g, i, a.now, a.now-sp.g.since, nil)
	}
	a.spans.segments -= len(sp.segments)
	if sp.ignored || sp.early && sp.name == "" {
		return // it is the one for this trace, or its handler was over when the window began
	}
	name := cmp.Or(sp.name, noHandler)
	gr := a.spans.groups.at(childKey{sp.kind, name})
	if gr == nil {
		return
	}
	ns := a.now - sp.from
	gr.add(ns)
	if open {
		gr.open++
	}
	for key, t := range sp.parts {
		gr.parts = addPart(gr.parts, key, *t, groupParts)
	}
	for call, n := range sp.hot {
		gr.hot = heat(gr.hot, call, n, groupParts)
	}
	at, _ := slices.BinarySearchFunc(gr.slowest, ns, func(r Request, ns int64) int { return cmp.Compare(ns, r.NS) })
	if at >= slowestEach {
		return
	}
	r := sp.request(name, ns)
	r.Open = open
	gr.slowest = slices.Insert(gr.slowest, at, r)
	gr.slowest = gr.slowest[:min(len(gr.slowest), slowestEach)]
}

// request returns a span for the report.
func (sp *span) request(name string, ns int64) Request {
	r := Request{
		Kind: sp.kind, Name: name, Goroutine: int64(sp.g.id), BeginNS: sp.from, NS: ns, Early: sp.early,
		Spent: partsOf(sp.parts, ns), Hot: hottest(sp.hot), Segments: []Segment{}, Cut: sp.cut,
	}
	for _, s := range sp.segments {
		out := Segment{AtNS: s.from - sp.from, NS: s.ns, State: stateNames[s.state], Reason: s.reason}
		if s.call != nil {
			out.Call = s.call.call
		}
		if s.by != nil {
			out.By = s.by.call
		}
		r.Segments = append(r.Segments, out)
	}
	for k, t := range sp.children {
		r.Children = append(r.Children, Child{Kind: k.kind, Name: k.name, Count: t.count, TotalNS: t.total, MaxNS: t.max})
	}
	slices.SortFunc(r.Children, func(x, y Child) int {
		return cmp.Or(cmp.Compare(y.TotalNS, x.TotalNS), strings.Compare(x.Kind+x.Name, y.Kind+y.Name))
	})
	return r
}

// partsOf returns how total was spent, the largest part first. What the parts lack was spent
// elsewhere: the goroutine that is followed had ended.
func partsOf(parts map[partKey]*tally, total int64) []Part {
	out := []Part{}
	rest := total
	for k, t := range parts {
		rest -= t.total
		out = append(out, Part{State: stateNames[k.state], Reason: k.reason, Call: k.call, TotalNS: t.total, Count: t.count})
	}
	if rest > 0 {
		out = append(out, Part{State: stateMissing, TotalNS: rest, Count: 1})
	}
	slices.SortFunc(out, func(x, y Part) int {
		return cmp.Or(cmp.Compare(y.TotalNS, x.TotalNS), strings.Compare(x.State+x.Reason+x.Call, y.State+y.Reason+y.Call))
	})
	return out
}

// groupResult returns all groups, and the slowest requests of all of them.
func (s *spans) groupResult() (groups []Group, slowest []Request) {
	groups, slowest = []Group{}, []Request{}
	less := func(x, y childKey) int { return strings.Compare(x.kind+x.name, y.kind+y.name) }
	for _, k := range s.groups.sorted(maxGroups, func(g *group) int64 { return g.max }, less) {
		g := s.groups.rows[k]
		groups = append(groups, Group{Kind: k.kind, Name: k.name, Spread: g.result(), Open: g.open, Spent: partsOf(g.parts, g.total), Hot: hottest(g.hot)})
		slowest = append(slowest, g.slowest...)
	}
	slices.SortStableFunc(slowest, func(x, y Request) int { return cmp.Compare(y.NS, x.NS) })
	return groups, slowest[:min(len(slowest), maxSlowest)]
}
