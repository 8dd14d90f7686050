/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Which process is next, if its threads are to be fair to those of others and first come,
 *          first served among themselves?
 * Rule.    The pool that holds the least token of all runnable threads; its first thread by place
 *          runs, on that token (CTS section 3: "a process having a thread with the minimum vRuntime
 *          value is chosen as the next process").
 * Why.     The sequence of tokens served is the one that a fair scheduler of threads would serve,
 *          so the shares are; only who runs on a token differs.
 * Figure.  docs/policies.md.
 * Limits.  Two visits of the queue, the second up to the thread that is taken: the cost grows with
 *          the threads that wait. What changes between the visits (another CPU takes the thread)
 *          costs a step of order, never a thread.
 */
#ifndef RG_PICK_PROCESS_H
#define RG_PICK_PROCESS_H

#include "../token.h"
#include "patience.h"

/* What the first visit finds: the least token and its holder, and the least of the others. */
struct rg_least {
	struct rg_account *holder;
	u64 pool;
	u64 token;
	u64 second;
};

RG_INLINE void rg_least_offer(struct rg_least *least, struct task_struct *t,
			      struct rg_thread *thread, bool first)
{
	struct rg_account *account = rg_account(t, thread);
	u64 token = first ? 0 : account->token;

	if (token >= least->token) {
		if (token < least->second)
			least->second = token;
		return;
	}
	least->second = least->token;
	least->token = token;
	least->holder = account;
	least->pool = rg_pool(t, thread);
}

/* The winner takes the least token; the queue is left with the others. */
RG_INLINE void rg_pick_settle(s32 cpu, u32 id, struct rg_least *least, struct task_struct *t,
			      struct rg_thread *winner)
{
	rg_token_exchange(rg_account(t, winner), least->holder);
	rg_queue_set_least(id, least->second);
	rg_token_bring(cpu, t, winner);
}

/*
 * Finds the least token among those who may run on this CPU: prev, which is in no queue, and those
 * who wait.
 */
RG_INLINE void rg_pick_least(s32 cpu, u32 id, struct task_struct *prev, struct rg_least *least)
{
	struct rg_thread *thread = prev ? rg_thread(prev) : 0;
	struct task_struct *t;

	if (thread)
		rg_least_offer(least, prev, thread, 0);
	RG_VISIT(t, id) {
		thread = rg_thread(t);
		if (!thread)
			continue;
		if (rg_may_run_on(t, cpu))
			rg_least_offer(least, t, thread, rg_out_of_patience(thread));
		else if (rg_account(t, thread)->token < least->second)
			least->second = rg_account(t, thread)->token;
	}
}

/*
 * Brings the next thread of queue `id` to this CPU. `prev` is a runnable thread of this CPU or 0.
 * Answers whether a thread was moved; if not, prev is the best or there is nobody.
 */
RG_INLINE bool rg_pick_process(s32 cpu, u32 id, struct task_struct *prev)
{
	struct rg_thread *mine = prev ? rg_thread(prev) : 0;
	struct rg_least least = { .token = RG_NEVER, .second = RG_NEVER };
	struct task_struct *t;

	rg_pick_least(cpu, id, prev, &least);
	if (!least.holder)
		return 0;
	if (mine && rg_pool(prev, mine) != least.pool)
		mine = 0;
	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);

		if (!thread || rg_pool(t, thread) != least.pool)
			continue;
		if (mine && mine->place <= thread->place)
			break;
		if (!rg_may_run_on(t, cpu) || !RG_MOVE(t))
			continue;
		rg_pick_settle(cpu, id, &least, t, thread);
		return 1;
	}
	if (mine)
		rg_pick_settle(cpu, id, &least, prev, mine);
	return 0;
}

#endif
