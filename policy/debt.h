/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. What a thread has received is charged at the weight that it has at the time. A turn at a
 *          weight of 1 would be worth seconds of virtual time, and its group would be without that
 *          thread for as long, even if its siblings slept meanwhile, or its weight rose.
 * Rule.    A charge takes the vruntime of a group's thread no further than an instalment: what a
 *          thread with all the weight of its group below the root gets on by in 100 ms. The rest of
 *          what it has received is a debt in CPU time. When its turn comes it pays an instalment
 *          at its present weight, each time twice as much, and waits on. It neither stays on its
 *          CPU for being batch nor takes a sibling's vruntime meanwhile.
 * Why.     A thread is due the integral of its weight over virtual time; lag is CPU time, which no
 *          change of weight may change (EEVDF's reweight_entity).
 * Figure.  docs/evidence/production-node.md.
 * Limits.  A choice lets 16 threads wait on so; 16 more pay at once. No debt is above a second.
 */
#ifndef RG_DEBT_H
#define RG_DEBT_H

#include "min_vruntime.h"

#define RG_INSTALMENT_NS 100000000ULL
#define RG_DOUBLED 20
#define RG_DEBT_MOST_NS 1000000000ULL

/* What virtual time is worth in CPU time. */
RG_INLINE u64 rg_received(u64 advance, u64 weight)
{
	return (advance >> 6) * (weight >> 4) >> 16;
}

/* What a thread pays at once. */
RG_INLINE u64 rg_instalment(struct rg_thread *thread)
{
	u32 doubled = thread->instalments < RG_DOUBLED ? thread->instalments : RG_DOUBLED;

	return rg_div(RG_INSTALMENT_NS * RG_NORMAL_WEIGHT, thread->top) << doubled;
}

/*
 * The vruntime that a thread goes on with: it pays what it owes, as far as it then stands no more
 * than an instalment ahead of `from`.
 */
RG_INLINE u64 rg_debt_pay(struct rg_thread *thread, u64 from, u64 vruntime)
{
	u64 most = from + rg_instalment(thread);
	u64 all = vruntime + rg_virtual(thread->owes_ns, thread->weight);

	if (!rg_before(vruntime, most))
		return vruntime;
	if (!rg_before(most, all)) {
		thread->owes_ns = 0;
		return all;
	}
	thread->owes_ns -= rg_received(most - vruntime, thread->weight);
	return most;
}

RG_INLINE u64 rg_debt_pay_all(struct rg_thread *thread, u64 vruntime)
{
	vruntime += rg_virtual(thread->owes_ns, thread->weight);
	thread->owes_ns = 0;
	return vruntime;
}

/* Whether what a thread receives may be charged later. */
RG_INLINE bool rg_may_owe(struct rg_thread *thread)
{
	return RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE &&
	       RG_OPTION(fair) == RG_FAIR_THREAD && thread->group;
}

/* Charges the thread; one that was behind the min_vruntime pays up to there in any case. */
RG_INLINE void rg_debt_charge(struct rg_thread *thread, struct rg_vtime *vtime, u64 ran_ns)
{
	u64 vruntime = thread->account.vruntime;
	u64 from = rg_latest(vruntime, vtime->min_vruntime);

	thread->owes_ns += ran_ns;
	if (thread->owes_ns > RG_DEBT_MOST_NS)
		thread->owes_ns = RG_DEBT_MOST_NS;
	thread->instalments = 0;
	thread->account.vruntime = rg_debt_pay(thread, from, vruntime);
}

#endif
