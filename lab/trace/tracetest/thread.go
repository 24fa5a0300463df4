package tracetest

import "encoding/binary"

// Thread is a thread of the traced program. The zero of P and G is none: numbers begin with 1.
type Thread struct {
	w     *Writer
	id    uint64
	p, g  uint64
	data  []byte
	first uint64 // time of the batch
	last  uint64
}

// Thread returns a new thread on which P p runs, without a goroutine. Call it after Begin, before
// the events of other threads.
func (w *Writer) Thread(p uint64) *Thread {
	t := &Thread{w: w, id: uint64(len(w.threads) + 1), p: p}
	w.threads[t.id] = t
	t.announce()
	if len(w.threads) == 1 {
		for g := range w.waiting {
			t.event(w.now, evGoStatus, g, noThread, statusWaiting)
		}
	}
	return t
}

// announce writes the states of P and goroutine at the begin of a generation.
func (t *Thread) announce() {
	if t.p != 0 {
		t.event(t.w.now, evProcStatus, t.p, statusPRunning)
	}
	if t.g != 0 {
		t.event(t.w.now, evGoStatus, t.g, t.id, statusRunning)
	}
}

func (t *Thread) event(at uint64, typ byte, args ...uint64) {
	if len(t.data) > batchSize {
		t.flush()
	}
	if len(t.data) == 0 {
		t.first, t.last = at, at
	}
	t.data = binary.AppendUvarint(append(t.data, typ), at-t.last)
	for _, a := range args {
		t.data = binary.AppendUvarint(t.data, a)
	}
	t.last, t.w.now = at, max(at, t.w.now)
}

func (t *Thread) flush() {
	if len(t.data) > 0 {
		t.w.batch(t.id, t.first, t.data)
		t.data = t.data[:0]
	}
}

func next(seq map[uint64]uint64, id uint64) uint64 {
	seq[id]++
	return seq[id]
}

// Create makes the running goroutine, or the runtime, create goroutine g.
func (t *Thread) Create(at, g uint64, function string, creator ...string) {
	t.event(at, evCreate, g, t.w.stack([]string{function}), t.w.stack(creator))
}

// Start runs goroutine g.
func (t *Thread) Start(at, g uint64) {
	t.event(at, evStart, g, next(t.w.gSeq, g))
	t.g = g
}

// Block blocks the running goroutine.
func (t *Thread) Block(at uint64, reason string, stack ...string) {
	t.event(at, evBlock, t.w.text(reason), t.w.stack(stack))
	t.w.waiting[t.g] = true
	t.g = 0
}

// Stop makes the running goroutine runnable.
func (t *Thread) Stop(at uint64, reason string, stack ...string) {
	t.event(at, evStop, t.w.text(reason), t.w.stack(stack))
	t.g = 0
}

// Unblock makes goroutine g runnable.
func (t *Thread) Unblock(at, g uint64, stack ...string) {
	t.event(at, evUnblock, g, next(t.w.gSeq, g), t.w.stack(stack))
	delete(t.w.waiting, g)
}

// Destroy ends the running goroutine.
func (t *Thread) Destroy(at uint64) {
	t.event(at, evDestroy)
	t.g = 0
}

// Syscall makes the running goroutine enter a system call.
func (t *Thread) Syscall(at uint64, stack ...string) {
	t.event(at, evSyscall, next(t.w.pSeq, t.p), t.w.stack(stack))
}

// SyscallEnd ends a system call with its P.
func (t *Thread) SyscallEnd(at uint64) { t.event(at, evSyscallEnd) }

// SyscallLost ends a system call whose P was lost. The goroutine becomes runnable.
func (t *Thread) SyscallLost(at uint64) {
	t.event(at, evSyscallLost)
	t.g = 0
}

// Steal takes the P away from a thread in a system call.
func (t *Thread) Steal(at uint64, from *Thread) {
	t.event(at, evProcSteal, from.p, next(t.w.pSeq, from.p), from.id)
	t.w.idle[from.p] = true
	from.p = 0
}

// StartP starts an idle P on the thread.
func (t *Thread) StartP(at, p uint64) {
	t.event(at, evProcStart, p, next(t.w.pSeq, p))
	delete(t.w.idle, p)
	t.p = p
}

// StopP stops the P of the thread.
func (t *Thread) StopP(at uint64) {
	t.event(at, evProcStop)
	t.w.idle[t.p] = true
	t.p = 0
}

// GC begins, or ends, a mark phase.
func (t *Thread) GC(at uint64, begin bool) {
	t.w.gcSeq++
	if begin {
		t.event(at, evGCBegin, t.w.gcSeq, 0)
	} else {
		t.event(at, evGCEnd, t.w.gcSeq)
	}
}

// StopWorld begins a stop-the-world, and StartWorld ends it.
func (t *Thread) StopWorld(at uint64, reason string) { t.event(at, evSTWBegin, t.w.text(reason), 0) }

// StartWorld ends a stop-the-world.
func (t *Thread) StartWorld(at uint64) { t.event(at, evSTWEnd) }

// Assist begins a mark assist of the running goroutine; without a stack it ends it.
func (t *Thread) Assist(at uint64, stack ...string) {
	if len(stack) > 0 {
		t.event(at, evAssistBegin, t.w.stack(stack))
	} else {
		t.event(at, evAssistEnd)
	}
}

// Task begins a task of a parent, 0 for none.
func (t *Thread) Task(at, id, parent uint64, name string) {
	t.event(at, evTaskBegin, id, parent, t.w.text(name), 0)
}

// TaskEnd ends a task.
func (t *Thread) TaskEnd(at, id uint64) { t.event(at, evTaskEnd, id, 0) }

// Region begins a region of a task, 0 for none.
func (t *Thread) Region(at, task uint64, name string) {
	t.event(at, evRegionBegin, task, t.w.text(name), 0)
}

// RegionEnd ends a region.
func (t *Thread) RegionEnd(at, task uint64, name string) {
	t.event(at, evRegionEnd, task, t.w.text(name), 0)
}
