package bpf

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Stacks of Linux 6.18, innermost function first.
func TestPart(t *testing.T) {
	for want, stacks := range map[string][]string{
		PartCopy:      {"rep_movs_alternative _copy_to_iter tcp_recvmsg_locked", "_copy_from_iter tcp_sendmsg_locked"},
		PartLocks:     {"__pv_queued_spin_lock_slowpath _raw_spin_lock_bh lock_sock_nested tcp_recvmsg", "futex_wake do_futex __x64_sys_futex", "wake_q_add_safe futex_wake"},
		PartSoftirq:   {"tcp_v4_rcv ip_local_deliver_finish net_rx_action handle_softirqs do_softirq.part.0 __dev_queue_xmit tcp_sendmsg", "kfree skb_release_data tcp_ack handle_softirqs"},
		PartNetwork:   {"__ip_queue_xmit __tcp_transmit_skb tcp_sendmsg", "_raw_spin_unlock_irqrestore __mod_timer sk_reset_timer tcp_write_xmit", "security_socket_recvmsg sock_recvmsg"},
		PartPoll:      {"ep_send_events do_epoll_wait __x64_sys_epoll_pwait do_syscall_64"},
		PartScheduler: {"finish_task_switch.isra.0 __schedule schedule futex_do_wait __futex_wait", "__schedule schedule schedule_hrtimeout_range_clock do_epoll_wait"},
		PartMemory:    {"kmem_cache_alloc_node_noprof __alloc_skb tcp_sendmsg_locked", "clear_page_erms get_page_from_freelist handle_mm_fault exc_page_fault"},
		PartFiles:     {"ext4_file_write_iter vfs_write ksys_write", "vfs_read ksys_read do_syscall_64"},
		PartWatch:     {"bpf_prog_3262c02482bc2103_sys_enter bpf_trace_run2 __bpf_trace_sys_enter syscall_trace_enter"},
		PartEntry:     {"entry_SYSCALL_64_after_hwframe", "x64_sys_call do_syscall_64", "blkcg_maybe_throttle_current exit_to_user_mode_loop do_syscall_64"},
		PartOther:     {"", "0x1234", "some_driver_poll"},
	} {
		for _, stack := range stacks {
			if got := Part(strings.Fields(stack)); got != want {
				t.Errorf("%s: %s, want %s", stack, got, want)
			}
		}
	}
}

func TestSymbols(t *testing.T) {
	s, err := readSymbols(strings.NewReader("ffffffff81000200 T tcp_sendmsg\nffffffff81000000 t entry_SYSCALL_64\nffffffff81000100 D some_data\nffffffffc0000000 t bpf_prog_1_x\t[bpf]\nnonsense\nzz T bad\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0: "", 0xffffffff81000000: "entry_SYSCALL_64", 0xffffffff81000150: "entry_SYSCALL_64", 0xffffffff81000200: "tcp_sendmsg", 0xffffffffffffffff: "bpf_prog_1_x",
	} {
		if got := s.name(addr); got != want {
			t.Errorf("%x: %q, want %q", addr, got, want)
		}
	}
	if part := s.part([]uint64{0xffffffff81000210, 0xffffffff81000010}); part != PartNetwork {
		t.Error(part)
	}
	for i := range uint64(3 * mostStacks) { // a cache that is full still answers
		if part := s.part([]uint64{0xffffffff81000210, i}); part != PartNetwork {
			t.Fatal(part)
		}
	}
	if len(s.parts) > mostStacks {
		t.Errorf("%d stacks are kept", len(s.parts))
	}
	for _, hidden := range []string{"", "0000000000000000 T tcp_sendmsg\n", "0000000000000000 t a\n"} {
		if _, err := readSymbols(strings.NewReader(hidden)); !errors.Is(err, errHidden) {
			t.Error(err)
		}
	}
	if _, err := readSymbols(strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("a line of a megabyte is accepted")
	}
}

// The tables of both architectures fit, and agree on the names.
func TestTable(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		table, err := newTable(arch)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for slot, name := range table.names {
			if name != "" && known[name] {
				t.Errorf("%s: %s is there twice", arch, name)
			}
			known[name] = true
			if name == "rt_sigreturn" && int(table.returning) != slot {
				t.Errorf("%s: rt_sigreturn is %d, not %d", arch, slot, table.returning)
			}
		}
		for name := range kindOf {
			if !known[name] && !(arch == "arm64" && (name == "epoll_wait" || name == "fork" || name == "vfork")) {
				t.Errorf("%s has no %s", arch, name)
			}
		}
		for _, name := range []string{"futex", "connect", "read", "epoll_pwait", Other, Outside} {
			if !known[name] {
				t.Errorf("%s has no %s", arch, name)
			}
		}
	}
	if _, err := newTable("mips"); err == nil || !strings.Contains(fmt.Sprint(err), "mips") {
		t.Error(err)
	}
}
