/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Which thread is next, if all that is known of a thread is its credit?
 * Rule.    Three classes, in this order: BOOST (it has just woken, with credit), UNDER (it has
 *          credit), OVER (it has none). Inside a class first come, first served. A thread that has
 *          had a slice goes to the end (Xen's credit scheduler).
 * Why.     As Xen: credits say which threads may run, not which has received least.
 * Figure.  docs/reference/policies.md.
 * Limits.  Visits the whole queue unless a thread in it is boosted; Xen sorts it every 30 ms
 *          instead.
 */
#ifndef RG_PICK_CREDIT_H
#define RG_PICK_CREDIT_H

#include "../vruntime.h"

enum rg_class { RG_CLASS_NOBODY, RG_CLASS_OVER, RG_CLASS_UNDER, RG_CLASS_BOOST };

RG_INLINE u32 rg_class_of(struct task_struct *t, struct rg_thread *thread)
{
	rg_credits_settle(t);
	if (rg_credits_owes(thread))
		return RG_CLASS_OVER;
	return thread->boosted ? RG_CLASS_BOOST : RG_CLASS_UNDER;
}

/* Says of which class the thread is that a CPU runs. */
RG_INLINE void rg_class_set_curr(s32 at, struct task_struct *t, struct rg_thread *thread)
{
	struct rg_cpu *cpu = RG_OPTION(pick) == RG_PICK_CREDIT ? rg_cpu(at) : 0;

	if (!cpu)
		return;
	cpu->class = rg_class_of(t, thread);
}

/* The best class of a queue's threads that may run on the CPU, and the row of its first one. */
RG_INLINE u32 rg_class_best(s32 cpu, u32 id, u32 *first)
{
	u32 best = RG_CLASS_NOBODY;
	struct task_struct *t;

	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);
		u32 class = thread && rg_may_run_on(t, cpu) ? rg_class_of(t, thread) : 0;

		if (class <= best)
			continue;
		best = class;
		*first = rg_slot(t);
		if (best == RG_CLASS_BOOST)
			break;
	}
	return best;
}

/* Brings the first thread of a class above `above`. */
RG_SUBPROGRAM bool rg_pick_credit_above(s32 cpu, u32 id, u32 above)
{
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_thread *thread;
	u32 first = 0;
	u32 class = rg_class_best(cpu, id, &first);

	if (!here || class <= above || rg_move_thread(id, first) != RG_MOVED)
		return 0;
	thread = rg_thread_at(first);
	rg_queue_move(thread, rg_some(rg_queue_of(cpu)));
	rg_cpu_set_curr(here, thread, thread->account.vruntime, rg_now());
	here->class = class;
	return 1;
}

RG_INLINE bool rg_pick_credit(s32 cpu, u32 id, struct task_struct *prev)
{
	struct rg_thread *mine = prev ? rg_thread(prev) : 0;

	return rg_pick_credit_above(cpu, id, mine ? rg_class_of(prev, mine) - 1 : RG_CLASS_NOBODY);
}

/* A waking thread ends the slice of a lower class on its CPU. */
RG_INLINE s32 rg_preempt_victim_credit(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	struct rg_cpu *cpu = rg_cpu(home);

	return cpu && cpu->pool && cpu->class < rg_class_of(t, thread) ? home : -1;
}

#endif
