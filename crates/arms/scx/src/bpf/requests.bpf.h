/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Since when requests are at the machine, for order=arrival: loaded with it alone.
 *
 * A socket keeps when what nobody has read yet became readable. A thread has that moment when it is
 * woken for the socket, and when it reads from it, until it answers. What a thread sends to another
 * one of this machine, or wakes it for in any other way, has come when its own request came: once,
 * so that moments do not travel on through pipelines that never end. The lowest bit of a moment
 * says that it was handed on.
 *
 * An acceptor is woken for a connection, which is no request. A worker that reads requests and
 * waits for a lock meanwhile keeps the one that it has. Before a worker that reads none, and waits
 * for a lock, the thread that frees the lock seems to put its own request.
 */
#ifndef RG_REQUESTS_BPF_H
#define RG_REQUESTS_BPF_H

#include <bpf/bpf_endian.h>

#include "waker.bpf.h"

#define RG_FAMILY_UNIX 1
#define RG_FAMILY_IPV4 2
#define RG_FAMILY_IPV6 10
#define RG_STATE_LISTEN 10
#define RG_KIND_STREAM 1
#define RG_FLAG_PEEK 2
#define RG_LOOPBACK 127 /* the first byte of such an address */
#define RG_UNREAD 16    /* datagrams whose moments a socket keeps; later ones have the last's */

/* Whether the policy asks. */
const volatile bool rg_stamps = 0;

/* What nobody has read yet, oldest first from `first` on. */
struct rg_unread {
	u64 at[RG_UNREAD];
	u32 first;
	u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rg_unread);
} rg_unread_of SEC(".maps");

/* By slot, as of rg_request_at. */
u64 rg_requests[RG_THREADS] SEC(".bss.requests");

/*
 * For which moment a CPU's soft interrupt wakes threads now; 0: for none. No thread runs in its
 * midst, so what ends for a thread finds none here, on whichever CPU.
 */
struct rg_readable {
	u64 at __attribute__((aligned(64)));
};
struct rg_readable rg_readables[RG_MAX_CPUS] SEC(".bss.readables");

static __always_inline u64 *rg_request_of(u32 slot)
{
	return &rg_requests[rg_masked(slot, RG_THREADS)];
}

static __always_inline struct rg_readable *rg_readable_here(void)
{
	return &rg_readables[rg_masked(bpf_get_smp_processor_id(), RG_MAX_CPUS)];
}

RG_CALL u64 rg_request_at(u32 slot)
{
	return rg_stamps ? *rg_request_of(slot) : 0;
}

/* A request that a thread has by itself, as it is handed on; 0: it has none such. */
static __always_inline u64 rg_request_from(u32 slot)
{
	u64 at = slot ? *rg_request_of(slot) : 0;

	return at & 1 ? 0 : at | !!at;
}

static __always_inline bool rg_is_own_ipv4(u32 address)
{
	return (address & 0xff) == RG_LOOPBACK;
}

/* ::1, or 127.0.0.0/8 as IPv6 writes it. */
static __always_inline bool rg_is_own_ipv6(const u32 *words)
{
	if (words[0] || words[1])
		return false;
	return words[2] ? words[2] == bpf_htonl(0xffff) && rg_is_own_ipv4(words[3]) :
			  words[3] == bpf_htonl(1);
}

/* Whether a socket's other end is at this machine, and a thread's own time brings what it sends. */
static __always_inline bool rg_is_local(struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;

	if (common->skc_family == RG_FAMILY_IPV4)
		return rg_is_own_ipv4(common->skc_rcv_saddr) || rg_is_own_ipv4(common->skc_daddr);
	if (common->skc_family == RG_FAMILY_IPV6)
		return rg_is_own_ipv6(common->skc_v6_daddr.in6_u.u6_addr32);
	return common->skc_family == RG_FAMILY_UNIX;
}

/* The moment of what has just come to a socket. */
static __always_inline u64 rg_comes_at(struct sock *sk)
{
	struct task_struct *t = bpf_get_current_task_btf();
	u64 handed = rg_is_local(sk) && t->pid ? rg_request_from(rg_slot(t)) : 0;

	return handed ?: rg_now() & ~1ULL;
}

static __always_inline u64 rg_unread_push(struct rg_unread *unread, u64 at)
{
	u32 first = unread->first % RG_UNREAD;
	u32 count = unread->count;

	if (count < RG_UNREAD) {
		unread->at[(first + count) % RG_UNREAD] = at;
		unread->count = count + 1;
	}
	return unread->at[first];
}

/* A stream has no bounds: all that was there belongs to one request, until all is read. */
static __always_inline u64 rg_unread_pop(struct rg_unread *unread, struct sock *sk)
{
	u32 first = unread->first % RG_UNREAD;
	u32 count = unread->count;
	u64 at = count ? unread->at[first] : 0;

	if (sk->sk_type == RG_KIND_STREAM)
		unread->count = sk->sk_receive_queue.qlen ? count : 0;
	else if (count) {
		unread->first = (first + 1) % RG_UNREAD;
		unread->count = count - 1;
	}
	return at;
}

/* A stream's next bytes belong to the request that is there already. */
static __always_inline u64 rg_readable_since(struct sock *sk)
{
	struct rg_unread *unread;

	if (sk->__sk_common.skc_state == RG_STATE_LISTEN)
		return 0;
	unread = bpf_sk_storage_get(&rg_unread_of, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!unread)
		return 0;
	if (sk->sk_type == RG_KIND_STREAM && unread->count)
		return unread->at[unread->first % RG_UNREAD];
	return rg_unread_push(unread, rg_comes_at(sk));
}

/* Soft interrupts alone stay on their CPU meanwhile; for a thread rg_waker says what it has. */
static __always_inline bool rg_is_in_softirq(void)
{
#if defined(bpf_target_x86) || defined(bpf_target_arm64)
	u32 count = get_preempt_count();

	return count >> SOFTIRQ_SHIFT & 1 && !(count & (NMI_MASK | HARDIRQ_MASK));
#else
	return false;
#endif
}

SEC("?fentry/sock_def_readable")
int BPF_PROG(rearguard_readable, struct sock *sk)
{
	u64 at = rg_readable_since(sk);

	if (rg_is_in_softirq())
		rg_readable_here()->at = at;
	return 0;
}

SEC("?fexit/sock_def_readable")
int BPF_PROG(rearguard_was_readable, struct sock *sk)
{
	rg_readable_here()->at = 0;
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(rearguard_read, struct sock *sk, int ret, int flags)
{
	struct rg_unread *unread;
	u32 slot;
	u64 at;

	if (ret <= 0 || flags & RG_FLAG_PEEK)
		return 0;
	unread = bpf_sk_storage_get(&rg_unread_of, sk, 0, 0);
	slot = rg_slot(bpf_get_current_task_btf());
	at = unread ? rg_unread_pop(unread, sk) : 0;
	if (slot && at)
		*rg_request_of(slot) = at;
	return 0;
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(rearguard_sent, struct sock *sk, int ret, int flags)
{
	u32 slot = rg_slot(bpf_get_current_task_btf());

	if (slot && ret > 0)
		*rg_request_of(slot) = 0;
	return 0;
}

/* In select_cpu, and in enqueue where that was not asked: what the thread is woken for. */
static __always_inline void rg_request_wakes(struct task_struct *t)
{
	u64 readable = rg_is_in_softirq() ? rg_readable_here()->at : 0;
	u32 slot = rg_slot(t);
	u64 *own = rg_request_of(slot);

	if (!slot)
		return;
	if (readable)
		*own = readable;
	else if (!*own || *own & 1)
		*own = rg_request_from(rg_waker());
}

#endif
