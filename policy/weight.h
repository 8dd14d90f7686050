/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Shares are promised to groups, which may hold any number of threads and further groups;
 *          virtual time is per thread.
 * Rule.    A thread's virtual time advances by CPU time / effective weight, which is its weight /
 *          the sum of the active weights in its group x the group's effective weight, and so on up
 *          to the root (GVTS section 3.4).
 * Why.     One number a thread, so that one queue serves any nesting; the sums change only when
 *          somebody wakes or sleeps. The root's members keep their own weight instead of a share of
 *          1: virtual time without groups is then what CFS's is.
 * Figure.  Groups of 8 and 12 threads share evenly within 1%: docs/policies.md.
 * Limits.  8 levels below the root; a thread that runs while its group changes is charged at the
 *          weight of the last tick.
 */
#ifndef RG_WEIGHT_H
#define RG_WEIGHT_H

#include "state.h"

#define RG_DEPTH 8
#define RG_NORMAL_WEIGHT 100
#define RG_WEIGHT_ONE 65536 /* effective weights are in fractions of this */

/*
 * A member of this weight begins; answers what the group itself must now add to its parent, 0 if it
 * was active already.
 */
RG_INLINE u64 rg_share_join(struct rg_share *share, u64 weight, u64 own)
{
	if (rg_add(&share->active, weight) != weight)
		return 0;
	share->counted = own;
	return own;
}

/* A member of this weight ceases; answers what the group itself must take from its parent. */
RG_INLINE u64 rg_share_leave(struct rg_share *share, u64 weight)
{
	return rg_add(&share->active, -weight) ? 0 : share->counted;
}

RG_INLINE u32 rg_depth(struct task_struct *t)
{
	u32 depth = 0;

	RG_FOR(i, 1, RG_DEPTH + 1) {
		if (!rg_group(t, i))
			break;
		depth = i;
	}
	return depth;
}

/*
 * The thread's active weight enters the sums of its groups, the innermost first, as far as they
 * were not active. Answers whether the account that it is charged to was idle: always its own, its
 * process's (which then counts as one member) if nobody else was active.
 */
RG_INLINE bool rg_weight_join(struct task_struct *t, struct rg_thread *thread)
{
	u64 weight = thread->counted = rg_weight(t);
	struct rg_process *process = rg_process(t);
	u32 depth = rg_depth(t);
	bool first;

	if (RG_CHOSEN(fair) == RG_FAIR_PROCESS && process)
		weight = rg_share_join(&process->share, weight, weight);
	first = weight;
	RG_FOR(i, 0, depth) {
		struct rg_group *group = rg_group(t, depth - i);

		if (!weight || !group)
			break;
		weight = rg_share_join(&group->share, weight, rg_group_weight(t, depth - i));
	}
	return first;
}

RG_INLINE void rg_weight_leave(struct task_struct *t, struct rg_thread *thread)
{
	u64 weight = thread->counted;
	struct rg_process *process = rg_process(t);
	u32 depth = rg_depth(t);

	thread->counted = 0;
	if (RG_CHOSEN(fair) == RG_FAIR_PROCESS && process)
		weight = rg_share_leave(&process->share, weight);
	RG_FOR(i, 0, depth) {
		struct rg_group *group = rg_group(t, depth - i);

		if (!weight || !group)
			break;
		weight = rg_share_leave(&group->share, weight);
	}
}

/* The effective weight of an active thread at present, at least 1 / RG_WEIGHT_ONE. */
RG_INLINE u64 rg_weight_effective(struct task_struct *t)
{
	u64 weight = (u64)rg_weight(t) * RG_WEIGHT_ONE;

	RG_FOR(depth, 1, RG_DEPTH + 1) {
		struct rg_group *group = rg_group(t, depth);

		if (!group)
			break;
		weight = rg_div(weight * rg_group_weight(t, depth), group->share.active);
	}
	return weight ? weight : 1;
}

/* CPU time as virtual time. Exact up to 45 minutes at once. */
RG_INLINE u64 rg_virtual(u64 ran_ns, u64 weight)
{
	return rg_div(ran_ns * RG_NORMAL_WEIGHT * RG_WEIGHT_ONE, weight);
}

#endif
