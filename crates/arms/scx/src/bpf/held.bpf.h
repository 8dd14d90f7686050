/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are held for a quota: a dispatch queue for each group, and timers.
 *
 * A timer's callback runs in a soft interrupt, with no runqueue locked, beside any callback of the
 * threads that it looks at. The kernel checks every move under the queue's lock, so one of a thread
 * that has left meanwhile, or is not there yet, fails. Kernels from 7.1 on allow in a timer's
 * callback what the program may call that names it, and a move not in enqueue: so the programs that
 * make groups and queues name them.
 */
#ifndef RG_HELD_BPF_H
#define RG_HELD_BPF_H

#include "groups.bpf.h"

#define RG_CLOCK_MONOTONIC 1 /* CLOCK_MONOTONIC of linux/time.h: macros are not in BTF */
#define RG_EXITING 4         /* PF_EXITING of linux/sched.h */
#define RG_KILLED (1 << 8)   /* SIGKILL, in a set of signals */

/* Whether the policy keeps quotas: one in a file does not. */
const volatile bool rg_holds = 0;

struct rg_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RG_GROUPS);
	__type(key, u32);
	__type(value, struct rg_timer);
} rg_group_timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RG_MAX_CPUS);
	__type(key, u32);
	__type(value, struct rg_timer);
} rg_cpu_timers SEC(".maps");

#define RG_MOVE_TO(thread, queue, slice_ns, key)                                                \
	({                                                                                      \
		scx_bpf_dsq_move_set_slice(BPF_FOR_EACH_ITER, slice_ns);                        \
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, key);                             \
		scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, thread, queue, 0);                    \
	})

RG_CALL bool rg_is_ending(struct task_struct *t)
{
	return t->flags & RG_EXITING || t->pending.signal.sig[0] & RG_KILLED;
}

/* With ENQ_LAST the kernel enqueues a thread whose slice is over and dispatch has not renewed. */
RG_CALL void rg_vacate(struct task_struct *prev)
{
	scx_bpf_task_set_slice(prev, 0);
}

/*
 * At a moment, since kernels from 7.2 on (seen there) may start a timer well after they are asked,
 * where interrupts are off. They note the order in memory that they may not get.
 */
RG_CALL bool rg_group_timer(u32 group, u64 after_ns)
{
	struct rg_timer *timer = bpf_map_lookup_elem(&rg_group_timers, &group);

	return timer && !bpf_timer_start(&timer->timer, bpf_ktime_get_ns() + after_ns,
					 BPF_F_TIMER_ABS);
}

RG_CALL void rg_cpu_timer(s32 cpu, u64 after_ns)
{
	struct rg_timer *timer = bpf_map_lookup_elem(&rg_cpu_timers, &cpu);

	if (timer)
		bpf_timer_start(&timer->timer, bpf_ktime_get_ns() + after_ns,
				BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

/* Names what the timer calls. A row that had a group before has a timer. */
#define RG_TIMER_OPEN(timers, row, callback)                                                    \
	({                                                                                      \
		u32 rg_row = (row);                                                             \
		struct rg_timer *rg_timer = bpf_map_lookup_elem(&timers, &rg_row);              \
		s32 rg_error = -ENOENT;                                                         \
                                                                                                \
		if (rg_timer) {                                                                 \
			rg_error = bpf_timer_init(&rg_timer->timer, &timers,                    \
						  RG_CLOCK_MONOTONIC);                          \
			if (!rg_error || rg_error == -EBUSY)                                    \
				rg_error = bpf_timer_set_callback(&rg_timer->timer, callback);  \
		}                                                                               \
		rg_error;                                                                       \
	})

#endif
