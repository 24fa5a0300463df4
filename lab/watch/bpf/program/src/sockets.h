// TCP and UDP sockets: a socket belongs to the process that opens the connection, or else to the
// first one that sends or receives on it.
#pragma once

#include "state.h"

struct peer_key {
	u8 addr[16];
	u16 port, proto;
};

struct peer {
	u64 connects, established, refused, connect_ns;
	u64 sends, send_bytes, receives, receive_bytes;
	u64 waits, wait_ns, retransmits, resets;
	u32 wait[TICKS], connect[TICKS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct peer_key);
	__type(value, struct peer);
} peers SEC(".maps");

// An empty peer: it is too large for the stack of a program.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct peer);
} blank SEC(".maps");

// Ports on which somebody listens: connections of these were not opened by the process.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u16);
	__type(value, u8);
} ports SEC(".maps");

struct conn {
	u64 began; // to connect
	u64 sent;  // last byte, which was not answered yet
	u64 ready; // first byte that was not read yet
	u32 window; // to which sent, ready and asked belong
	u32 retransmits;
	u8 outgoing;
	u8 accepted; // or it listens
	u8 asked;    // data came, and nothing was sent since
	u8 pad;
	struct peer_key key;
};

// A connection that is accepted gets a copy of what is known of the socket that listens. So the
// kernel knows whose it is before the process touches it.
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct conn);
} conns SEC(".maps");

static __always_inline struct peer *peer(struct conn *conn)
{
	struct peer *p = bpf_map_lookup_elem(&peers, &conn->key), *empty;
	struct totals *c;
	u32 zero = 0;

	if (p || !(empty = bpf_map_lookup_elem(&blank, &zero)))
		return p;
	bpf_map_update_elem(&peers, &conn->key, empty, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&peers, &conn->key);
	if (!p && (c = here()))
		c->lost_peers++;
	return p;
}

static __always_inline u32 retransmitted(struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;
	u32 n = 0;

	bpf_core_read(&n, sizeof(n), &tp->total_retrans);
	return n;
}

static __always_inline void name(struct sock *sk, struct conn *conn)
{
	conn->key.proto = sk->sk_protocol;
	conn->key.port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (sk->__sk_common.skc_family == AF_INET) {
		conn->key.addr[10] = 0xff;
		conn->key.addr[11] = 0xff;
		__builtin_memcpy(conn->key.addr + 12, &(u32){sk->__sk_common.skc_daddr}, 4);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) { // CONFIG_IPV6
		bpf_core_read(conn->key.addr, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

static __always_inline void lost(void)
{
	struct totals *c = here();

	if (c)
		c->lost_sockets++;
}

// listens marks a socket whose connections will be accepted.
static __always_inline void listens(struct sock *sk)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (conn)
		conn->accepted = 1;
	else
		lost();
}

// touch returns what is known of a socket of the process that runs.
static __always_inline struct conn *touch(struct sock *sk, bool begins)
{
	struct conn *conn = bpf_sk_storage_get(&conns, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	u16 local;

	if (!conn) {
		lost();
		return conn;
	}
	if (conn->key.proto && !begins)
		return conn;
	if (sk->sk_protocol == IPPROTO_TCP && !conn->accepted)
		conn->retransmits = retransmitted(sk);
	local = sk->__sk_common.skc_num;
	conn->outgoing = sk->__sk_common.skc_dport && !conn->accepted && (begins || !bpf_map_lookup_elem(&ports, &local));
	name(sk, conn);
	// A UDP socket gets its address later than its first datagram, or has none.
	if (!sk->__sk_common.skc_dport)
		conn->key.proto = 0;
	return conn;
}

// seen returns what is known of a socket in a window, without what was before.
static __always_inline struct conn *seen(struct conn *conn, u32 now)
{
	if (conn && conn->window != now) {
		conn->sent = conn->ready = 0;
		conn->asked = 0;
		conn->window = now;
	}
	return conn;
}

#define LONG_AGO (1 << 20) // jiffies: an hour at 250 Hz

// sent returns when a socket last sent data, to a jiffy; 0: it did not, or long ago.
static __always_inline u64 sent(struct sock *sk, u64 now)
{
	struct tcp_sock *tp = (void *)sk;
	u32 last = 0, age;

	bpf_core_read(&last, sizeof(last), &tp->lsndtime);
	age = (u32)bpf_jiffies64() - last;
	return last && age < LONG_AGO ? now - age * jiffy : 0;
}

static __always_inline bool internet(struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family, proto = sk->sk_protocol;

	return (family == AF_INET || family == AF_INET6) && (proto == IPPROTO_TCP || proto == IPPROTO_UDP);
}

SEC("tp_btf/sock_send_length")
int sock_send(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int ret = ctx[1];
	u32 now = window;
	struct totals *c;
	struct conn *conn;
	struct peer *p;

	if (!now || !watched(bpf_get_current_task_btf()) || !internet(sk) || !(conn = seen(touch(sk, false), now)) || !(c = here()))
		return 0;
	if (sk->sk_protocol == IPPROTO_TCP) {
		if (ret > 0) {
			c->sends++;
			c->send_bytes += ret;
			if (conn->asked) {
				c->answers++;
				conn->asked = 0;
			}
		} else if (ret == -EAGAIN) {
			struct tcp_sock *tp = (void *)sk;
			u32 window = 1;

			bpf_core_read(&window, sizeof(window), &tp->snd_wnd);
			if (!window)
				c->shut++;
		}
	}
	if (ret <= 0 || !conn->outgoing)
		return 0;
	conn->sent = bpf_ktime_get_ns();
	if (conn->key.port == 53)
		c->queries++;
	if ((p = peer(conn))) {
		ADD(p->sends, 1);
		ADD(p->send_bytes, ret);
	}
	return 0;
}

static __always_inline void answered(struct conn *conn, struct peer *p, u64 now)
{
	// The answer began when it arrived, not when it was read.
	u64 ns, at = conn->ready > conn->sent ? conn->ready : now;

	if (!conn->sent)
		return;
	ns = at - conn->sent;
	conn->sent = 0;
	ADD(p->waits, 1);
	ADD(p->wait_ns, ns);
	ADD(p->wait[tick(ns)], 1);
}

SEC("tp_btf/sock_recv_length")
int sock_receive(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int ret = ctx[1], flags = ctx[2];
	u32 now = window;
	struct totals *c;
	struct conn *conn;
	struct peer *p;
	u64 at;

	if (ret < 0 || flags & MSG_PEEK || !now || !watched(bpf_get_current_task_btf()) || !internet(sk) ||
	    !(conn = seen(touch(sk, false), now)) || !(c = here()))
		return 0;
	if (!ret) {
		conn->ready = 0;
		return 0;
	}
	at = bpf_ktime_get_ns();
	if (sk->sk_protocol == IPPROTO_TCP) {
		c->receives++;
		c->receive_bytes += ret;
		conn->asked = !conn->outgoing;
	}
	if (conn->outgoing && (p = peer(conn))) {
		ADD(p->receives, 1);
		ADD(p->receive_bytes, ret);
		answered(conn, p, at);
	}
	if (conn->ready) {
		c->delayed[tick(at - conn->ready)]++;
		c->delayed_ns += at - conn->ready;
		conn->ready = 0;
	}
	return 0;
}

SEC("tp_btf/sk_data_ready")
int sock_ready(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 now = window;
	struct conn *conn;
	bool before;

	if (!now || sk->__sk_common.skc_state == TCP_LISTEN || !(conn = bpf_sk_storage_get(&conns, sk, 0, 0)))
		return 0;
	before = conn->window != now;
	seen(conn, now);
	if (conn->ready)
		return 0;
	conn->ready = bpf_ktime_get_ns();
	// It may answer what was sent before the window.
	if (before && conn->outgoing && sk->sk_protocol == IPPROTO_TCP)
		conn->sent = sent(sk, conn->ready);
	return 0;
}

static __always_inline void connected(struct conn *conn, bool failed)
{
	struct peer *p = peer(conn);
	u64 ns = bpf_ktime_get_ns() - conn->began;

	conn->began = 0;
	if (!p)
		return;
	if (failed) {
		ADD(p->refused, 1);
		return;
	}
	ADD(p->established, 1);
	ADD(p->connect_ns, ns);
	ADD(p->connect[tick(ns)], 1);
}

SEC("tp_btf/inet_sock_set_state")
int sock_state(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int old = ctx[1], now = ctx[2];
	struct conn *conn;
	struct peer *p;

	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (now == TCP_SYN_SENT && watched(bpf_get_current_task_btf())) {
		if ((conn = touch(sk, true))) {
			conn->began = bpf_ktime_get_ns();
			seen(conn, window);
			if ((p = peer(conn)))
				ADD(p->connects, 1);
		}
	} else if (old == TCP_SYN_SENT) {
		conn = bpf_sk_storage_get(&conns, sk, 0, 0);
		if (conn && conn->began)
			connected(conn, now != TCP_ESTABLISHED);
	} else if (now == TCP_LISTEN && watched(bpf_get_current_task_btf())) {
		u16 local = sk->__sk_common.skc_num;
		u8 one = 1;

		bpf_map_update_elem(&ports, &local, &one, BPF_ANY);
		listens(sk);
	}
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int sock_retransmit(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct conn *conn = bpf_sk_storage_get(&conns, sk, 0, 0);
	struct totals *c;
	struct peer *p;
	u32 all, more;

	if (!conn || !(c = here()))
		return 0;
	all = retransmitted(sk);
	more = all - conn->retransmits;
	conn->retransmits = all;
	c->retransmits += more;
	if (conn->outgoing && (p = peer(conn)))
		ADD(p->retransmits, more);
	return 0;
}

SEC("tp_btf/tcp_send_reset")
int sock_reset(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct totals *c;

	if (sk && sk->__sk_common.skc_state != TCP_LISTEN && bpf_sk_storage_get(&conns, sk, 0, 0) && (c = here()))
		c->resets_sent++;
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int sock_was_reset(u64 *ctx)
{
	struct conn *conn = bpf_sk_storage_get(&conns, (void *)ctx[0], 0, 0);
	struct totals *c;
	struct peer *p;

	if (!conn || !(c = here()))
		return 0;
	c->resets_received++;
	if (conn->outgoing && (p = peer(conn)))
		ADD(p->resets, 1);
	return 0;
}

// The sockets that the process has already.
SEC("iter/task_file")
int sock_list(struct bpf_iter__task_file *ctx)
{
	struct task_struct *t = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;
	struct sock *sk;

	if (!t || !file || !watched(t) || !(socket = bpf_sock_from_file(file)))
		return 0;
	sk = socket->sk;
	if (!sk || !internet(sk))
		return 0;
	if (sk->__sk_common.skc_state == TCP_LISTEN)
		listens(sk);
	else
		touch(sk, false);
	return 0;
}
