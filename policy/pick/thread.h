/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. The rival to measure against: threads compete one by one, processes are not seen.
 * Rule.    The thread with the least token runs, as in CFS. The queue stands by token, so that is
 *          its first.
 * Why.     Fair to every thread, and blind to the order of arrival.
 * Figure.  docs/policies.md.
 * Limits.  A queued thread's token does not change, so the queue need not be sorted again. Where
 *          the first thread may not run on this CPU, prev is compared with it all the same, and the
 *          first that may is moved.
 */
#ifndef RG_PICK_THREAD_H
#define RG_PICK_THREAD_H

#include "../token.h"

/* A thread was moved: the least token of a queue that stands by token is its first one's. */
RG_INLINE void rg_pick_thread_left(u32 id)
{
	struct task_struct *first = rg_queue_peek(id);
	struct rg_thread *thread = first ? rg_thread(first) : 0;

	rg_queue_set_least(id, thread ? thread->account.token : RG_NEVER);
}

RG_INLINE bool rg_pick_thread(s32 cpu, u32 id, struct task_struct *prev)
{
	struct rg_thread *mine = prev ? rg_thread(prev) : 0;
	struct task_struct *first = rg_queue_peek(id);
	struct rg_thread *thread = first ? rg_thread(first) : 0;

	if (!thread || (mine && mine->account.token <= thread->account.token) || !rg_move_head(id))
		return 0;
	if (rg_queue_peek(id) != first)
		rg_token_bring(cpu, first, thread);
	rg_pick_thread_left(id);
	return 1;
}

#endif
