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
// Counts of calls, their bytes and errors, of connections, resets and segments sent again are
// exact. Sends, receives, waits and times are exact too unless the processes are busy: then the
// programs that count them are attached for a window of each period, and the counts are scaled
// ([Counts.Scaled], [Options.Exact]). The time that a thread spends in a call counts when it ends.
package bpf
