package gomem

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// maxTries bounds how often figures are read again because the runtime wrote meanwhile.
const maxTries = 4

// prepare plans the reading of what is at fixed addresses.
func (p *Process) prepare() {
	p.slots = map[string]int{}
	p.words = p.words[:0]
	put := func(name string, addr uint64, size int) {
		p.slots[name] = p.fixed.add(addr, size)
		if size == 8 {
			p.words = append(p.words, p.slots[name])
		}
	}
	if addr, ok := p.vars[varAllgs]; ok {
		put(allgsLen, addr+8, 8)
		put(allgsPtr, addr, 8)
	}
	for _, v := range variables {
		if addr, ok := p.vars[v.name]; ok && v.size > 0 && !v.apart {
			put(v.name, addr, v.size)
		}
	}
	bases := map[string]string{"sched": varSched, "gc": varGC, "memstats": varMemstats, "work": varWork}
	for _, s := range structures {
		for _, w := range s.fields {
			first, _, _ := strings.Cut(w.name, ".")
			addr, ok := p.vars[bases[first]]
			at, placed := p.layout[w.name]
			if ok && placed {
				put(w.name, addr+uint64(at.Offset), at.Size)
			}
		}
	}
}

// readFixed reads what is at fixed addresses, twice. The kernel copies while the process runs:
// a cycle of the collector may end between two figures, and the halves of a word could come
// from before and after a change. Readings that show either are repeated.
func (p *Process) readFixed() error {
	for range maxTries {
		if err := p.mem.read(&p.fixed); err != nil {
			return err
		}
		p.again = append(p.again[:0], p.fixed.buf...)
		if err := p.mem.read(&p.fixed); err != nil {
			return err
		}
		if p.steady() {
			return nil
		}
	}
	return nil // a runtime that collects all the time; each figure is right by itself
}

// steady reports whether two readings belong to one cycle of the collector and no word has
// changed in its upper half, which a carry does once in 4 GiB.
func (p *Process) steady() bool {
	same := func(at, size int) bool { return bytes.Equal(p.again[at:at+size], p.fixed.buf[at:at+size]) }
	for _, name := range []string{"memstats.numgc", "work.cycles", varPhase} {
		if at, ok := p.slots[name]; ok && !same(at, 4) {
			return false
		}
	}
	for _, at := range p.words {
		if !same(at+4, 4) {
			return false
		}
	}
	return true
}

// get returns a field or variable of the last reading.
func (p *Process) get(name string) Value {
	at, ok := p.slots[name]
	if !ok {
		return Value{}
	}
	size := p.layout[name].Size
	if size == 0 {
		size = 4
		if name == allgsLen || name == allgsPtr || name == varAllp {
			size = 8
		}
	}
	n := p.fixed.uint(at, size)
	if size == 4 && signed[name] {
		n = uint64(int64(int32(uint32(n))))
	}
	return known(n)
}

// signed has the fields whose 32 bits may be negative.
var signed = func() map[string]bool {
	names := map[string]bool{}
	for _, s := range structures {
		for _, w := range s.fields {
			names[w.name] = w.signed
		}
	}
	return names
}()

// collector fills in the figures of the garbage collector and of memory.
func (p *Process) collector(f *Figures) {
	f.HeapLive, f.HeapMarked = p.get("gc.heapLive"), p.get("gc.heapMarked")
	f.HeapInUse, f.HeapReleased = p.get("gc.heapInUse"), p.get("gc.heapReleased")
	f.HeapIdle = sum(p.get("gc.heapFree"), f.HeapReleased)
	f.Mapped = p.get("gc.mappedReady")
	f.Allocated, f.Freed = p.get("gc.totalAlloc"), p.get("gc.totalFree")
	f.GCPercent, f.MemoryLimit = p.get("gc.gcPercent"), p.get("gc.memoryLimit")
	f.Cycles, f.Forced = p.get("memstats.numgc"), p.get("memstats.numforcedgc")
	f.LastGC, f.PauseTotal = p.get("memstats.last_gc_unix"), p.get("memstats.pause_total_ns")
	f.Phase = p.get(varPhase)
	f.CPU = CPU{
		GC: p.get("work.gcTotal"), GCAssist: p.get("work.gcAssist"),
		Idle: p.get("work.idle"), User: p.get("work.user"), Total: p.get("work.total"),
	}
	f.Stacks = p.stacks()
	f.HeapTrigger, f.HeapGoal = p.pace(f)
}

// stacks adds the stacks in use. The runtime keeps three differences, whose sum is the figure,
// except while a reader in the process adds one to another.
func (p *Process) stacks() Value {
	at, ok := p.slots["memstats.heapStats"]
	in, placed := p.layout["delta.inStacks"]
	if !ok || !placed {
		return Value{}
	}
	whole := p.layout["memstats.heapStats"].Size
	total := int64(0)
	for i := range 3 {
		from := at + i*(whole/3) + in.Offset
		if from+in.Size > at+whole {
			return Value{}
		}
		total += int64(p.fixed.uint(from, in.Size))
	}
	return known(total)
}

// pace calculates the trigger and the goal of the next cycle as the runtime does whenever it
// needs them (gcControllerState.trigger, heapGoalInternal and memoryLimitHeapGoal, which have
// not changed from Go 1.22 to Go 1.27).
func (p *Process) pace(f *Figures) (trigger, goal Value) {
	in := make([]uint64, 0, 9)
	for _, name := range []string{
		"gc.gcPercentHeapGoal", "gc.sweepDistMinTrigger", "gc.triggered", "gc.heapMarked", "gc.heapFree",
		"gc.runway", "gc.totalAlloc", "gc.totalFree", "gc.mappedReady", "gc.memoryLimit",
	} {
		v := p.get(name)
		if !v.Known {
			return Value{}, Value{}
		}
		in = append(in, uint64(v.N))
	}
	g, least, triggered, marked := in[0], uint64(0), in[2], in[3]
	if limited := limitGoal(in[4], in[6]-in[7], in[8], in[9], marked); limited < g {
		g = limited
	} else {
		least = in[1]
		g = max(g, least)
		const runway = 64 << 10
		if triggered != math.MaxUint64 && g < triggered+runway {
			g = triggered + runway
		}
	}
	if g > math.MaxInt64 { // GOGC=off without a limit
		g = math.MaxInt64
	}
	if marked >= g {
		return known(g), known(g)
	}
	least = max(least, marked, (g-marked)/64*45+marked)
	most := (g-marked)/64*61 + marked
	if const4 := uint64(4 << 20); g > const4 && g-const4 > most {
		most = g - const4
	}
	most = max(most, least)
	t := least
	if in[5] <= g {
		t = max(g-in[5], least)
	}
	return known(min(t, most)), known(g)
}

// limitGoal is the goal that GOMEMLIMIT sets.
func limitGoal(free, alloc, mapped, limit, marked uint64) uint64 {
	if free+alloc > mapped {
		return math.MaxUint64 // read between two updates
	}
	other, over := mapped-free-alloc, uint64(0)
	if mapped > limit {
		over = mapped - limit
	}
	if other+over >= limit {
		return marked
	}
	goal := limit - (other + over)
	headroom := max(goal/100*3, 1<<20)
	if goal < headroom || goal-headroom < headroom {
		goal = headroom
	} else {
		goal -= headroom
	}
	return max(goal, marked)
}

// validate reads once and checks what every runtime keeps true, so that a wrong address or
// layout is an error and not a figure.
func (p *Process) validate() error {
	for _, check := range []func() error{p.readFixed, p.checkPs} {
		if err := check(); err != nil {
			return layoutError(err)
		}
	}
	wrong := func(what string, v Value) error {
		return fmt.Errorf("%w: %s is %v", ErrLayout, what, v)
	}
	if v := p.get(varProcs); v.Known && (v.N < 1 || v.N > maxPs) {
		return wrong("GOMAXPROCS", v)
	}
	if v := p.get(varPhase); v.Known && v.N > 2 {
		return wrong("the phase of the collector", v)
	}
	if v := p.get("gc.gcPercent"); v.Known && v.N < -1 {
		return wrong("GOGC", v)
	}
	if v := p.get("gc.memoryLimit"); v.Known && v.N < 0 {
		return wrong("GOMEMLIMIT", v)
	}
	if v := p.get(allgsLen); v.Known && (v.N < 1 || v.N > maxGoroutines) {
		return wrong("the number of goroutines", v)
	}
	if v := p.get("gc.heapLive"); v.Known && v.N < 0 {
		return wrong("the live heap", v)
	}
	return nil
}
