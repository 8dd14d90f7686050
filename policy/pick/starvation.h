/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. One slice of a thread of the least weight is worth minutes of the greatest's: its
 *          vruntime leads so far that it would wait as long. The kernel ejects a policy that lets a
 *          runnable thread wait for 30 s. And a thread for which the index had no room must not
 *          depend on CPUs that fall idle.
 * Rule.    Every 16th choice looks at the head of the queue. A batch thread that has waited for 5
 *          s, or another that woke 10 s ago, goes first, for one slice. While threads are not in
 *          the index, every other choice is the head's if it is one of them.
 * Why.     The queue stands by arrival, so its head has waited longest.
 * Figure.  docs/reference/policies.md.
 * Limits.  With more than 1,250 spinning threads a CPU all wait so long, and weights give way to
 *          turns. Orders other than fcfs have other heads.
 */
#ifndef RG_PICK_STARVATION_H
#define RG_PICK_STARVATION_H

#include "../balance/utilisation.h"
#include "../index/choose.h"
#include "../order/order.h"
#include "../vruntime.h"

#define RG_STARVATION_NS 5000000000ULL
#define RG_STARVATION_CHOICES 16

/* Whether this choice looks at the head of the queue. */
RG_INLINE bool rg_looks_at_head(struct rg_queue *queue, u32 choice)
{
	if (queue->unlisted && (choice & 1))
		return 1;
	return RG_OPTION(starvation_limit) && !(choice & (RG_STARVATION_CHOICES - 1));
}

/* A batch thread that has had a turn waits anew; another keeps its arrival. */
RG_INLINE bool rg_has_waited_long(struct rg_thread *thread, u64 now)
{
	if (thread->batch)
		return rg_less(now, thread->queued_at) > RG_STARVATION_NS;
	return rg_less(now, thread->woke_at) > 2 * RG_STARVATION_NS;
}

/*
 * This turn ends the wait: the thread goes to the end of the queue, as if it woke now. At the head
 * it would hide all behind it until its bucket is full, 50 ms in every 16th choice each.
 */
RG_INLINE void rg_wait_anew(struct rg_thread *thread, u64 now)
{
	rg_utilisation_block(thread, now);
	thread->woke_at = now;
	thread->arrival = rg_order_arrival(thread, now);
}

/* Brings the head of the queue if it has waited too long. Its stack is its own. */
RG_SUBPROGRAM bool rg_pick_overdue(s32 cpu, u32 id)
{
	struct rg_cpu *here = rg_cpu(cpu);
	struct task_struct *head = here ? rg_queue_peek(id) : 0;
	struct rg_thread *thread = head ? rg_thread(head) : 0;
	bool late;

	if (!thread)
		return 0;
	late = rg_has_waited_long(thread, here->ask.now);
	if ((!late && !thread->unlisted) || rg_move_thread(id, rg_slot(head)) != RG_MOVED)
		return 0;
	rg_set_next(cpu, head, thread);
	if (late)
		rg_wait_anew(thread, here->ask.now);
	return 1;
}

#endif
