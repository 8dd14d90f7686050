/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Shares by weight from one queue.
 * Rule.    A thread's virtual time grows by the CPU time that it receives, over its weight; the
 *          queue is in the order of virtual time, and a thread that slept comes back at most a
 *          slice behind. The kernel's example scx_simple, with slice=20ms.
 * Why.     The thread that has received least for its weight is next, so all receive alike.
 * Figure.  docs/guide/your-own-policy.md.
 * Limits.  A slice is never cut short for a thread that wakes; groups mean nothing. scx_simple does
 *          not ask whether the thread whose slice has ended is still first (vtime_goes_on).
 */
#include "defaults.h"

#define VTIME_QUEUE 0
#define VTIME_NORMAL_WEIGHT 1024

struct rg_thread {
	u64 vtime;     /* in ns at nice 0 */
	u64 exec_seen; /* rg_exec_ns when it was last charged */
};
struct rg_shared {
	u64 now; /* the greatest virtual time at which a thread began to run */
};
RG_STATELESS(rg_process);
RG_STATELESS(rg_group);
RG_STATELESS(rg_cpu);
RG_STATELESS(rg_queue);
RG_STATELESS(rg_pool);
RG_STATELESS(rg_entry);

RG_CALLBACK s32 rg_init(void)
{
	return rg_queue_create(VTIME_QUEUE);
}

RG_CALLBACK s32 rg_init_thread(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();

	(void)group;
	if (!thread || !shared)
		return -12; /* ENOMEM */
	thread->vtime = shared->now;
	thread->exec_seen = rg_exec_ns(t);
	return 0;
}

/* A race between CPUs loses one step of a clock that the next one catches up. */
RG_INLINE void vtime_begins(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();

	if (thread && shared && shared->now < thread->vtime)
		shared->now = thread->vtime;
}

RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	bool idle = 0;
	s32 cpu = rg_default_cpu(t, prev_cpu, &idle);

	if (idle) {
		vtime_begins(t);
		rg_insert_local(t, rg_options()->slice_ns, 0);
	}
	return cpu;
}

RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();
	u64 slice_ns = rg_options()->slice_ns;
	u64 least;
	s32 idle;

	(void)flags;
	if (!thread || !shared || rg_is_percpu_kthread(t)) {
		rg_insert_local(t, slice_ns, RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	least = rg_less(shared->now, slice_ns);
	if (thread->vtime < least)
		thread->vtime = least;
	rg_insert_ordered(t, VTIME_QUEUE, slice_ns, thread->vtime);
	idle = rg_pick_idle(t);
	if (idle >= 0)
		rg_kick(idle, RG_KICK_IDLE);
}

RG_INLINE void vtime_charge(struct task_struct *t, struct rg_thread *thread)
{
	u64 exec_ns = rg_exec_ns(t);
	u64 ran = rg_less(exec_ns, thread->exec_seen);

	thread->vtime += rg_div(ran * VTIME_NORMAL_WEIGHT, rg_weight(t));
	thread->exec_seen = exec_ns;
}

/* Whether prev, which is in no queue now, goes before all waiting threads. */
RG_INLINE bool vtime_goes_on(struct task_struct *prev)
{
	struct task_struct *head = rg_queue_peek(VTIME_QUEUE);
	struct rg_thread *first = head ? rg_thread(head) : 0;
	struct rg_thread *thread = rg_thread(prev);

	if (!thread)
		return 0;
	vtime_charge(prev, thread);
	return !first || thread->vtime < first->vtime;
}

RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	bool runnable = prev && rg_is_runnable(prev);
	struct task_struct *t;

	(void)cpu;
	if (runnable && vtime_goes_on(prev)) {
		vtime_begins(prev);
		rg_set_slice(prev, rg_options()->slice_ns);
		return;
	}
	RG_VISIT(t, VTIME_QUEUE) {
		if (RG_MOVE(t)) {
			vtime_begins(t);
			return;
		}
	}
	if (runnable)
		rg_set_slice(prev, rg_options()->slice_ns);
}

RG_CALLBACK void rg_stopping(struct task_struct *t, bool runnable)
{
	struct rg_thread *thread = rg_thread(t);

	(void)runnable;
	if (thread)
		vtime_charge(t, thread);
}

RG_CALLBACK void rg_idle(s32 cpu)
{
	if (rg_queue_length(VTIME_QUEUE))
		rg_kick(cpu, RG_KICK_IDLE);
}

RG_WITHOUT(exit_thread)
RG_WITHOUT(tick)
RG_WITHOUT(yield)
RG_WITHOUT(groups)
