// The parts of the kernel's structures that the programs read. The loader finds the fields of
// the running kernel by its BTF (CO-RE), so neither order nor size matter here.
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define CORE __attribute__((preserve_access_index))

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

typedef struct { int counter; } CORE atomic_t;

struct signal_struct { atomic_t live; } CORE;

struct task_struct {
	int pid, tgid;
	unsigned int __state;
	int on_cpu;
	struct signal_struct *signal;
} CORE;

// Registers at the entry of a system call. After ___ a name is ignored by the loader.
struct pt_regs___x86 { unsigned long orig_ax, r10, r8; } CORE;
struct pt_regs___arm { unsigned long regs[31]; int syscallno; } CORE;
struct pt_regs;

struct in6_addr { u8 bytes[16]; } __attribute__((aligned(4)));

struct sock_common {
	u16 skc_family;
	u8 skc_state;
	u16 skc_num;   // local port
	u16 skc_dport; // remote port, big endian
	u32 skc_daddr;
	struct in6_addr skc_v6_daddr;
} CORE;

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
} CORE;

struct tcp_sock {
	u32 total_retrans;
	u32 snd_wnd;
	u32 lsndtime; // of the last segment with data, in jiffies
} CORE;

struct socket { struct sock *sk; } CORE;
struct file;
struct bpf_iter__task_file {
	struct task_struct *task;
	struct file *file;
} CORE;

enum {
	EAGAIN = 11,
	EINPROGRESS = 115,
	AF_INET = 2,
	AF_INET6 = 10,
	IPPROTO_TCP = 6,
	IPPROTO_UDP = 17,
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
	MSG_PEEK = 2,
};
