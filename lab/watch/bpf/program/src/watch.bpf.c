// The programs of redline watch. `make bpf` compiles them; docs/adr/0047-ebpf.md explains them.
#include "sched.h"
#include "sockets.h"

// Where the kernel spends CPU time for the process: stacks at the ticks of a clock.
struct stack {
	s64 bytes;
	u64 ips[DEPTH]; // innermost first
};

// The loader sets the size by the number of CPUs.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} stacks SEC(".maps");

SEC("perf_event")
int clock(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct totals *c;
	struct stack *s;
	long nr;

	if (!watched(t) || !(c = here()))
		return 0;
	s = bpf_ringbuf_reserve(&stacks, sizeof(*s), 0);
	if (!s) {
		c->lost_stacks++;
		return 0;
	}
	s->bytes = bpf_get_stack(ctx, s->ips, sizeof(s->ips), 0);
	if (s->bytes <= 0) { // it was in user mode
		c->user_samples++;
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	nr = number((void *)bpf_task_pt_regs(t));
	if (nr >= 0)
		c->calls[slot(nr)].ticks++;
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

char terms[] SEC("license") = "GPL";

// The sources that this object was made from.
const char made_from[] __attribute__((section("source"), used)) = SOURCE;
