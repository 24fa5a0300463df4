package gomem

import (
	"errors"
	"fmt"
	"time"
)

const (
	maxPs         = 1 << 14 // Ps that are read
	maxGoroutines = 1 << 40 // a number that no runtime reaches
	maxWalk       = 1 << 14 // goroutines that one walk looks at
	maxReason     = 64      // bytes of what a goroutine waits for
	maxReasons    = 256
	walkEvery     = time.Second
)

// Statuses of Ps (runtime2.go).
const (
	pIdle = iota
	pRunning
	pSyscall
	pGCStop
)

// scheduler fills in the figures of the scheduler.
func (p *Process) scheduler(f *Figures) error {
	f.Procs, f.CPUs = p.get(varProcs), p.cpus
	f.Threads = p.get("sched.mnext").less(p.get("sched.nmfreed"))
	f.IdleThreads, f.SpinningThreads = p.get("sched.nmidle"), p.get("sched.nmspinning")
	f.GlobalQueue = p.get("sched.runq")
	free, err := p.eachP(f)
	if err != nil {
		return err
	}
	shared := p.get("sched.gFree.n")
	if !shared.Known { // since Go 1.25 two lists have a size each
		shared = sum(p.get("sched.gFree.stack"), p.get("sched.gFree.noStack"))
	}
	f.Goroutines = p.get(allgsLen).less(sum(shared, p.get("sched.ngsys"), free))
	if f.Goroutines.Known {
		f.Goroutines.N = max(f.Goroutines.N, 1) // as runtime.gcount does
	}
	return nil
}

// perP are the fields that are read of each P. The head of a queue is read before its tail:
// both only grow, so that the difference is never negative.
var perP = []string{"p.status", "p.runqhead", "p.runqtail", "p.runnext", "p.gFree", "p.timers", "p.m", "p.schedtick", "p.syscalltick"}

// eachP adds up what Ps have, and returns how many dead goroutines they keep.
func (p *Process) eachP(f *Figures) (free Value, err error) {
	addrs, err := p.allp()
	if err != nil || addrs == nil {
		return Value{}, retired(err)
	}
	b := &p.ps
	b.reset()
	slots := make([]int, 0, len(addrs)*len(perP))
	for _, addr := range addrs {
		for _, name := range perP {
			at, ok := p.layout[name]
			if !ok {
				slots = append(slots, -1)
				continue
			}
			slots = append(slots, b.add(addr+uint64(at.Offset), at.Size))
		}
	}
	if err := p.mem.read(b); err != nil {
		return Value{}, retired(err)
	}
	free, busy := p.addPs(f, slots)
	if p.has("sched.nGsyscallNoP", "p.m", "m.curg", "g.atomicstatus") && f.Ps.Running.Known {
		n, err := p.inSyscall(busy)
		if err != nil {
			return Value{}, err
		}
		f.Ps.Syscall, f.Ps.Running = n, f.Ps.Running.less(n)
	}
	return free, nil
}

// allp reads the addresses of the Ps.
func (p *Process) allp() ([]uint64, error) {
	n, array := p.get(varProcs), p.get(varAllp)
	if !n.Known || !array.Known || n.N < 1 || n.N > maxPs {
		return nil, nil
	}
	b := &p.ps
	b.reset()
	b.add(uint64(array.N), int(n.N)*8)
	if err := p.mem.read(b); err != nil {
		return nil, err
	}
	addrs := make([]uint64, n.N)
	for i := range addrs {
		addrs[i] = b.uint(i*8, 8)
	}
	return addrs, nil
}

// has reports whether the layout has all of some fields.
func (p *Process) has(names ...string) bool {
	for _, name := range names {
		if _, ok := p.layout[name]; !ok {
			return false
		}
	}
	return true
}

// addPs sums what was read of each P. It also returns the threads of running Ps.
func (p *Process) addPs(f *Figures, slots []int) (free Value, busy []uint64) {
	var status [4]int64
	var queued, longest, timers, dead, switches, syscalls int64
	for ; len(slots) >= len(perP); slots = slots[len(perP):] {
		value := func(i int) int64 {
			if slots[i] < 0 {
				return 0
			}
			return int64(p.ps.uint(slots[i], p.layout[perP[i]].Size))
		}
		s := value(0)
		if s >= 0 && s < int64(len(status)) {
			status[s]++
		}
		if m := value(6); s == pRunning && m != 0 {
			busy = append(busy, uint64(m))
		}
		const room = 256 // of a queue
		length := min(int64(uint32(value(2))-uint32(value(1))), room)
		if value(3) != 0 {
			length++
		}
		queued += length
		longest = max(longest, length)
		dead += value(4)
		timers += value(5)
		switches += value(7)
		syscalls += value(8)
	}
	if p.has("p.status") {
		f.Ps = Ps{Idle: known(status[pIdle]), Running: known(status[pRunning]), GCStop: known(status[pGCStop])}
		if !p.has("sched.nGsyscallNoP") {
			f.Ps.Syscall = known(status[pSyscall])
		}
	}
	if p.has("p.runqhead", "p.runqtail", "p.runnext") {
		f.LocalQueues, f.LongestQueue = known(queued), known(longest)
	}
	if p.has("p.schedtick", "p.syscalltick") {
		f.Switches, f.Syscalls = known(switches), known(syscalls)
	}
	if p.has("p.timers") {
		f.Timers = known(timers)
	}
	if p.has("p.gFree") {
		free = known(dead)
	}
	return free, busy
}

// inSyscall counts the threads whose goroutine is in a system call. Since Go 1.26 a P does not
// say so itself.
func (p *Process) inSyscall(threads []uint64) (Value, error) {
	b := &p.ps
	b.reset()
	at := p.layout["m.curg"]
	slots := make([]int, len(threads))
	for i, m := range threads {
		slots[i] = b.add(m+uint64(at.Offset), at.Size)
	}
	if err := p.mem.read(b); err != nil {
		return Value{}, retired(err)
	}
	gs := make([]uint64, len(slots))
	for i, slot := range slots {
		gs[i] = b.uint(slot, at.Size)
	}
	b.reset()
	at = p.layout["g.atomicstatus"]
	slots = slots[:0]
	for _, g := range gs {
		if g != 0 {
			slots = append(slots, b.add(g+uint64(at.Offset), at.Size))
		}
	}
	if err := p.mem.read(b); err != nil {
		return Value{}, retired(err)
	}
	n := 0
	for _, slot := range slots {
		if b.uint(slot, at.Size)&^gScan == gSyscall {
			n++
		}
	}
	return known(n), nil
}

// checkPs returns an error if what should be Ps are none: each knows its index.
func (p *Process) checkPs() error {
	addrs, err := p.allp()
	at, ok := p.layout["p.id"]
	if err != nil || !ok {
		return err
	}
	b := &p.ps
	b.reset()
	slots := make([]int, len(addrs))
	for i, addr := range addrs {
		slots[i] = b.add(addr+uint64(at.Offset), at.Size)
	}
	if err := p.mem.read(b); err != nil {
		return err
	}
	for i, slot := range slots {
		if id := b.uint(slot, at.Size); id != uint64(i) {
			return fmt.Errorf("%w: P %d says that it is P %d", ErrLayout, i, id)
		}
	}
	return nil
}

// retired hides that memory was freed between the reading of a pointer and of what it points
// to. The figures concerned stay unknown until the next reading.
func retired(err error) error {
	if errors.Is(err, errAddress) {
		return nil
	}
	return err
}

// readReasons reads the names of what goroutines wait for from the process.
func (p *Process) readReasons() {
	base, ok := p.vars[varReasons]
	if !ok {
		p.reasons = knownReasons(p.info.Version)
		return
	}
	const head = 16 // a string: pointer and length
	for i := range uint64(maxReasons) {
		text, err := p.text(base + i*head)
		if err != nil || (text == "" && i > 0) {
			break
		}
		p.reasons = append(p.reasons, text)
	}
	if len(p.reasons) < 2 {
		p.reasons = nil
		p.miss(varReasons, "it contains no text")
	}
}

// text reads a short string of printable ASCII.
func (p *Process) text(addr uint64) (string, error) {
	var b batch
	b.add(addr, 16)
	if err := p.mem.read(&b); err != nil {
		return "", err
	}
	from, n := b.uint(0, 8), b.uint(8, 8)
	if n == 0 {
		return "", nil
	}
	if n > maxReason {
		return "", fmt.Errorf("%w: a text of %d bytes", ErrLayout, n)
	}
	b.reset()
	b.add(from, int(n))
	if err := p.mem.read(&b); err != nil {
		return "", err
	}
	for _, c := range b.buf {
		if c < ' ' || c > '~' {
			return "", fmt.Errorf("%w: a text that is not printable", ErrLayout)
		}
	}
	return string(b.buf), nil
}
