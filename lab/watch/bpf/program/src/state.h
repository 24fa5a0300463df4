// What the programs share: settings, maps, and the filter by process. The structures of the
// maps are those of values_linux.go.
#pragma once

#include "kernel.h"

#define SLOTS 128   // kinds of system calls
#define NUMBERS 512 // numbers of system calls
#define TICKS 112   // buckets of a distribution of times
#define DEPTH 64    // frames of a stack

// Settings, written before the programs are loaded.
const volatile u32 root;         // process to watch
const volatile bool tree;        // and its descendants
const volatile u8 slots[NUMBERS]; // system call to its place in calls; 0 for any other one
const volatile u8 kinds[NUMBERS]; // what to read of a system call
const volatile u8 returning;      // place of rt_sigreturn
const volatile u64 jiffy;         // ns

// The programs that cost much are attached for a time, the window, and see nothing else. These
// are set before they are attached.
volatile u32 window; // its number; 0: there is none
volatile u64 opened; // when it began

enum { PLAIN, TRANSFER, WAIT, CONTROL, ENTER, ACCEPT, SENDTO, CLONE };

struct call {
	u64 calls, errors, again;
	u64 moved, bytes;       // calls that moved some
	u64 timed, timed_ns;    // on a CPU, of the calls that were timed
	u64 off_ns, blocked_ns; // not on a CPU; the part of it until the thread could run
	u64 ticks;              // of the clock, in the call
};

// All counters of a CPU. Fields that interrupts change are not changed by programs that an
// interrupt can stop, so nothing is lost.
struct totals {
	struct call calls[SLOTS];
	u64 waited[TICKS];  // runnable, but not running
	u64 delayed[TICKS]; // data that had arrived, but was not read
	u64 waited_ns, voluntary, involuntary;
	u64 delayed_ns;
	u64 epoll_events, epoll_empty, epoll_adds, epoll_mods, epoll_dels;
	u64 submitted, completed;
	u64 sends, send_bytes, receives, receive_bytes;
	u64 retransmits, resets_sent, resets_received, shut;
	u64 accepts, lookups, queries, answers;
	u64 user_samples;
	u64 lost_threads, lost_sockets, lost_peers, lost_stacks;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct totals);
} totals SEC(".maps");

// Processes of a tree, by tgid.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} processes SEC(".maps");

// Calls that failed: those that found no place are in errors alone.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32); // place of the call << 16 | errno
	__type(value, u64);
} failures SEC(".maps");

struct thread {
	u64 entered;  // a call that is timed
	u64 off_then; // off when it began
	u64 off;      // time not on a CPU, total
	u64 out;      // when it left the CPU
	u64 queued;   // since when it waits for a CPU
	u32 slot;     // call in which it left the CPU
	u32 blocked;  // it left because it waited
	u32 window;   // to which all of this belongs
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline bool watched(struct task_struct *t)
{
	u32 tgid = t->tgid;

	if (tgid == root)
		return true;
	return tree && bpf_map_lookup_elem(&processes, &tgid);
}

static __always_inline struct totals *here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

// thread returns what is known of a thread in a window; fresh is set if that is nothing.
static __always_inline struct thread *thread(struct task_struct *t, u32 now, bool *fresh)
{
	struct thread *th = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct totals *c;

	*fresh = false;
	if (!th) {
		if ((c = here()))
			c->lost_threads++;
		return th;
	}
	if (th->window != now) {
		th->window = now;
		th->entered = th->out = th->queued = 0;
		th->blocked = 0;
		*fresh = true;
	}
	return th;
}

#define ADD(to, n) __sync_fetch_and_add(&(to), n)

static __always_inline u32 log2of(u64 v)
{
	u32 n = 0;

	if (v >> 32) { n += 32; v >>= 32; }
	if (v >> 16) { n += 16; v >>= 16; }
	if (v >> 8) { n += 8; v >>= 8; }
	if (v >> 4) { n += 4; v >>= 4; }
	if (v >> 2) { n += 2; v >>= 2; }
	return n + (v >> 1);
}

// tick returns the bucket of a time: four for each power of two from 1,024 ns on.
static __always_inline u32 tick(u64 ns)
{
	u32 log, i;

	if (ns < 1024)
		return 0;
	log = log2of(ns);
	i = 1 + (log - 10) * 4 + ((ns >> (log - 2)) & 3);
	return i < TICKS ? i : TICKS - 1;
}
