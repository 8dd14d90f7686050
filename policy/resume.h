/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that a quota holds (quota.h): how they leave the scheduler and come back.
 */
#ifndef RG_RESUME_H
#define RG_RESUME_H

#include "activate.h"

/* The thread is in no queue: it leaves the lists that say otherwise. */
RG_INLINE void rg_unlist(struct rg_thread *thread)
{
	if (RG_OPTION(quotas) && thread->held)
		rg_held_end(thread->slot);
	if (thread->waits)
		rg_index_leave(thread);
}

/* In enqueue: a group holds the thread, if one does. */
RG_INLINE bool rg_quota_holds(struct task_struct *t, struct rg_thread *thread)
{
	u32 holder = rg_held_by(t, thread);

	if (!holder || !rg_held_begin(thread->slot, holder))
		return 0;
	if (thread->counted) {
		rg_cut_off(thread, rg_account(t, thread));
		rg_withdraw(t, thread);
	}
	thread->queued_at = rg_now();
	rg_insert_ordered(t, RG_HELD(holder), RG_OPTION(slice_ns), rg_held_key(thread));
	return 1;
}

/* The account of prev, which may go on; 0: its group holds it, and it leaves the CPU. */
RG_INLINE struct rg_thread *rg_go_on(struct task_struct *prev, struct rg_thread *thread)
{
	u64 now;

	rg_charge(prev, thread);
	if (rg_held_by(prev, thread)) {
		rg_vacate(prev);
		return 0;
	}
	now = rg_now();
	rg_order_again(thread, now);
	rg_urgent_ask(thread, now);
	return thread;
}

/* The queue in which a thread waits, or shall wait, that is at a CPU. */
RG_INLINE u32 rg_queue_now(struct task_struct *t, struct rg_thread *thread, s32 at)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (thread->waits)
		return rg_number(thread->waits);
	return cpu ? rg_queue_for(t, cpu, at) : 0;
}

/*
 * The thread that was held waits in the queue of a CPU, which may idle. To be cut off is no sleep
 * for its burst, which does not drain meanwhile. One that was held when it woke had nothing to do
 * before: requests that queue up behind a quota are no batch work for that. The timer tells no CPUs
 * near: BPF that may sleep opens it, and must not read which CPUs a thread may use.
 */
RG_INLINE void rg_let_go(struct task_struct *t, struct rg_thread *thread, s32 at, u64 now)
{
	if (thread->ran_ns)
		thread->burst += rg_less(now, thread->queued_at);
	rg_activate_at(t, thread, at, now, 0);
	thread->queued_at = now;
	if (RG_OPTION(pick) != RG_PICK_CREDIT)
		rg_index_enter(thread, rg_queue_now(t, thread, at), rg_account(t, thread));
	rg_held_change(thread, RG_LETTING_GO, 0);
}

/* Wakes an idle CPU for a thread of a queue, which was held until now; -1: none. */
RG_INLINE void rg_resume_on(s32 idle, u32 id)
{
	struct rg_cpu *cpu = idle < 0 ? 0 : rg_cpu(idle);

	if (!cpu)
		return;
	cpu->resumed = 1;
	rg_wake_for(idle, rg_some(id));
}

/*
 * The CPU that was woken for a held thread may have taken another one. The first that waits in its
 * queue and has an idle CPU goes there.
 */
RG_SUBPROGRAM bool rg_resume_elsewhere(s32 at)
{
	u32 id = rg_queue_of(at);
	struct rg_cpu *cpu = rg_cpu(at);
	struct task_struct *t;
	s32 idle = rg_opaque(-1);

	if (!cpu || !cpu->resumed)
		return 0;
	cpu->resumed = 0;
	RG_VISIT(t, id) {
		idle = rg_pick_idle(t);
		if (idle >= 0)
			break;
	}
	rg_resume_on(idle, id);
	return 1;
}

#endif
