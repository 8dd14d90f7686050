/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. One slice of a thread of the least weight is worth minutes of the greatest's: its token
 *          leads so far that it would wait as long. The kernel ejects a policy that lets a runnable
 *          thread wait for 30 s. And a thread for which the index had no room must not depend on
 *          CPUs that fall idle.
 * Rule.    Every 16th choice looks at the head of the queue: a batch thread that has waited for
 *          5 s, or another that woke 10 s ago, goes first, for one slice. While threads are not in
 *          the index, every other choice is the head's if it is one of them.
 * Why.     The queue stands by arrival, so its head has waited longest.
 * Figure.  docs/policies.md.
 * Limits.  With more than 1,250 spinning threads a CPU everybody waits so long, and weights give
 *          way to turns. Orders other than fcfs have other heads.
 */
#ifndef RG_PICK_PATIENCE_H
#define RG_PICK_PATIENCE_H

#include "../index/choose.h"
#include "../token.h"

#define RG_PATIENCE_NS 5000000000ULL
#define RG_PATIENCE_CHOICES 16

/* Whether this choice looks at the head of the queue. */
RG_INLINE bool rg_looks_at_head(struct rg_queue *queue, u32 choice)
{
	if (queue->unlisted && (choice & 1))
		return 1;
	return RG_CHOSEN(patience) && !(choice & (RG_PATIENCE_CHOICES - 1));
}

/*
 * A batch thread that has had a turn waits anew. Another keeps its place, so it stays overdue: if
 * it were not, it would hide all behind it.
 */
RG_INLINE bool rg_is_overdue(struct rg_thread *thread, u64 now)
{
	if (thread->batch)
		return thread->unlisted || rg_less(now, thread->queued_at) > RG_PATIENCE_NS;
	return thread->unlisted || rg_less(now, thread->woke_at) > 2 * RG_PATIENCE_NS;
}

/* Brings the head of the queue if it has waited too long. */
RG_INLINE bool rg_pick_overdue(u32 id, struct rg_queue *queue, struct rg_cpu *here)
{
	struct task_struct *head;
	struct rg_thread *thread;

	if (!rg_looks_at_head(queue, here->choices))
		return 0;
	head = rg_queue_peek(id);
	thread = head ? rg_thread(head) : 0;
	if (!thread || !rg_is_overdue(thread, here->ask.now) ||
	    rg_move_thread(id, rg_slot(head)) != RG_MOVED)
		return 0;
	rg_token_bring(here->ask.cpu, head, thread);
	return 1;
}

#endif
