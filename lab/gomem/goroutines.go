package gomem

import "time"

// Statuses of goroutines (runtime2.go); the bit gScan is added while a stack is scanned.
const (
	gIdle      = 0
	gRunnable  = 1
	gRunning   = 2
	gSyscall   = 3
	gWaiting   = 4
	gDead      = 6
	gCopying   = 8
	gPreempted = 9
	gLeaked    = 10 // since Go 1.26: waits for something that nothing can reach
	gDeadExtra = 11 // since Go 1.26: of a thread that C created, which runs no Go now
	gScan      = 0x1000
)

// maxSpan bounds what is read of one goroutine's object, in bytes.
const maxSpan = 4096

// block is how many goroutines a sample takes in a row.
const block = 64

// goroutines walks over all goroutines if the last walk is old enough. The array only grows,
// and a goroutine's object is never freed, so that no address becomes invalid. A state may
// change during the walk: each is right by itself.
func (p *Process) goroutines(now time.Time) error {
	if p.states != nil && now.Sub(p.states.At) < walkEvery {
		return nil
	}
	all, array := p.get(allgsLen), p.get(allgsPtr)
	status, ok := p.layout["g.atomicstatus"]
	if !all.Known || !array.Known || !ok || all.N < 1 || all.N > maxGoroutines {
		return nil
	}
	b := &p.walk
	b.reset()
	total, walked := int(all.N), int(min(all.N, maxWalk))
	row := walked // goroutines that are taken one after the other: all of them, or blocks
	if walked < total {
		row = block
	}
	slots := make([]int, 0, walked/row)
	for i := range walked / row {
		at := int(int64(total) * int64(i) / int64(walked/row))
		slots = append(slots, b.add(uint64(array.N)+uint64(at)*8, 8*row))
	}
	if err := p.mem.read(b); err != nil {
		return retired(err)
	}
	addrs := make([]uint64, 0, walked)
	for _, at := range slots {
		for i := range row {
			addrs = append(addrs, b.uint(at+i*8, 8))
		}
	}
	from, size := span(p.layout, "g.atomicstatus", "g.waitreason", "g.startpc")
	if size > maxSpan {
		return nil
	}
	b.reset()
	for i, addr := range addrs {
		addrs[i] = uint64(b.add(addr+uint64(from), size))
	}
	if err := p.mem.read(b); err != nil {
		return retired(err)
	}
	s := &States{At: now, Walked: len(addrs), All: total}
	if p.reasons != nil {
		s.Reasons = map[string]int{}
	}
	var why [256]int
	for _, at := range addrs {
		p.count(s, &why, b.buf[at:int(at)+size], from, status)
	}
	for i, n := range why {
		if n > 0 && s.Reasons != nil {
			name := "unknown"
			if i < len(p.reasons) && p.reasons[i] != "" {
				name = p.reasons[i]
			}
			s.Reasons[name] += n
		}
	}
	p.states = s
	return nil
}

// span returns the part of an object that contains all of the fields that are known.
func span(l layout, names ...string) (from, size int) {
	from, to := -1, 0
	for _, name := range names {
		if at, ok := l[name]; ok {
			if from < 0 || at.Offset < from {
				from = at.Offset
			}
			to = max(to, at.Offset+at.Size)
		}
	}
	return from, to - from
}

// count adds one goroutine, of which p begins at offset from.
func (p *Process) count(s *States, reasons *[256]int, obj []byte, from int, status place) {
	field := func(name string) (uint64, bool) {
		at, ok := p.layout[name]
		if !ok {
			return 0, false
		}
		return number(obj[at.Offset-from:][:at.Size]), true
	}
	state := number(obj[status.Offset-from:][:status.Size]) &^ gScan
	if state == gDead || state == gDeadExtra || state == gIdle {
		return
	}
	if pc, ok := field("g.startpc"); ok {
		if _, system := p.system[pc]; system {
			s.System++
			return
		}
	}
	switch state {
	case gRunnable:
		s.Runnable++
	case gRunning, gCopying:
		s.Running++
	case gSyscall:
		s.Syscall++
	case gPreempted:
		s.Preempted++
	case gWaiting, gLeaked:
		s.Waiting++
		if why, ok := field("g.waitreason"); ok {
			reasons[byte(why)]++
		}
	default:
		s.Other++
	}
}

// Fields of runtime.g that a snapshot reads.
const (
	fStatus = iota
	fID
	fSP
	fPC
	fLR
	fSyscallSP
	fSyscallPC
	fLow
	fHigh
	fNeeded // there is no stack without those before
	fReason = iota - 1
	fSince
	fTracking
	fCreated
	fEntry
	fThread
	fList
	fields
)

// fieldNames are those of the fields in a layout.
var fieldNames = [fields]string{
	"g.atomicstatus", "g.goid", "g.sched.sp", "g.sched.pc", "g.sched.lr", "g.syscallsp", "g.syscallpc", "g.stack.lo", "g.stack.hi",
	"g.waitreason", "g.waitsince", "g.trackingSeq", "g.gopc", "g.startpc", "g.m", "g.waiting",
}

// objects is what is read of each object of one type.
type objects struct {
	from, size int     // the part that has all fields
	places     []place // relative to from; those that are not known have no size
}

func newObjects(l layout, names []string) objects {
	f := objects{places: make([]place, len(names))}
	f.from, f.size = span(l, names...)
	for i, name := range names {
		if at, ok := l[name]; ok {
			f.places[i] = place{at.Offset - f.from, at.Size}
		}
	}
	return f
}

// get returns a field of an object whose part begins with b, or 0 if the layout does not have it.
func (f *objects) get(b []byte, field int) uint64 {
	at := f.places[field]
	return number(b[at.Offset : at.Offset+at.Size])
}

// An object is the part of a goroutine's object (runtime.g) that was read.
type object struct {
	p     *Process
	bytes []byte
}

func (o object) get(field int) uint64 { return o.p.snaps.objects.get(o.bytes, field) }

func (o object) status() uint64 { return o.get(fStatus) &^ gScan }

// alive reports whether the goroutine has begun and not ended.
func (o object) alive() bool {
	switch o.status() {
	case gDead, gDeadExtra, gIdle:
		return false
	}
	return true
}

// seen returns what tells whether the goroutine has run, and where its stack begins. A stack
// that cannot be followed begins at 0.
func (o object) seen() seen {
	s := seen{id: o.get(fID), status: o.status(), tracking: o.get(fTracking)}
	s.Lo, s.Hi = o.get(fLow), o.get(fHigh)
	switch s.status {
	case gWaiting, gLeaked, gRunnable, gPreempted:
		s.PC, s.SP, s.LR, s.list = o.get(fPC), o.get(fSP), o.get(fLR), o.get(fList)
	case gSyscall:
		s.PC, s.SP, s.Syscall = o.get(fSyscallPC), o.get(fSyscallSP), true
	}
	return s
}

// states are the names of statuses.
var states = map[uint64]string{
	gRunnable: "runnable", gRunning: "running", gSyscall: "syscall", gWaiting: "waiting",
	gLeaked: "waiting", gCopying: "running", gPreempted: "preempted",
}

// goroutine describes it, without its stack and for how long it waits.
func (o object) goroutine() Goroutine {
	g := Goroutine{ID: o.get(fID), State: states[o.status()]}
	if g.State == "" {
		g.State = "other"
	}
	if why := int(o.get(fReason)); g.State == "waiting" && why < len(o.p.reasons) {
		g.Reason = o.p.reasons[why]
	}
	entry := o.get(fEntry)
	_, g.System = o.p.system[entry]
	if list := o.p.syms.at(entry - o.p.syms.bias); len(list) > 0 {
		g.Entry = list[len(list)-1].Func
	}
	const firstOne = 1 // it was created by what is before Go
	if pc := o.get(fCreated); pc != 0 && g.ID != firstOne {
		if list := o.p.syms.at(pc - 1 - o.p.syms.bias); len(list) > 0 {
			g.Created = &list[0]
		}
	}
	return g
}

// waiting returns for how long the goroutine has been in its state at least. now is the time of
// the monotonic clock.
func (o object) waiting(now int64) Value {
	since := int64(o.get(fSince))
	switch o.status() {
	case gWaiting, gLeaked, gSyscall:
		if since > 0 && since <= now {
			return known(now - since)
		}
	}
	return Value{}
}
