// System calls. All are counted when they return. They are timed by a second program, in windows.
#pragma once

#include "state.h"

static __always_inline long number(void *regs)
{
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm *arm = regs;

	if (bpf_core_field_exists(x86->orig_ax))
		return x86->orig_ax;
	return arm->syscallno;
}

// slot returns the place of a call; rt_sigreturn has restored registers without a number.
static __always_inline u32 slot(long nr)
{
	if (nr < 0)
		return returning & (SLOTS - 1);
	return nr < NUMBERS ? slots[nr] & (SLOTS - 1) : 0;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u32 now = window;
	struct thread *th;
	bool fresh;

	if (now && watched(t) && (th = thread(t, now, &fresh))) {
		th->off_then = th->off;
		th->entered = bpf_ktime_get_ns();
	}
	return 0;
}

static __always_inline void transferred(struct call *call, long ret)
{
	if (ret <= 0)
		return;
	call->bytes += ret;
	call->moved++;
}

// The second argument of epoll_ctl is the same register on both: rsi, x1.
struct pt_regs___x86_args { unsigned long si, di; } CORE;

static __always_inline void controlled(struct totals *c, void *regs)
{
	struct pt_regs___x86_args *x86 = regs;
	struct pt_regs___arm *arm = regs;
	u32 op = bpf_core_field_exists(x86->si) ? x86->si : arm->regs[1];

	if (op == 1)
		c->epoll_adds++;
	else if (op == 2)
		c->epoll_dels++;
	else if (op == 3)
		c->epoll_mods++;
}

// addressed counts a datagram to the port of DNS that names its address in the call.
static __always_inline void addressed(struct totals *c, void *regs)
{
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm *arm = regs;
	unsigned long at = bpf_core_field_exists(x86->r8) ? x86->r8 : arm->regs[4];
	struct { u16 family, port; } to = {};

	if (at && !bpf_probe_read_user(&to, sizeof(to), (void *)at) && to.port == bpf_htons(53) &&
	    (to.family == AF_INET || to.family == AF_INET6))
		c->lookups++;
}

static __always_inline void inspect(struct totals *c, struct call *call, void *regs, u8 kind, long ret)
{
	switch (kind) {
	case SENDTO:
		if (ret >= 0)
			addressed(c, regs);
	case TRANSFER:
		transferred(call, ret);
		break;
	case WAIT:
		if (ret > 0)
			c->epoll_events += ret;
		else if (!ret)
			c->epoll_empty++;
		break;
	case CONTROL:
		if (!ret)
			controlled(c, regs);
		break;
	case ENTER:
		if (ret > 0)
			c->submitted += ret;
		break;
	case ACCEPT:
		if (ret >= 0)
			c->accepts++;
	}
}

static __always_inline void failed(u32 key)
{
	u64 *n = bpf_map_lookup_elem(&failures, &key), none = 0;

	if (!n) {
		bpf_map_update_elem(&failures, &key, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&failures, &key);
	}
	if (n)
		ADD(*n, 1);
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[0];
	long ret = ctx[1], nr;
	u32 now, at;
	u8 kind;
	struct totals *c;
	struct thread *th;
	struct call *call;

	if (!watched(t) || !(c = here()))
		return 0;
	nr = number(regs);
	at = slot(nr);
	kind = nr >= 0 && nr < NUMBERS ? kinds[nr] : PLAIN;
	if (!ret && kind == CLONE)
		return 0; // the new thread or process returns from the call too
	call = &c->calls[at];
	call->calls++;
	if (ret == -EAGAIN || ret == -EINPROGRESS) {
		call->again++;
	} else if (ret < 0 && ret > -512 && nr >= 0) { // from -512 on: it was interrupted, and may begin again
		call->errors++;
		failed(at << 16 | (u32)-ret);
	}
	if (kind)
		inspect(c, call, regs, kind, ret);
	now = window;
	if (!now)
		return 0;
	th = bpf_task_storage_get(&threads, t, 0, 0);
	if (th && th->entered && th->window == now) {
		u64 took = bpf_ktime_get_ns() - th->entered, off = th->off - th->off_then;

		call->timed++;
		call->timed_ns += took > off ? took - off : 0;
		th->entered = 0;
	}
	return 0;
}

SEC("tp_btf/io_uring_complete")
int uring_complete(u64 *ctx)
{
	struct totals *c;

	if (watched(bpf_get_current_task_btf()) && (c = here()))
		c->completed++;
	return 0;
}
