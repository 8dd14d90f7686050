/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. As gvts: threads that do not divide over CPUs. What does its topology buy?
 * Rule.    Distributed weighted round-robin (Li, Baumberger, Hahn: PPoPP 2009; GVTS sections 5.1
 *          and 6.2). In each round every thread receives weight x the round interval, 30 ms for a
 *          normal weight. A CPU whose own threads have all used up the round takes threads that
 *          have not from other CPUs. When none are left the next round begins. A waking thread
 *          joins the present round.
 * Why.     The rival of gvts: one flat domain, one interval, no tolerance. So the machinery is
 *          gvts's, and a round is a target of the whole machine. The expired set of a CPU is the
 *          part of its queue beyond the target.
 * Figure.  docs/reference/policies.md.
 * Limits.  Groups are not seen: weights are the threads' own. A short interval moves threads often,
 *          a long one lets them differ by as much. What a thread overruns its round by counts in
 *          the next.
 */
#ifndef RG_BALANCE_DWRR_H
#define RG_BALANCE_DWRR_H

#include "../pick/pick.h"
#include "target.h"

/* Takes the thread that has received least of this round, if it has not used it up. */
RG_INLINE bool rg_dwrr_take(s32 cpu, u32 id, u64 round)
{
	struct task_struct *first = rg_queue_peek(id);
	struct rg_thread *thread = first ? rg_thread(first) : 0;

	return thread && rg_before(thread->account.vruntime, round) && rg_pick_other(cpu, id);
}

/* A waking thread has a full share of the present round at most. */
RG_INLINE void rg_dwrr_place(struct rg_account *account)
{
	struct rg_target *round = rg_target(0, RG_LEVEL_MACHINE);
	u64 interval = RG_OPTION(interval_ns[RG_LEVEL_MACHINE]);

	if (round)
		account->vruntime = rg_latest(account->vruntime, round->at - interval);
}

#endif
