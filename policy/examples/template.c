/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A policy: one queue for the machine, and the longest waiter runs next. */
#include "defaults.h"

#define QUEUE 0

/* What the policy remembers hangs on threads, processes, groups, CPUs, queues, or is shared. */
struct rg_thread {
	u64 waits_since;
};
RG_STATELESS(rg_process);
RG_STATELESS(rg_group);
RG_STATELESS(rg_cpu);
RG_STATELESS(rg_queue);
RG_STATELESS(rg_pool);
RG_STATELESS(rg_entry);
RG_STATELESS(rg_shared);

/* Once, before all others. */
RG_CALLBACK s32 rg_init(void)
{
	return rg_queue_create(QUEUE);
}

/* A thread wakes: on an idle CPU, if there is one, it runs at once. */
RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	bool idle = 0;
	s32 cpu = rg_default_cpu(t, prev_cpu, &idle);

	if (idle)
		rg_insert_local(t, rg_options()->slice_ns, 0);
	return cpu;
}

/* It must wait: by ascending key. Another key is another scheduler. */
RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	s32 idle;

	if (!thread || rg_is_percpu_kthread(t)) {
		rg_insert_local(t, rg_options()->slice_ns, RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	if (flags & RG_ENQUEUE_WAKEUP || !thread->waits_since)
		thread->waits_since = rg_now();
	rg_insert_ordered(t, QUEUE, rg_options()->slice_ns, thread->waits_since);
	idle = rg_pick_idle(t);
	if (idle >= 0)
		rg_kick(idle, RG_KICK_IDLE);
}

/* A CPU has nothing to run: the first that may run there. */
RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	struct task_struct *t;

	(void)cpu;
	(void)prev;
	RG_VISIT(t, QUEUE) {
		if (RG_MOVE(t))
			break;
	}
}

/* It ceases to run, and has had its turn. */
RG_CALLBACK void rg_stopping(struct task_struct *t, bool runnable)
{
	struct rg_thread *thread = rg_thread(t);

	if (thread && runnable)
		thread->waits_since = rg_now();
}

/* What it does without does nothing. */
RG_WITHOUT(init_thread)
RG_WITHOUT(exit_thread)
RG_WITHOUT(tick)
RG_WITHOUT(yield)
RG_WITHOUT(idle)
RG_WITHOUT(groups)
