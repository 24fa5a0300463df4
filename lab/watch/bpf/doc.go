// Package bpf reads figures of a process that only the kernel's own events have, with eBPF:
// system calls, waits of threads, TCP peers and where the kernel spends CPU time.
//
//	tracepoints ──▶ programs (filter by process) ──▶ counters of each CPU ──▶ Counts ──▶ Sampler
//	CPU clock   ──▶ stacks of the kernel ──▶ ring ──▶ parts ───────────────────▲
//
// [Open] loads the programs. They count from then on until the [Sampler] is closed, or the
// process of redline ends: nothing is pinned. A [Sampler] sets the figures of a watch.
// [Sampler.Counts] has the same and more as a structure; [Counts.Sub] makes a window of two.
//
// Counts of calls, bytes and errors are exact. The CPU time within system calls is an estimate
// when there are many: one of so many calls is timed. The time that a thread spends in a call
// without a CPU is exact, and counts when the thread runs again.
package bpf
