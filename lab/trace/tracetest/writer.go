// Package tracetest writes execution traces with chosen events and times, for tests. It writes the
// format of Go 1.26.
//
//	w := tracetest.New(out)
//	w.Begin(0)                      // a generation; what lives is announced in it
//	m := w.Thread(1)                // P 1 runs on it
//	m.Create(10, 7, "main.work")    // times are in nanoseconds
//	...
//	err := w.End()
//
// Events have to be written in the order of their times. A test that writes an impossible order
// gets a trace that readers refuse.
package tracetest

import (
	"encoding/binary"
	"io"
	"maps"
	"slices"
)

// Events of the format, as internal/trace/tracev2 of Go has them.
const (
	evBatch        = 1
	evStacks       = 2
	evStack        = 3
	evStrings      = 4
	evString       = 5
	evFrequency    = 8
	evProcStart    = 10
	evProcStop     = 11
	evProcSteal    = 12
	evProcStatus   = 13
	evCreate       = 14
	evStart        = 16
	evDestroy      = 17
	evStop         = 19
	evBlock        = 20
	evUnblock      = 21
	evSyscall      = 22
	evSyscallEnd   = 23
	evSyscallLost  = 24
	evGoStatus     = 25
	evSTWBegin     = 26
	evSTWEnd       = 27
	evGCBegin      = 29
	evGCEnd        = 30
	evAssistBegin  = 35
	evAssistEnd    = 36
	evTaskBegin    = 40
	evTaskEnd      = 41
	evRegionBegin  = 42
	evRegionEnd    = 43
	evSync         = 50
	evClock        = 51
	evEnd          = 52
	noThread       = ^uint64(0)
	batchSize      = 60 << 10
	statusRunning  = 2 // of a goroutine
	statusWaiting  = 4
	statusPRunning = 1 // of a P
	statusPIdle    = 2
)

// Monotonic is by how much the monotonic clock is ahead of that of the trace, in nanoseconds.
const Monotonic = 5_000_000

// Writer writes a trace.
type Writer struct {
	out     io.Writer
	err     error
	gen     uint64
	strings map[string]uint64
	stacks  map[string]uint64
	frames  map[uint64][]string
	threads map[uint64]*Thread
	pSeq    map[uint64]uint64
	gSeq    map[uint64]uint64
	gcSeq   uint64
	waiting map[uint64]bool // goroutines that live and wait
	idle    map[uint64]bool // Ps
	now     uint64
}

// New returns a writer, and writes the header. Errors of out are returned by [Writer.End].
func New(out io.Writer) *Writer {
	w := &Writer{
		out: out, threads: map[uint64]*Thread{}, pSeq: map[uint64]uint64{}, gSeq: map[uint64]uint64{},
		waiting: map[uint64]bool{}, idle: map[uint64]bool{},
	}
	w.raw([]byte("go 1.26 trace\x00\x00\x00"))
	return w
}

func (w *Writer) raw(p []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
}

// Begin begins a generation. Threads keep their P and their goroutine, and goroutines
// keep waiting.
func (w *Writer) Begin(at uint64) {
	if w.gen > 0 {
		w.finish()
	}
	w.gen++
	w.now = at
	w.strings, w.stacks, w.frames = map[string]uint64{}, map[string]uint64{}, map[uint64][]string{}
	clear(w.pSeq)
	clear(w.gSeq)
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		w.threads[id].announce()
	}
	if len(w.threads) > 0 {
		first := w.threads[slices.Min(slices.Collect(maps.Keys(w.threads)))]
		for _, p := range slices.Sorted(maps.Keys(w.idle)) {
			first.event(at, evProcStatus, p, statusPIdle)
		}
		for _, g := range slices.Sorted(maps.Keys(w.waiting)) {
			first.event(at, evGoStatus, g, noThread, statusWaiting)
		}
	}
}

// Waiting notes goroutines that lived before the trace, and wait. Call it before the first Begin
// that has a thread.
func (w *Writer) Waiting(goroutines ...uint64) {
	for _, g := range goroutines {
		w.waiting[g] = true
	}
}

// finish writes what is left of a generation.
func (w *Writer) finish() {
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		w.threads[id].flush()
	}
	sync := binary.AppendUvarint([]byte{evSync, evFrequency}, 1e9)
	sync = append(sync, evClock)
	for _, v := range []uint64{0, w.now + Monotonic, 1, 1} { // since the batch, monotonic, seconds and nanoseconds
		sync = binary.AppendUvarint(sync, v)
	}
	w.batch(noThread, w.now, sync)
	w.tables()
	w.raw([]byte{evEnd})
}

// tables writes stacks and strings.
func (w *Writer) tables() {
	stacks := []byte{evStacks}
	for _, key := range slices.Sorted(maps.Keys(w.stacks)) {
		id := w.stacks[key]
		stacks = binary.AppendUvarint(append(stacks, evStack), id)
		stacks = binary.AppendUvarint(stacks, uint64(len(w.frames[id])))
		for _, f := range w.frames[id] {
			name := w.text(f)
			for _, v := range []uint64{name, name, w.text("file.go"), 7} { // the id of the name is its pc, too
				stacks = binary.AppendUvarint(stacks, v)
			}
		}
	}
	w.batch(noThread, w.now, stacks)
	texts := []byte{evStrings}
	for _, s := range slices.Sorted(maps.Keys(w.strings)) {
		texts = binary.AppendUvarint(append(texts, evString), w.strings[s])
		texts = binary.AppendUvarint(texts, uint64(len(s)))
		texts = append(texts, s...)
	}
	w.batch(noThread, w.now, texts)
}

func (w *Writer) batch(thread, at uint64, data []byte) {
	head := []byte{evBatch}
	for _, v := range []uint64{w.gen, thread, at, uint64(len(data))} {
		head = binary.AppendUvarint(head, v)
	}
	w.raw(append(head, data...))
}

// text returns the id of a string.
func (w *Writer) text(s string) uint64 {
	if _, ok := w.strings[s]; !ok {
		w.strings[s] = uint64(len(w.strings) + 1)
	}
	return w.strings[s]
}

// stack returns the id of a stack: functions, the innermost first. None is no stack.
func (w *Writer) stack(functions []string) uint64 {
	if len(functions) == 0 {
		return 0
	}
	key := ""
	for _, f := range functions {
		key += f + "\n"
	}
	if _, ok := w.stacks[key]; !ok {
		id := uint64(len(w.stacks) + 1)
		w.stacks[key], w.frames[id] = id, functions
	}
	return w.stacks[key]
}

// End ends the trace. It returns the first error of the output.
func (w *Writer) End() error {
	if w.gen > 0 {
		w.finish()
	}
	return w.err
}
