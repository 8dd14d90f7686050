/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. What does the simplest scheduler that serves every CPU already give?
 * Rule.    One queue for the machine, first in, first out; a thread that finds an idle CPU runs
 *          there at once. The kernel's example scx_simple -f, with slice=20ms.
 * Why.     Nothing waits beside an idle CPU, and equal threads that spin are served alike.
 * Figure.  docs/guide/your-own-policy.md.
 * Limits.  A request waits behind everybody's slices; weights and groups mean nothing.
 */
#include "defaults.h"

#define FIFO_QUEUE 0

RG_STATELESS(rg_thread);
RG_STATELESS(rg_process);
RG_STATELESS(rg_group);
RG_STATELESS(rg_cpu);
RG_STATELESS(rg_queue);
RG_STATELESS(rg_pool);
RG_STATELESS(rg_entry);
RG_STATELESS(rg_shared);

RG_CALLBACK s32 rg_init(void)
{
	return rg_queue_create(FIFO_QUEUE);
}

RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	bool idle = 0;
	s32 cpu = rg_default_cpu(t, prev_cpu, &idle);

	if (idle)
		rg_insert_local(t, rg_options()->slice_ns, 0);
	return cpu;
}

/* Equal keys: first come, first served. */
RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	s32 idle;

	(void)flags;
	if (rg_is_percpu_kthread(t)) {
		rg_insert_local(t, rg_options()->slice_ns, RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	rg_insert_ordered(t, FIFO_QUEUE, rg_options()->slice_ns, 0);
	idle = rg_pick_idle(t);
	if (idle >= 0)
		rg_kick(idle, RG_KICK_IDLE);
}

RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	struct task_struct *t;

	(void)cpu;
	RG_VISIT(t, FIFO_QUEUE) {
		if (RG_MOVE(t))
			return;
	}
	if (prev && rg_is_runnable(prev))
		rg_set_slice(prev, rg_options()->slice_ns);
}

/* Who came after the CPU had looked did not see it idle. */
RG_CALLBACK void rg_idle(s32 cpu)
{
	if (rg_queue_length(FIFO_QUEUE))
		rg_kick(cpu, RG_KICK_IDLE);
}

RG_WITHOUT(init_thread)
RG_WITHOUT(exit_thread)
RG_WITHOUT(tick)
RG_WITHOUT(yield)
RG_WITHOUT(stopping)
RG_WITHOUT(groups)
