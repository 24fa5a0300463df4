// Threads: how long they wait for a CPU, and where they block. And which processes there are.
#pragma once

#include "calls.h"

// place returns the call in which a thread left the CPU; the last place is that of no call.
static __always_inline u32 place(struct task_struct *t)
{
	long nr = number((void *)bpf_task_pt_regs(t));

	return nr < 0 ? SLOTS - 1 : slot(nr);
}

static __always_inline void woken(struct task_struct *t, bool created)
{
	u32 now = window;
	struct thread *th;
	struct totals *c;
	bool fresh;
	u64 at;

	if (!now || !watched(t) || !(th = thread(t, now, &fresh)) || !(c = here()))
		return;
	if (fresh && !created && !(bpf_core_field_exists(t->on_cpu) && t->on_cpu)) { // it was blocked when the window began
		th->out = opened;
		th->blocked = 1;
		th->slot = place(t);
	}
	at = bpf_ktime_get_ns();
	th->queued = at;
	if (th->blocked) {
		c->calls[th->slot & (SLOTS - 1)].blocked_ns += at - th->out;
		th->blocked = 0;
	}
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	woken((void *)ctx[0], false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	woken((void *)ctx[0], true);
	return 0;
}

static __always_inline void left(struct totals *c, struct task_struct *t, bool preempted, u32 now, u64 at)
{
	bool fresh;
	struct thread *th = thread(t, now, &fresh);

	if (!th)
		return;
	th->out = at;
	th->slot = place(t);
	if (preempted || !t->__state) {
		c->involuntary++;
		th->queued = at;
		th->blocked = 0;
	} else {
		c->voluntary++;
		th->queued = 0;
		th->blocked = 1;
	}
}

static __always_inline void came(struct totals *c, struct task_struct *t, u32 now, u64 at)
{
	bool fresh;
	struct thread *th = thread(t, now, &fresh);
	struct call *call;

	if (!th)
		return;
	if (fresh) { // it could run when the window began, nobody knows since when
		th->out = opened;
		th->slot = place(t);
	}
	if (th->queued) {
		u64 ns = at - th->queued;

		c->waited[tick(ns)]++;
		c->waited_ns += ns;
		th->queued = 0;
	}
	if (th->out) {
		u64 ns = at - th->out;

		th->off += ns;
		call = &c->calls[th->slot & (SLOTS - 1)];
		call->off_ns += ns;
		if (th->blocked)
			call->blocked_ns += ns;
		th->out = 0;
		th->blocked = 0;
	}
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool from = watched(prev), to = watched(next);
	u32 now = window;
	struct totals *c;
	u64 at;

	if ((!from && !to) || !now || !(c = here()))
		return 0;
	at = bpf_ktime_get_ns();
	if (from)
		left(c, prev, ctx[0], now, at);
	if (to)
		came(c, next, now, at);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int sched_process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = child->tgid;
	struct totals *c;
	u8 one = 1;

	if (tree && watched(parent) && tgid != (u32)parent->tgid &&
	    bpf_map_update_elem(&processes, &tgid, &one, BPF_ANY) && (c = here()))
		c->lost_threads++;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 tgid = t->tgid;

	// The last thread: the number may be given to another process.
	if (tree && !t->signal->live.counter)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}
