package gomem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/gomem/functab"
)

// A Goroutine is one goroutine at the time of a [Snapshot].
type Goroutine struct {
	ID uint64
	// State is "running", "runnable", "syscall", "waiting" or "preempted", or "other".
	State string
	// Reason is what a waiting goroutine waits for, in the runtime's words: "chan receive". It is
	// empty if it is unknown.
	Reason string
	// Timed is set if the goroutine receives from a channel of time.After, time.Timer or
	// time.Ticker, and from no other channel on which a goroutine could hand something over: others
	// in its select, 8 channels at most, have no buffer and empty elements, as that of
	// context.Context.Done. It is not known, and not set, of programs that Go 1.22 built, or that
	// run with GODEBUG=asynctimerchan=1, the default if the go line of go.mod is older than 1.23.
	Timed bool
	// Waiting is for how long the goroutine has been in this wait or system call at least. The
	// runtime notes it in each cycle of its collector: it is unknown until the first one.
	Waiting Value
	System  bool   // of the runtime itself
	Cgo     bool   // in a system call, which is a call of C
	Entry   string // function that it began with
	// Created is the go statement that started it; nil is the first goroutine.
	Created *Frame
	// Stack is nil for goroutines that run, and those that ran while they were read: their
	// registers are those of a thread. Snapshot.Moved counts the latter.
	Stack *Stack
}

// A Snapshot is what goroutines do at a time. The process is not stopped: each goroutine's
// entry is of one moment, but not all of the same.
type Snapshot struct {
	At         time.Time
	Took       time.Duration
	Goroutines []Goroutine
	// Walked is how many of the runtime's goroutine objects were looked at, of All. The rest, if
	// any, is skipped evenly, so that counts times All/Walked are estimates. Ended goroutines
	// whose objects are kept are among both.
	Walked, All int
	Moved       int // goroutines that ran while they were read
	Reused      int // goroutines whose stack is that of the snapshot before, because they did not run
}

// SnapshotOptions say what a snapshot has.
type SnapshotOptions struct {
	Max    int  // goroutines that are looked at; 0 is 16384, the maximum is 262,144
	Depth  int  // frames of a stack without inlined ones; 0 is 128, the maximum is 4096
	System bool // with those of the runtime itself
}

const (
	maxSnapshot = 1 << 18
	maxDepth    = 4096
	pageSize    = 4096
	firstRead   = 2 * pageSize // bytes of a stack that are read at first
	deepRead    = 512 << 10    // bytes of a deep stack that are read at most
	chunkSize   = 4 << 20      // bytes that are read at a time
)

// bound replaces what is not set, and limits the rest.
func (o SnapshotOptions) bound() SnapshotOptions {
	o.Max = min(cmp.Or(max(o.Max, 0), maxWalk), maxSnapshot)
	o.Depth = min(cmp.Or(max(o.Depth, 0), 128), maxDepth)
	return o
}

// seen is what was read of a goroutine object. It did not run in between if that is the same in
// two readings: trackingSeq counts how often it has left a CPU, modulo 256.
type seen struct {
	id, status, tracking uint64
	list                 uint64 // address of the list of channels that it waits for, or 0
	functab.Start
	goroutine Goroutine
	known     bool // goroutine is what it was when this was read
	moved     bool
}

func (s *seen) same(t *seen) bool {
	return s.id == t.id && s.status == t.status && s.tracking == t.tracking && s.list == t.list && s.Start == t.Start
}

// snapshots is what is kept between snapshots.
type snapshots struct {
	array []uint64 // addresses of goroutine objects, in the runtime's order
	total int      // how many there are
	opts  SnapshotOptions
	order []int32 // indexes into array, by address
	last  []seen  // as array
	batch batch
	again batch
	pcs   []uint64

	links, channels []link // what is followed from goroutines

	objects objects
}

// Goroutines reads what all goroutines do, and their stacks. The process is neither stopped nor
// written to. The cost is about 0.3 microseconds for each goroutine, and 2 more if it ran since the
// last snapshot. The first call reads the table of functions of the binary.
//
// The error is [ErrGone], [ErrLayout] or of the kernel.
func (p *Process) Goroutines(o SnapshotOptions) (Snapshot, error) {
	began := time.Now()
	if p.snaps.objects = newObjects(p.layout, fieldNames[:]); !p.has(fieldNames[:fNeeded]...) || p.snaps.objects.size > maxSpan {
		return Snapshot{}, fmt.Errorf("read the goroutines: %w: runtime.g of %s lacks some of %v", ErrLayout, p.info.Version, fieldNames[:fNeeded])
	}
	syms, err := p.symbolize()
	if err != nil {
		return Snapshot{}, err
	}
	if syms.full() {
		syms.forget()
		clear(p.snaps.last)
	}
	o = o.bound()
	if err := p.listGoroutines(o); err != nil {
		return Snapshot{}, fmt.Errorf("list the goroutines: %w", layoutError(err))
	}
	k := &p.snaps
	s := Snapshot{Walked: len(k.array), All: k.total, Goroutines: make([]Goroutine, 0, len(k.array))}
	now := monotonic()
	for rest := k.order; len(rest) > 0; {
		n := p.fit(rest)
		if err := p.readChunk(&s, rest[:n], now); err != nil {
			return Snapshot{}, fmt.Errorf("read the goroutines: %w", layoutError(err))
		}
		rest = rest[n:]
	}
	s.At = time.Now()
	s.Took = s.At.Sub(began)
	return s, nil
}

// listGoroutines reads where the goroutines' objects are. An object is never freed, and the
// runtime's array only grows, so that only what is new is read.
func (p *Process) listGoroutines(o SnapshotOptions) error {
	k := &p.snaps
	total, at, err := p.allGoroutines()
	if err != nil {
		return err
	}
	if total == k.total && o == k.opts && k.array != nil {
		return nil
	}
	b := &k.batch
	b.reset()
	walked := min(total, o.Max)
	if walked == total && o.Max == k.opts.Max && len(k.array) == k.total && total > k.total {
		from := len(k.array)
		b.add(at+uint64(from)*8, 8*(total-from))
		if err := p.mem.read(b); err != nil {
			return err
		}
	} else {
		k.array, k.last = nil, nil
		row := walked
		if walked < total {
			row = min(block, walked)
		}
		for i := range walked / row {
			b.add(at+uint64(int64(total)*int64(i)/int64(walked/row))*8, 8*row)
		}
		if err := p.mem.read(b); err != nil {
			return err
		}
	}
	for i := 0; i < len(b.buf); i += 8 {
		k.array = append(k.array, b.uint(i, 8))
	}
	k.array = k.array[:min(len(k.array), walked)]
	k.last = append(k.last, make([]seen, len(k.array)-len(k.last))...)
	k.total, k.opts = total, o
	k.order = k.order[:0]
	for i := range k.array {
		k.order = append(k.order, int32(i))
	}
	slices.SortFunc(k.order, func(a, b int32) int { return cmp.Compare(k.array[a], k.array[b]) })
	return nil
}

// allGoroutines returns how many goroutine objects there are, and the address of the array of
// their addresses. Both belong together if they are the same twice.
func (p *Process) allGoroutines() (total int, array uint64, err error) {
	addr, ok := p.vars[varAllgs]
	if !ok {
		return 0, 0, fmt.Errorf("%w: %s was not found", ErrLayout, varAllgs)
	}
	b := &p.snaps.batch
	for range maxTries {
		n, at := uint64(total), array
		b.reset()
		b.add(addr, 16)
		if err := p.mem.read(b); err != nil {
			return 0, 0, err
		}
		array, total = b.uint(0, 8), int(b.uint(8, 8))
		if array == at && uint64(total) == n && total > 0 && total <= maxGoroutines {
			return total, array, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: the number of goroutines is %d", ErrLayout, total)
}

// fit returns how many of the next objects are read at a time.
func (p *Process) fit(order []int32) int {
	k, n, size := &p.snaps, 0, 0
	for n < len(order) && size < chunkSize {
		gap := uint64(maxGap)
		if n > 0 {
			gap = min(gap, k.array[order[n]]-k.array[order[n-1]])
		}
		size += int(gap) + maxGap
		n++
	}
	return n
}

// readChunk reads goroutines whose objects are near each other, and the stacks of those that
// have run since they were last seen.
func (p *Process) readChunk(s *Snapshot, order []int32, now int64) error {
	k := &p.snaps
	slots, err := p.readObjects(&k.batch, order)
	if err != nil {
		return err
	}
	var run []int32 // those to follow
	for i, at := range slots {
		o := p.object(&k.batch, at)
		last := &k.last[order[i]]
		is := o.seen()
		if last.known && is.same(last) {
			continue
		}
		*last = is
		if last.known = o.alive(); !last.known {
			continue
		}
		last.goroutine = o.goroutine()
		if last.Sound() && p.wants(last) {
			run = append(run, order[i])
		}
	}
	if err := p.follow(run); err != nil {
		return err
	}
	s.Reused -= len(run)
	first := len(s.Goroutines)
	var inC []int
	for i, at := range slots {
		last := &k.last[order[i]]
		if !last.known || !p.wants(last) {
			continue
		}
		g := last.goroutine
		g.Waiting = p.object(&k.batch, at).waiting(now)
		if g.State == "syscall" {
			inC = append(inC, at)
		}
		s.Goroutines = append(s.Goroutines, g)
		if last.moved {
			s.Moved++
			last.known, last.moved = false, false
		} else if last.Sound() {
			s.Reused++
		}
	}
	return p.markCgo(s.Goroutines[first:], inC)
}

// wants reports whether the snapshot has a goroutine that exists.
func (p *Process) wants(g *seen) bool { return p.snaps.opts.System || !g.goroutine.System }

func (p *Process) object(b *batch, at int) object {
	return object{p, b.buf[at : at+p.snaps.objects.size]}
}

// readObjects reads a part of each object, and returns where it is in the batch.
func (p *Process) readObjects(b *batch, order []int32) ([]int, error) {
	b.reset()
	slots := make([]int, len(order))
	for i, n := range order {
		slots[i] = b.add(p.snaps.array[n]+uint64(p.snaps.objects.from), p.snaps.objects.size)
	}
	return slots, p.mem.read(b)
}

// follow reads the stacks of some goroutines, and what they wait for, and then looks whether they
// have run meanwhile.
func (p *Process) follow(run []int32) error {
	k := &p.snaps
	const each = chunkSize / firstRead
	for part := range slices.Chunk(run, each) {
		if err := p.followSome(part); err != nil {
			return err
		}
		if err := p.findTimers(part); err != nil {
			return err
		}
		slots, err := p.readObjects(&k.again, part)
		if err != nil {
			return err
		}
		for i, at := range slots {
			is, last := p.object(&k.again, at).seen(), &k.last[part[i]]
			if !is.same(last) {
				last.goroutine.Stack, last.goroutine.Timed, last.moved = nil, false, true
			}
		}
	}
	return nil
}

// followSome reads stacks and follows them.
func (p *Process) followSome(part []int32) error {
	k := &p.snaps
	b := &k.again
	b.reset()
	slots := make([]int, len(part))
	for i, n := range part {
		last := &k.last[n]
		slots[i] = b.add(last.SP, int(min(last.Hi-last.SP, firstRead)))
	}
	whole := p.mem.read(b)
	if whole != nil && !errors.Is(whole, errAddress) {
		return whole
	}
	for i, n := range part {
		last := &k.last[n]
		size := int(min(last.Hi-last.SP, firstRead))
		mem := b.buf[slots[i] : slots[i]+size]
		if whole != nil { // the memory of one of them is gone: it is read alone
			if err := p.mem.one(mem, last.SP); errors.Is(err, errAddress) {
				continue
			} else if err != nil {
				return err
			}
		}
		pcs, cut, short := p.syms.unwind.Unwind(last.Start, mem, k.pcs[:0], k.opts.Depth)
		if short && uint64(size) < last.Hi-last.SP {
			more := make([]byte, min(last.Hi-last.SP, deepRead))
			if err := p.mem.one(more, last.SP); err == nil {
				pcs, cut, _ = p.syms.unwind.Unwind(last.Start, more, pcs[:0], k.opts.Depth)
			} else if !errors.Is(err, errAddress) {
				return err
			}
		}
		k.pcs = pcs
		last.goroutine.Stack = p.syms.stack(pcs, cut)
	}
	return nil
}

// markCgo finds which of the goroutines in system calls are in C. inC has where they are in the
// batch.
func (p *Process) markCgo(list []Goroutine, inC []int) error {
	if len(inC) == 0 || !p.has("g.m", "m.incgo") {
		return nil
	}
	k := &p.snaps
	incgo := p.layout["m.incgo"]
	b := &k.again
	b.reset()
	slots := make([]int, len(inC))
	for i, at := range inC {
		slots[i] = -1
		if addr := p.object(&k.batch, at).get(fThread); addr != 0 {
			slots[i] = b.add(addr+uint64(incgo.Offset), incgo.Size)
		}
	}
	if err := p.mem.read(b); err != nil {
		return retired(err) // a thread has ended
	}
	i := 0
	for n := range list {
		if list[n].State != "syscall" {
			continue
		}
		if slots[i] >= 0 {
			list[n].Cgo = b.uint(slots[i], incgo.Size) != 0
		}
		i++
	}
	return nil
}
