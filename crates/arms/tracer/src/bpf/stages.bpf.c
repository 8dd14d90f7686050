/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The moments of a request in the kernel, T1 to T6 (Tales section 3.3.1), and the holders of the
 * CPUs meanwhile: every hook writes what it saw, and user space joins by byte offsets. Joining
 * here would cost each request a dozen lookups, a record costs tens of nanoseconds.
 *
 * Tracepoints with BTF wherever the kernel has them: they load where kprobes and fentry are
 * refused. In older kernels the functions that would call them are hooked (programs.rs chooses).
 */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "kept.h"
#include "packet.h"
#include "waking.h"

char _license[] SEC("license") = "GPL";

#define FAMILY_IPV4 2
#define FAMILY_IPV6 10
#define STATE_LISTEN 10
#define FLAG_PEEK 2

enum kind {
	ARRIVED = 1,	/* T1: a segment or datagram for the server is there */
	READY,		/* T2: the socket has data */
	READ,		/* T4: a read has returned */
	SENDS,		/* T5: a write has begun */
	TRANSMITTED,	/* T6: a segment or datagram goes out */
	BASE_IN,	/* the number of the first byte that the client sends */
	BASE_OUT,	/* the number of the first byte that the server sends */
	SWITCH,
	WAKE,
	BEGIN,		/* an interrupt or a softirq */
	END,
	NAMED,		/* a program begins (exec); its name is where a client would be */
	RENEWED,	/* a group has a quota again; where a client would be: CPUs where not */
};

enum interrupt {
	HARD,
	SOFT,
	TIMER,
};

/* What a hook saw. A connection is told by its client. */
struct seen {
	__u64 at_ns;
	__u16 kind;
	__u16 cpu;
	__u32 thread;
	__u32 address;
	__u16 port;
	__u16 protocol;
	__u32 number;	/* of the first byte after, or a count */
	__u32 detail;
};

#define PORTS 65536

/*
 * By port, the service that listens there, from 1 on; 0: none. And the CPUs whose scheduling is
 * wanted.
 */
const volatile __u8 services[PORTS];
const volatile __u8 traced_cpus[CPUS];

static __always_inline __u8 service_at(__u32 port)
{
	/* The compiler knows what older verifiers do not: that swapped bytes are two. */
	barrier_var(port);
	return services[port % PORTS];
}

/* A client's port, with the protocol and the service that it speaks to. */
static __always_inline __u32 client_of(__u32 port, __u32 protocol, __u8 service)
{
	return port | (protocol | (service - 1U) << 8) << 16;
}

/* Whose numbers of threads user space knows, by the namespace's inode; 0: the kernel's own. */
const volatile __u32 pid_namespace;

/* Set in the kernel's own number of a thread that has none in that namespace. */
#define OUTSIDE (1U << 31)

/* As deep as namespaces are searched; those of containers in containers are at 2. */
#define DEPTH 8

/* The thread that each CPU was last given to. */
__u32 holders[CPUS];

/* Records that found no room. */
__u64 lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} ring SEC(".maps");

/*
 * Room in the ring is taken under a lock and given with a header, so a CPU keeps a few records and
 * hands them over together: when they are as many as these, or the first of them is so old.
 */
#define KEPT 16
#define KEPT_NS 5000000

struct kept {
	__u32 taken;
	__u32 count;
	struct seen seen[KEPT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kept);
} kept SEC(".maps");

static __always_inline void hand_over(struct seen *seen, __u32 count)
{
	/* User space looks by itself: waking it would be work in the request's time. */
	if (bpf_ringbuf_output(&ring, seen, count * sizeof(*seen), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost, count);
}

static __always_inline void fill(struct seen *seen, enum kind kind, __u32 thread, __u32 address,
				 __u32 ports, __u32 number, __u32 detail)
{
	seen->at_ns = bpf_ktime_get_ns();
	seen->kind = kind;
	seen->cpu = bpf_get_smp_processor_id();
	seen->thread = thread;
	seen->address = address;
	seen->port = ports;
	seen->protocol = ports >> 16;
	seen->number = number;
	seen->detail = detail;
}

static __always_inline void tell(enum kind kind, __u32 thread, __u32 address, __u32 ports,
				 __u32 number, __u32 detail)
{
	__u32 zero = 0, count;
	struct kept *own = bpf_map_lookup_elem(&kept, &zero);
	struct seen alone, *seen;

	/* A hook that interrupts another one at its records leaves them alone. */
	if (!own || __sync_lock_test_and_set(&own->taken, 1)) {
		fill(&alone, kind, thread, address, ports, number, detail);
		hand_over(&alone, 1);
		return;
	}
	count = own->count % KEPT;
	seen = &own->seen[count];
	fill(seen, kind, thread, address, ports, number, detail);
	count++;
	if (count == KEPT || seen->at_ns - own->seen[0].at_ns > KEPT_NS) {
		hand_over(own->seen, count);
		count = 0;
	}
	own->count = count;
	barrier();
	own->taken = 0;
}

/* A thread's number where user space is; 0: it is dead and has none any more, or it is idle. */
static __always_inline __u32 number(const struct task_struct *task)
{
	struct pid *pid = task->thread_pid;

	if (!pid_namespace || !task->pid)
		return task->pid;
	if (!pid)
		return 0;
#pragma unroll
	for (int level = 1; level < DEPTH; level++) {
		if (level > pid->level)
			break;
		if (BPF_CORE_READ(pid, numbers[level].ns, ns.inum) == pid_namespace)
			return BPF_CORE_READ(pid, numbers[level].nr);
	}
	return OUTSIDE | task->pid;
}

static __always_inline __u32 current_number(void)
{
	return number(bpf_get_current_task_btf());
}

static __always_inline void arrives(struct sk_buff *skb)
{
	struct packet packet;
	__u32 ports;
	__u8 service;

	if (!read_packet(skb->data, skb->len, &packet))
		return;
	service = service_at(packet.destination);
	if (!service)
		return;
	ports = client_of(packet.source, packet.protocol, service);
	if (packet.begins)
		tell(BASE_IN, 0, packet.from, ports, packet.sequence + 1, 0);
	else if (packet.length)
		tell(ARRIVED, 0, packet.from, ports, packet.sequence + packet.length,
		     packet.length);
}

SEC("tp_btf/netif_rx")
int BPF_PROG(on_netif_rx, struct sk_buff *skb)
{
	arrives(skb);
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(on_gro_receive, struct sk_buff *skb)
{
	arrives(skb);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_transmit, struct sk_buff *skb)
{
	const void *begin = skb->head + skb->network_header;
	__u32 link = begin - (const void *)skb->data;
	struct packet packet;
	__u32 ports;
	__u8 service;

	if (!read_packet(begin, skb->len - link, &packet))
		return 0;
	service = service_at(packet.source);
	if (!service)
		return 0;
	ports = client_of(packet.destination, packet.protocol, service);
	if (packet.begins)
		tell(BASE_OUT, 0, packet.to, ports, packet.sequence + 1, 0);
	else if (packet.length)
		tell(TRANSMITTED, current_number(), packet.to, ports,
		     packet.sequence + packet.length, packet.length);
	return 0;
}

/* Whether a socket is the server's end of a connection, or its UDP socket; and whose. */
static __always_inline bool is_servers(const struct sock *sk, __u32 *address, __u32 *ports)
{
	const struct sock_common *common = &sk->__sk_common;
	__u8 service = service_at(common->skc_num);

	if (!service || common->skc_state == STATE_LISTEN)
		return false;
	if (common->skc_family == FAMILY_IPV4)
		*address = common->skc_daddr;
	else if (common->skc_family == FAMILY_IPV6)
		*address = folded_header(&common->skc_v6_daddr);
	else
		return false;
	*ports = client_of(bpf_ntohs(common->skc_dport), sk->sk_protocol, service);
	return true;
}

static __always_inline int has_data(struct sock *sk)
{
	__u32 address, ports;

	if (is_servers(sk, &address, &ports))
		tell(READY, 0, address, ports, BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt), 0);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, struct sock *sk)
{
	return has_data(sk);
}

/* Before Linux 6.3. */
SEC("fentry/sock_def_readable")
int BPF_PROG(on_readable, struct sock *sk)
{
	return has_data(sk);
}

static __always_inline int has_read(struct sock *sk, int ret, int flags)
{
	__u32 address, ports, copied;

	if (ret <= 0 || flags & FLAG_PEEK || !is_servers(sk, &address, &ports))
		return 0;
	copied = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
	tell(READ, current_number(), address, ports, copied, ret);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_read, struct sock *sk, int ret, int flags)
{
	return has_read(sk, ret, flags);
}

/* Before Linux 6.3. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(on_read_4, struct socket *sock, struct msghdr *msg, size_t size, int flags, int ret)
{
	return has_read(sock->sk, ret, flags);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(on_read_6, struct socket *sock, struct msghdr *msg, size_t size, int flags, int ret)
{
	return has_read(sock->sk, ret, flags);
}

static __always_inline int sends(struct sock *sk)
{
	__u32 address, ports, written;

	if (!is_servers(sk, &address, &ports))
		return 0;
	written = BPF_CORE_READ((struct tcp_sock *)sk, write_seq);
	tell(SENDS, current_number(), address, ports, written, 0);
	return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_send, struct sock *sk)
{
	return sends(sk);
}

/* Before Linux 6.15. */
SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(on_send_by_function, struct sock *sk)
{
	return sends(sk);
}

static __always_inline bool is_traced(__u32 cpu)
{
	return cpu < CPUS && traced_cpus[cpu];
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	bool blocks = !preempted && prev_state;
	__u32 cpu = bpf_get_smp_processor_id(), from, to, kept;

	if (!is_traced(cpu))
		return 0;
	from = number(prev);
	to = number(next);
	kept = kept_by(prev, blocks, prev_state);
	tell(SWITCH, to, from ?: holders[cpu % CPUS],
	     kept & IS_THROTTLED ? throttling_group(prev) : 0, kept,
	     blocks ? system_call(prev) : 0);
	holders[cpu % CPUS] = to;
	return 0;
}

#define IS_NEW 2U
#define IS_THREAD 4U /* of the process of its starter */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	note_waking(task->pid);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	__u32 target = task->thread_info.cpu, age_ns = 0, by;

	if (!is_traced(target))
		return 0;
	by = asked_by(task->pid, &age_ns);
	tell(WAKE, number(task), age_ns, by, target, throttled(task));
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	__u32 target = task->thread_info.cpu;
	__u32 how = IS_NEW | (task->pid == task->tgid ? 0 : IS_THREAD);

	/* Here the current thread is the one that started it. */
	if (is_traced(target))
		tell(WAKE, number(task), current_number(), 0, target, throttled(task) | how);
	return 0;
}

/* Processes that end at once are gone before user space can look them up. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u32 name[4];

	if (!bpf_probe_read_kernel(name, sizeof(name), task->comm))
		tell(NAMED, number(task), name[0], name[1], name[2], name[3]);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_renewal, struct hrtimer *timer)
{
	if (is_renewal(timer))
		note_renewal(timer);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_renewed, struct hrtimer *timer)
{
	__u64 held = 0;
	__u32 group;

	if (!is_renewal(timer))
		return 0;
	group = renewed_group(timer, &held);
	if (group)
		tell(RENEWED, 0, held, held >> 32, group, 0);
	return 0;
}

static __always_inline void interrupts(enum kind kind, __u32 vector, enum interrupt level)
{
	if (is_traced(bpf_get_smp_processor_id()))
		tell(kind, 0, 0, 0, vector, level);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	interrupts(BEGIN, vector, SOFT);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	interrupts(END, vector, SOFT);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq)
{
	interrupts(BEGIN, irq, HARD);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq)
{
	interrupts(END, irq, HARD);
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer_entry, int vector)
{
	interrupts(BEGIN, 0, TIMER);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_exit, int vector)
{
	interrupts(END, 0, TIMER);
	return 0;
}
