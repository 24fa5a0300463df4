package trace

import xtrace "golang.org/x/exp/trace"

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
	if e.Thread() != xtrace.NoThread && len(h.on) < 1<<16 {
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
