package gomem

import (
	"time"

	"github.com/redline-go/redline/lab/gomem/functab"
)

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

// An object is the part of a goroutine's object (runtime.g) that was read.
type object struct {
	p     *Process
	bytes []byte
	from  int // offset of the first byte
}

// get returns a field, or 0 if the layout does not have it.
func (o object) get(name string) uint64 {
	at, ok := o.p.layout[name]
	if !ok {
		return 0
	}
	return number(o.bytes[at.Offset-o.from:][:at.Size])
}

func (o object) status() uint64 { return o.get("g.atomicstatus") &^ gScan }

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
	s := seen{id: o.get("g.goid"), status: o.status(), tracking: o.get("g.trackingSeq")}
	s.Lo, s.Hi = o.get("g.stack.lo"), o.get("g.stack.hi")
	switch s.status {
	case gWaiting, gLeaked, gRunnable, gPreempted:
		s.PC, s.SP, s.LR = o.get("g.sched.pc"), o.get("g.sched.sp"), o.get("g.sched.lr")
	case gSyscall:
		s.PC, s.SP, s.Syscall = o.get("g.syscallpc"), o.get("g.syscallsp"), true
	}
	return s
}

// states are the names of statuses.
var states = map[uint64]string{
	gRunnable: "runnable", gRunning: "running", gSyscall: "syscall", gWaiting: "waiting",
	gLeaked: "waiting", gCopying: "running", gPreempted: "preempted",
}

// goroutine describes it, without its stack. now is the time of the monotonic clock.
func (o object) goroutine(now int64) Goroutine {
	g := Goroutine{ID: o.get("g.goid"), State: states[o.status()]}
	if g.State == "" {
		g.State = "other"
	}
	if why := int(o.get("g.waitreason")); g.State == "waiting" && why < len(o.p.reasons) {
		g.Reason = o.p.reasons[why]
	}
	if since := int64(o.get("g.waitsince")); since > 0 && (g.State == "waiting" || g.State == "syscall") && since <= now {
		g.Waiting = known(now - since)
	}
	entry := o.get("g.startpc")
	_, g.System = o.p.system[entry]
	if f, ok := o.p.syms.table.Find(entry - o.p.syms.bias); ok {
		g.Entry = functab.Printed(f.Name())
	}
	const firstOne = 1 // it was created by what is before Go
	if pc := o.get("g.gopc"); pc != 0 && g.ID != firstOne {
		if list := o.p.syms.at(pc - 1 - o.p.syms.bias); len(list) > 0 {
			g.Created = &list[0]
		}
	}
	return g
}
