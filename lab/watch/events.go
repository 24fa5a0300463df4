package watch

import (
	"maps"
	"slices"
	"strings"
)

// The sources of the figures that only the kernel's events have.
const (
	ofCalls   = "eBPF: raw tracepoint sys_exit"
	ofThreads = "eBPF, sampled: sched_wakeup, sched_switch"
	ofSockets = "eBPF, sampled: sock_send_length, sock_recv_length"
	ofStates  = "eBPF: inet_sock_set_state"
)

// KernelEventFigures returns the figures that need eBPF, in the order of the tables. The caller
// owns the list.
func KernelEventFigures() []Figure { return append([]Figure{}, eventFigures...) }

// A figure with a name such as syscalls{call} is a family: the samples have its members, such as
// syscalls{read}.
var eventFigures = []Figure{
	{"syscalls_all", PerSecond, true, ofCalls, "system calls that returned"},
	{"syscalls{call}", PerSecond, true, ofCalls, "system calls by name, those that are frequent; `other` is all that have no counter of their own"},
	{"syscall_errors", PerSecond, true, ofCalls, "system calls that failed, without EAGAIN"},
	{"syscall_again", PerSecond, true, ofCalls, "system calls that failed with EAGAIN"},
	{"syscall_time{call}", Share, true, "eBPF, sampled: sys_enter, sys_exit, sched_switch", "seconds each second in the call, summed over threads; a call counts when it returns"},
	{"syscall_bytes{call}", Bytes, false, ofCalls, "mean bytes of a read, write, send or receive that moved some"},
	{"blocked{call}", Share, true, ofThreads, "seconds each second that threads were blocked, by the call they were in; `none` is outside of calls, as for a page fault"},
	{"sched_wait", Share, true, ofThreads, "seconds each second that threads could run and waited for a CPU, summed over threads"},
	{"sched_wait_p50", Seconds, false, ofThreads, "median time from runnable to running"},
	{"sched_wait_p99", Seconds, false, ofThreads, "99th percentile of the time from runnable to running"},
	{"epoll_waits", PerSecond, true, ofCalls, "waits on epoll"},
	{"epoll_events", Count, false, ofCalls, "mean events of a wait"},
	{"epoll_empty", Share, false, ofCalls, "waits that returned no event: they timed out, or did not wait"},
	{"epoll_adds", PerSecond, true, ofCalls, "EPOLL_CTL_ADD"},
	{"epoll_mods", PerSecond, true, ofCalls, "EPOLL_CTL_MOD"},
	{"epoll_dels", PerSecond, true, ofCalls, "EPOLL_CTL_DEL"},
	{"epoll_balance", Count, false, ofCalls, "additions less removals since the watch began; a descriptor that is closed is removed without a call"},
	{"uring_enters", PerSecond, true, ofCalls, "io_uring_enter"},
	{"uring_submissions", PerSecond, true, ofCalls, "requests that io_uring_enter submitted; without those of SQPOLL"},
	{"uring_completions", PerSecond, true, "eBPF: io_uring_complete", "requests of io_uring that were completed"},
	{"tcp_sends", PerSecond, true, ofSockets, "sends that TCP sockets accepted, by whatever interface"},
	{"tcp_receives", PerSecond, true, ofSockets, "receives of TCP sockets that returned data"},
	{"tcp_send_bytes", Bytes, false, ofSockets, "mean bytes of a send"},
	{"tcp_receive_bytes", Bytes, false, ofSockets, "mean bytes of a receive"},
	{"tcp_unread_p50", Seconds, false, "eBPF, sampled: sk_data_ready, sock_recv_length", "median time for which data that had arrived waited to be read"},
	{"tcp_unread_p99", Seconds, false, "eBPF, sampled: sk_data_ready, sock_recv_length", "99th percentile of the same"},
	{"tcp_resends", PerSecond, true, "eBPF: tcp_retransmit_skb", "segments sent again, also by sockets that live for less than a sample"},
	{"tcp_resets_sent", PerSecond, true, "eBPF: tcp_send_reset", "connections that were reset from this side"},
	{"tcp_resets_received", PerSecond, true, "eBPF: tcp_receive_reset", "connections that the peer reset"},
	{"tcp_windows_closed", PerSecond, true, "eBPF, sampled: sock_send_length, snd_wnd", "sends that were refused while the peer accepted no more data"},
	{"accepts", PerSecond, true, ofCalls, "connections that accept or accept4 returned; not those of io_uring"},
	{"connects", PerSecond, true, ofStates, "TCP connections that the process began to open"},
	{"connects_failed", PerSecond, true, ofStates, "TCP connections that were not established"},
	{"connect_p50", Seconds, false, ofStates, "median time to establish a connection"},
	{"connect_p99", Seconds, false, ofStates, "99th percentile of the time to establish a connection"},
	{"dns_queries", PerSecond, true, ofSockets + "; sendto", "messages to port 53; most lookups of a name are two, for IPv4 and IPv6"},
	{"peer_connects{peer}", PerSecond, true, ofStates, "connections opened, by remote address"},
	{"peer_requests{peer}", PerSecond, true, ofSockets, "sends that were followed by data from the peer, by remote address of connections that the process opened"},
	{"peer_wait{peer}", Seconds, false, ofSockets + ", sk_data_ready", "mean time from the last byte sent to the first byte that arrived next"},
	{"peer_wait_p99{peer}", Seconds, false, ofSockets + ", sk_data_ready", "99th percentile of the same"},
	{"kernel_cpu{part}", Cores, true, "eBPF: CPU clock at 99 Hz, /proc/kallsyms", "CPU time in the kernel by part, an estimate from stacks"},
	{"requests", PerSecond, true, ofSockets + "; or a sampler that knows the server", "requests answered: sends that followed data from the client, on TCP connections that were accepted; several requests at once, by pipelining or HTTP/2, count as one"},
	{"bpf_observed", Share, false, "eBPF", "share of the time in which the sampled figures were counted; below 1 they are scaled"},
	{"bpf_lost", PerSecond, true, "eBPF", "events that could not be counted"},
}

// Member returns the name in samples of a member of a family: of syscalls{call} and read it is
// syscalls{read}.
func Member(family, member string) string {
	name, _, _ := strings.Cut(family, "{")
	return name + "{" + member + "}"
}

// Family divides a name with braces: of syscalls{call} or syscalls{read} it returns syscalls, and
// call or read. ok is false for any other name, which is returned.
func Family(name string) (family, member string, ok bool) {
	family, rest, _ := strings.Cut(name, "{")
	member, ok = strings.CutSuffix(rest, "}")
	return family, member, ok
}

// In returns the values of a figure in those of a sample, by the name of each. A family has one
// for each member, in the order of their names; any other figure has one or none.
func In[V any](f Figure, values map[string]V) (list []Named[V]) {
	family, _, ok := Family(f.Name)
	if !ok {
		if v, ok := values[f.Name]; ok {
			list = append(list, Named[V]{f.Name, "", v})
		}
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if other, member, ok := Family(name); ok && other == family {
			list = append(list, Named[V]{name, member, values[name]})
		}
	}
	return list
}

// Named is a value with the name of its figure and, in a family, that of the member.
type Named[V any] struct {
	Name, Member string
	Value        V
}
