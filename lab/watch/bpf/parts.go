package bpf

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The parts of the kernel, as in [Counts.KernelCPU].
const (
	PartCopy      = "copy"       // of bytes between kernel and process
	PartLocks     = "locks"      // futex, and waits for locks of the kernel
	PartSoftirq   = "softirq"    // mostly packets that arrive; over loopback, what was just sent
	PartNetwork   = "network"    // sockets, TCP, IP
	PartPoll      = "poll"       // epoll, poll, select
	PartScheduler = "scheduler"  // switches, wakeups, timers
	PartMemory    = "memory"     // page faults, allocation, mappings
	PartFiles     = "filesystem" // file systems, pipes, block devices
	PartWatch     = "watch"      // eBPF and its tracepoints: mostly the cost of the watch itself
	PartEntry     = "entry"      // entry to system calls and return from them
	PartOther     = "other"
)

// Parts returns all parts. The caller owns the list.
func Parts() []string {
	return []string{
		PartCopy, PartLocks, PartSoftirq, PartNetwork, PartPoll, PartScheduler, PartMemory, PartFiles, PartWatch, PartEntry, PartOther,
	}
}

// leaves are functions that decide by themselves where they are innermost.
var leaves = []rule{
	{PartCopy, "rep_movs copy_user copy_to_user _copy_to copy_from_user _copy_from copy_page_to copy_page_from __copy_skb copyin copyout csum_partial csum_and_copy memcpy __memcpy memmove __arch_copy"},
	{PartLocks, "native_queued_spin_lock_slowpath queued_spin_lock_slowpath __pv_queued_spin_lock_slowpath mutex_spin_on_owner osq_lock rwsem_spin_on_owner queued_read_lock_slowpath queued_write_lock_slowpath"},
}

// softirqs are functions below which everything is the work of a soft interrupt.
var softirqs = rule{PartSoftirq, "handle_softirqs __do_softirq do_softirq_own_stack"}

// rules are for all other stacks: the innermost function that has one decides.
var rules = []rule{
	{PartWatch, "bpf_ __bpf_ ___bpf trace_call_bpf syscall_trace_enter syscall_exit_work call_trace_sock rcu_read_unlock_trace"},
	{PartLocks, "futex_ do_futex __futex get_futex mutex_lock __mutex_ rwsem_ down_read down_write percpu_rwsem"},
	{PartPoll, "ep_ do_epoll __ep_ eventpoll do_sys_poll do_poll do_select core_sys_select eventfd_ tcp_poll sock_poll"},
	{PartNetwork, "tcp_ __tcp_ tcp4_ udp_ __udp_ udpv6_ ip_ __ip_ ip6_ ipv4_ ipv6_ inet_ inet6_ __inet sock_ __sock sk_ __sk_ skb_ __skb_ consume_skb kfree_skb __alloc_skb alloc_skb napi_ net_ __net dev_ __dev_ netif_ __netif loopback_ neigh_ nf_ fib_ fq_ qdisc_ __qdisc sch_direct unix_ __sys_send __sys_recv __sys_accept __sys_connect ____sys_ ___sys_ move_addr_ import_iovec bictcp_ cubictcp_ bbr_ validate_xmit eth_ virtnet_"},
	{PartMemory, "handle_mm_fault __handle_mm exc_page_fault do_user_addr asm_exc_page clear_page alloc_pages __alloc_pages get_page_from free_pages free_unref __free_ kmem_ kmalloc kfree __kmalloc slab_ ___slab __slab do_anonymous do_mmap mmap_ __mmap vm_mmap do_munmap __vm_munmap unmap_ zap_ tlb_ flush_tlb madvise_ do_madvise mprotect_ do_mprotect vma_ folio_ lru_ rmqueue refill_obj try_charge mem_cgroup obj_cgroup shrink_ do_brk __split_vma down_write_killable_nested"},
	{PartFiles, "ext4_ xfs_ btrfs_ vfs_ overlay ovl_ jbd2_ blk_ __blk submit_bio bio_ path_ link_path walk_component d_ __d_ lookup_ do_filp do_sys_open dput iput filemap_ generic_file file_update fsnotify pipe_ anon_pipe ksys_read ksys_write new_sync_ do_iter_ iter_file tmpfs shmem_ proc_ seq_ kernfs_ fuse_ filp_ __fput fput security_file rw_verify_area"},
	{PartScheduler, "schedule __schedule finish_task_switch pick_next pick_task pick_ dequeue_ enqueue_ try_to_wake ttwu_ wake_up __wake_up update_curr update_load select_task_rq check_preempt resched_ sched_ __sched update_rq set_next put_prev reweight place_entity psi_ hrtimer_ __hrtimer do_nanosleep timer_ tick_ load_balance sched_balance newidle native_smp_send_resched switch_mm switch_to __switch_to prepare_to_wait finish_wait do_wait autoremove_wake default_wake"},
	{PartEntry, "entry_SYSCALL do_syscall x64_sys syscall_ __x64_sys el0_ do_el0 invoke_syscall __arm64_sys exit_to_user __exit_to irqentry_ asm_sysvec ret_from_fork rseq_ __rseq do_signal arch_do_signal get_signal"},
}

// A rule names a part, and the beginnings of functions that belong to it.
type rule struct{ part, prefixes string }

func (r rule) has(function string) bool {
	for p := range strings.FieldsSeq(r.prefixes) {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// Part returns the part of the kernel of a stack, innermost function first.
//
//  1. The innermost function copies or spins: that is the part.
//  2. A soft interrupt is in the stack: softirq.
//  3. The innermost function that a rule knows.
func Part(stack []string) string {
	if len(stack) == 0 {
		return PartOther
	}
	for _, r := range leaves {
		if r.has(stack[0]) {
			return r.part
		}
	}
	if slices.ContainsFunc(stack, softirqs.has) {
		return PartSoftirq
	}
	for _, f := range stack {
		for _, r := range rules {
			if r.has(f) {
				return r.part
			}
		}
	}
	return PartOther
}

// symbols are the functions of the kernel in the order of their addresses.
type symbols struct {
	list  []symbol
	parts map[string]string // of stacks seen, by their functions
}

type symbol struct {
	addr uint64
	name string
}

// The limits of /proc/kallsyms: a kernel has some 200,000 functions.
const (
	mostSymbols    = 2 << 20
	mostSymbolText = 256 << 20
	mostStacks     = 1 << 14
)

var errHidden = errors.New("the addresses in /proc/kallsyms are hidden: write 0 or 1 to /proc/sys/kernel/kptr_restrict, and run as root")

// readSymbols reads /proc/kallsyms.
func readSymbols(r io.Reader) (*symbols, error) {
	s := &symbols{parts: map[string]string{}}
	in := bufio.NewScanner(io.LimitReader(r, mostSymbolText))
	for in.Scan() && len(s.list) < mostSymbols {
		line := in.Text()
		hex, rest, _ := strings.Cut(line, " ")
		kind, name, ok := strings.Cut(rest, " ")
		if !ok || kind != "t" && kind != "T" && kind != "w" && kind != "W" {
			continue
		}
		addr, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || addr == 0 {
			continue
		}
		name, _, _ = strings.Cut(name, "\t")
		s.list = append(s.list, symbol{addr, strings.Clone(name)})
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(s.list) == 0 {
		return nil, errHidden
	}
	slices.SortStableFunc(s.list, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	return s, nil
}

// name returns the function of an address; empty if it is before all of them.
func (s *symbols) name(addr uint64) string {
	i, found := slices.BinarySearchFunc(s.list, addr, func(one symbol, addr uint64) int { return cmp.Compare(one.addr, addr) })
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return s.list[i].name
}

// part returns the part of a stack of addresses.
func (s *symbols) part(addrs []uint64) string {
	names := make([]string, len(addrs))
	for i, a := range addrs {
		names[i] = s.name(a)
	}
	key := strings.Join(names, ";")
	part, ok := s.parts[key]
	if !ok {
		part = Part(names)
		if len(s.parts) < mostStacks {
			s.parts[key] = part
		}
	}
	return part
}
