// Package gomem reads a Go runtime from the memory of a running process: figures (goroutines, Ps,
// run queues, threads, heap, goal and trigger of the garbage collector, cycles, pauses, GOGC and
// GOMEMLIMIT), the stacks of all goroutines, and the profiles of the heap, of blocking and of
// mutexes that the runtime keeps by itself. The process is any Go program on Linux. It needs no endpoint, no
// agent and no change. It is neither stopped nor written to: no ptrace, and only reads of
// /proc/PID/mem.
//
//	p, err := gomem.Open(pid)
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	for range ticks {
//		f, err := p.Read()
//		if errors.Is(err, gomem.ErrGone) {
//			return nil
//		}
//		...
//	}
//
// # Stacks and profiles
//
// [Process.Goroutines] reads what all goroutines do, with their stacks; [Wall] does so many times,
// and returns where goroutines have spent their time. [Process.Sites] reads where the program has
// allocated or waited, as the runtime records it; [Allocated] does so twice. All of them return
// profiles in the format of pprof, with the names that runtime/pprof uses, and all of them work in
// stripped binaries: names and lines are in the table of functions, which no flag removes.
//
// # What a binary has to contain
//
// Two things are needed: where the runtime's variables are, and where fields are in them.
//
//	binary               variables       fields
//	as `go build` does   symbol table    DWARF
//	-ldflags=-w          symbol table    table of versions
//	-ldflags="-s -w"     code            table of versions
//
// The table of versions (layouts.json) covers Go 1.22 to Go 1.27 on amd64 and arm64, without
// GOEXPERIMENT. A newer Go with DWARF works as long as the runtime keeps its names; what it no
// longer has is listed by [Process.Missing], and those figures are unknown. In a binary without
// symbols, the variables are found by decoding functions of the runtime that are known to use
// them; most of them must agree. PIE, cgo, external linking, deleted binaries and other mount
// namespaces make no difference. [Process.Info] says what was used.
//
// Before [Open] returns, the addresses are checked by what every runtime keeps true: each P
// knows its index, the collector has one of three phases, and so on. If that is not so, the
// error is [ErrLayout].
//
// # Who may read
//
// The kernel asks for the permission to trace the process (ptrace(2), PTRACE_MODE_ATTACH): the
// same user and a program that is not setuid, or CAP_SYS_PTRACE. With
// kernel.yama.ptrace_scope=1, which is the default of some distributions, only an ancestor of
// the process or root may. The error is [ErrPermission].
//
// # What a reading is worth
//
// The process continues while it is read, so that a reading is not one moment.
//
//   - A figure of one word is right at some time during the reading. All fixed figures are read
//     twice, and again if the upper half of a word has changed, or a cycle has begun or ended.
//   - Cycles, Forced, PauseTotal, LastGC, HeapMarked and CPU therefore belong to one cycle, unless
//     the process collects without a pause.
//   - Goroutines is calculated from several counters, as runtime.NumGoroutine does, and can be
//     off by those that start or end meanwhile. Ps, queues and timers are sums of the same kind.
//   - HeapGoal and HeapTrigger are calculated as the runtime does whenever it needs them.
//   - Stacks is wrong for the microseconds in which runtime.ReadMemStats or runtime/metrics runs
//     in the process.
//   - A goroutine and its stack in a [Snapshot] are of one moment: both are read again, and the
//     stack is dropped if the goroutine has run in between. Different goroutines are of different
//     moments. Goroutines that run have no stack: it is in the registers of a thread.
//   - Goroutine.Timed tells waits for timers from those for channels, as far as the runtime does
//     (Go 1.23). What a goroutine waits for is of the same moment as its stack.
//   - [Sites] of the heap are those of a complete cycle, as with runtime/pprof, and estimates from
//     samples.
//   - [States] are taken one after the other, at most once a second. Above 16,384 goroutines they
//     are a sample.
//
// # Limits
//
// Nothing that is read is followed without a bound: numbers of Ps, goroutines and bytes are
// limited, and an address that is not mapped is an error or an unknown figure. Stacks have at most
// 4096 functions, profiles of the runtime 131,072 sites. The parts of a binary that are read have
// limits ([ErrTooLarge]).
package gomem
