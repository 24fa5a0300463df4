package trace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

// maxReported limits the rows of a table in a report.
const maxReported = 100

// errFormat is the error of an input that is no trace.
var errFormat = errors.New("this is no execution trace of Go: it does not begin with \"go 1.N trace\"; take one with runtime/trace, /debug/pprof/trace?seconds=5 or redline trace --save")

// Options say how to read a trace.
type Options struct {
	// Memory limits what one generation of the trace may need, in bytes, as estimated; 0 is
	// [DefaultMemory].
	Memory int64
	// Handlers were seen while the trace was taken; nil: nobody looked.
	Handlers *Handlers
}

// Read reads a trace to its end, and reports what is in it. If the trace ends in an error after
// some events, because it is truncated or broken or needs too much memory, the report has what
// was before, and its Partial the reason. An error without a report is one of an input without an
// event. The end of ctx ends the reading with its error. Read never panics for any input.
func Read(ctx context.Context, r io.Reader, o Options) (*Report, error) {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	head := bufio.NewReaderSize(r, 64<<10)
	version, err := versionOf(head)
	if err != nil {
		return nil, err
	}
	f := newFence(head, o.Memory)
	a := newAnalysis(o.Handlers)
	err = a.read(ctx, f)
	switch {
	case err == nil:
	case f.cut:
		err = fmt.Errorf("%w: it ends within a batch after %d bytes; was the program ended before trace.Stop?", errEnd, f.bytes)
	case strings.Contains(err.Error(), "incomplete generation"):
		err = fmt.Errorf("%w: its last generation is incomplete after %d bytes; was the program ended before trace.Stop?", errEnd, f.bytes)
	case strings.Contains(err.Error(), "unsupported trace version"):
		err = fmt.Errorf("the trace has the format of Go %s, which is newer than this redline knows: update redline", version)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.events == 0 && err != nil:
		return nil, fmt.Errorf("read trace: %w", err)
	case a.events == 0:
		return nil, errEvents
	}
	rep := a.report()
	rep.Go, rep.Bytes = version, f.bytes
	if err != nil {
		rep.Partial = err.Error()
	}
	return rep, nil
}

// versionOf reads the header without consuming it.
func versionOf(r *bufio.Reader) (string, error) {
	head, err := r.Peek(headerLen)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return "", errors.New("the trace is empty: it has no bytes; was the program ended before trace.Stop?")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read trace: %w", err)
	}
	var minor int
	if n, _ := fmt.Sscanf(string(bytes.TrimRight(head, "\x00")), "go 1.%d trace", &minor); n != 1 || err != nil {
		return "", errFormat
	}
	if minor < 22 {
		return "", fmt.Errorf("the trace has the format of Go 1.%d: traces of programs built with Go 1.22 or newer are read; build the program with a newer Go", minor)
	}
	return fmt.Sprintf("1.%d", minor), nil
}

// read reads all events.
func (a *analysis) read(ctx context.Context, f *fence) (err error) {
	// The reader panics for some broken traces.
	defer func() {
		if p := recover(); p != nil {
			err = plain(fmt.Errorf("the trace is broken: %v", p))
		}
	}()
	r, err := xtrace.NewReader(f)
	if err != nil {
		return plain(err)
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return plain(err)
		}
		if err := a.event(&e); err != nil {
			return err
		}
	}
}

// plain shortens an error of the reader, which may contain the state of all goroutines.
func plain(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(strings.TrimSuffix(short(strings.TrimSpace(text)), ":"))
}

// report ends the window, and returns the report.
func (a *analysis) report() *Report {
	leaks := a.leaks()
	a.finish()
	all := int64(0)
	for kind := laneUser; kind < laneKinds; kind++ {
		all = sum(all, a.lanes.time[kind])
	}
	procs := a.gomaxprocs
	if procs == 0 {
		procs = len(a.lanes.byP)
	}
	capacity := int64(procs) * a.now
	a.calls.handoffs.Times, a.calls.handoffs.Lost = a.calls.times.result(), a.calls.lost.result()
	rep := &Report{
		Schema: Schema, Events: a.events, WindowNS: a.now, Procs: procs, Threads: len(a.threads), Goroutines: a.seen,
		Use: Use{
			UserNS: a.lanes.time[laneUser], GCNS: a.lanes.time[laneGC], SyscallNS: a.lanes.time[laneSyscall],
			SchedNS: a.lanes.time[laneSched], IdleNS: max(0, capacity-all),
		},
		Waits: []Wait{}, Handoffs: a.calls.handoffs, Syscalls: a.calls.result(), Blocks: a.blockResult(), GC: a.gc.result(capacity),
		Lives: a.lifeResult(), Leaks: leaks, Series: a.series(), Lanes: a.lanes.result(a.now), Dropped: []Dropped{},
	}
	for c := causeNetwork; c < causes; c++ {
		if s := &a.waits[c]; s.count > 0 {
			rep.Waits = append(rep.Waits, Wait{Cause: causeNames[c], Spread: s.result()})
		}
	}
	rep.Groups, rep.Slowest = a.spans.groupResult()
	for name, n := range map[string]uint64{
		"stacks": a.stacks.dropped, "system calls": a.calls.places.dropped, "blocking": a.blocks.dropped, "functions": a.lives.dropped,
		"assists": a.gc.assists.dropped, "pauses": a.gc.pauses.dropped, "requests": a.spans.groups.dropped, "nested tasks": a.spans.unnested,
	} {
		if n > 0 {
			rep.Dropped = append(rep.Dropped, Dropped{name, n})
		}
	}
	return rep
}

// finish accounts for what goes on at the end of the window.
func (a *analysis) finish() {
	for _, g := range a.goroutines {
		ns := a.now - g.since
		a.spend(g, ns, nil)
		if g.state == xtrace.GoRunnable {
			a.waited(g.cause, ns)
		}
		g.since = a.now
		if g.root == "" {
			a.register(g)
		}
	}
	a.finishSpans()
	a.gc.finish(a.now, a.goroutines)
	for _, n := range a.lanes.byP {
		a.lanes.settle(n, a.now)
	}
	for _, l := range []*level{&a.ready, &a.outside, &a.active, &a.alive} {
		l.settle(a.now)
	}
	a.grid.reach(a.now)
}

// series returns the report's figures over time.
func (a *analysis) series() Series {
	s := Series{
		StepNS: a.grid.step, User: a.lanes.total[laneUser].means(a.now), GC: a.lanes.total[laneGC].means(a.now),
		Syscall: a.lanes.total[laneSyscall].means(a.now), Runnable: a.ready.row.means(a.now),
		Threads: a.outside.row.means(a.now), Goroutines: a.alive.row.means(a.now),
	}
	n := a.grid.used(a.now)
	s.MaxReady = a.ready.peak.values[:n]
	s.Heap = a.heap.values[:n]
	for i, active := range a.active.row.means(a.now) {
		s.Threads[i] += active
	}
	return s
}
