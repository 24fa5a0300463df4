// Threads: how long they wait for a CPU, and where they block. And which processes there are.
#pragma once

#include "calls.h"

static __always_inline void woken(struct task_struct *t)
{
	struct thread *th;
	struct totals *c;
	u64 now;

	if (!watched(t) || !(th = thread(t)) || !(c = here()))
		return;
	now = bpf_ktime_get_ns();
	th->queued = now;
	if (th->blocked) {
		c->calls[th->slot & (SLOTS - 1)].blocked_ns += now - th->out;
		th->blocked = 0;
	}
}

SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	woken((void *)ctx[0]);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	woken((void *)ctx[0]);
	return 0;
}

static __always_inline void left(struct totals *c, struct task_struct *t, bool preempted, u64 now)
{
	struct thread *th = thread(t);
	long nr;

	if (!th)
		return;
	nr = number((void *)bpf_task_pt_regs(t));
	th->out = now;
	th->slot = nr < 0 ? SLOTS - 1 : slot(nr); // the last place: in no call
	if (preempted || !t->__state) {
		c->involuntary++;
		th->queued = now;
		th->blocked = 0;
	} else {
		c->voluntary++;
		th->queued = 0;
		th->blocked = 1;
	}
}

static __always_inline void came(struct totals *c, struct task_struct *t, u64 now)
{
	struct thread *th = thread(t);
	struct call *call;

	if (!th)
		return;
	if (th->queued) {
		u64 ns = now - th->queued;

		c->waited[tick(ns)]++;
		c->waited_ns += ns;
		th->queued = 0;
	}
	if (th->out) {
		u64 ns = now - th->out;

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
	struct totals *c;
	u64 now;

	if ((!from && !to) || !(c = here()))
		return 0;
	now = bpf_ktime_get_ns();
	if (from)
		left(c, prev, ctx[0], now);
	if (to)
		came(c, next, now);
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
