/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Shares are promised to groups, which may hold any number of threads and further groups;
 *          virtual time is per thread.
 * Rule.    A thread's virtual time advances by CPU time / effective weight. That is its weight /
 *          the sum of the active weights in its group x the group's effective weight, and so on up
 *          to the root (GVTS section 3.4).
 * Why.     One number a thread, so that one queue serves any nesting. The sums change only when a
 *          thread wakes or sleeps. The root's members keep their own weight instead of a share of
 *          1: virtual time without groups is then what CFS's is. Threads weigh what they do in the
 *          default class; sched_ext's own weights make 1 of nice 19 instead of 1.46.
 * Figure.  Groups of 8 and 12 threads share evenly within 1%: docs/reference/policies.md.
 * Limits.  8 levels below the root. A thread that runs while its group changes is charged at the
 *          weight of the last tick.
 */
#ifndef RG_WEIGHT_H
#define RG_WEIGHT_H

#include "state.h"

#define RG_DEPTH 8
#define RG_NORMAL_WEIGHT 1024 /* of a thread at nice 0, and of a group by default */
#define RG_NORMAL_CPU_WEIGHT 100
#define RG_IDLE_GROUP_WEIGHT 3 /* as the default class's (WEIGHT_IDLEPRIO) */
#define RG_WEIGHT_ONE 65536         /* effective weights are in fractions of this */
#define RG_WEIGHT_MOST (1ULL << 62) /* of a sum: above, it is below 0 */
#define RG_SETTLE_TRIES 4
#define RG_OWED_NS 50000000ULL
#define RG_VTIME_OF_ALL rg_some(0) /* of threads that may run on all CPUs */
#define RG_TOP_SHIFT 6
#define RG_OFF_SHIFT 10
#define RG_VIRTUAL_MOST_NS (1ULL << 36) /* at the least weight a quarter of where it wraps */
#define RG_OFF_PARTS (1 << RG_OFF_SHIFT)

/* The group's own weight among its siblings, which are groups and threads. */
RG_INLINE u64 rg_weight_of(struct rg_group *group)
{
	if (group->idle)
		return RG_IDLE_GROUP_WEIGHT;
	return rg_div((u64)group->weight * RG_NORMAL_WEIGHT, RG_NORMAL_CPU_WEIGHT);
}

/*
 * Lets the group count in its parent if and only if a member is active; answers by how much the
 * parent's sum must change. Looks again after it has counted, because members of several CPUs may
 * come and go meanwhile: the last look sees the truth.
 */
RG_INLINE u64 rg_share_settle(struct rg_group *group)
{
	u64 change = 0;

	RG_FOR(i, 0, RG_SETTLE_TRIES) {
		u64 due = group->share.active ? rg_weight_of(group) : 0;

		change += due - rg_swap(&group->share.counted, due);
		if (due == (group->share.active ? rg_weight_of(group) : 0))
			break;
	}
	return change;
}

/*
 * Changes the sum of a group by what a member adds or takes, and those of the groups above as far
 * as they begin or cease to be active.
 */
RG_SUBPROGRAM bool rg_weight_change(u32 at, u64 change)
{
	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;
		u64 sum;

		if (!at || !change)
			break;
		group = rg_group_at(at);
		sum = rg_add(&group->share.active, change);
		if (sum && sum != change)
			break;
		change = rg_share_settle(group);
		at = group->parent;
	}
	return 1;
}

/*
 * The thread becomes active. Answers whether the account that it is charged to was idle: always its
 * own, its process's (which then counts as one member) if no other was active.
 */
RG_INLINE bool rg_weight_join(struct task_struct *t, struct rg_thread *thread)
{
	u64 weight = thread->counted = rg_weight(t);
	struct rg_process *process = RG_OPTION(fair) == RG_FAIR_PROCESS ? rg_process(t) : 0;

	if (process && rg_add(&process->share.active, weight) != weight)
		return 0;
	if (process)
		process->share.counted = weight;
	rg_weight_change(thread->group, weight);
	return 1;
}

RG_INLINE void rg_weight_leave(struct task_struct *t, struct rg_thread *thread)
{
	u64 weight = thread->counted;
	struct rg_process *process = RG_OPTION(fair) == RG_FAIR_PROCESS ? rg_process(t) : 0;

	thread->counted = 0;
	if (process && rg_add(&process->share.active, -weight))
		return;
	if (process)
		weight = process->share.counted;
	rg_weight_change(thread->group, -weight);
}

/*
 * The sum of the active weights in the group of a member, as far as it can be: for a moment, while
 * other CPUs change it, it may not even hold the member.
 */
RG_INLINE u64 rg_weight_sum_of(u64 active, u64 member)
{
	return active > member && active < RG_WEIGHT_MOST ? active : member;
}

/* Whether a group has received less than its due: its surplus is below 0. */
RG_INLINE bool rg_is_owed(struct rg_group *group)
{
	return group->surplus_ns > RG_NEVER >> 1;
}

/* Parts of RG_OFF_PARTS: how far something is past a tolerance, within a window. */
RG_INLINE u64 rg_parts_past(u64 off_ns, u64 tolerance_ns, u64 window_ns)
{
	u64 parts = rg_div(rg_less(off_ns, tolerance_ns) << RG_OFF_SHIFT, window_ns);

	return parts < RG_OFF_PARTS ? parts : RG_OFF_PARTS;
}

/*
 * What a group may be owed and weigh no more: so far virtual time jumps where it is held back, and
 * the further the more CPUs there are.
 */
RG_INLINE u64 rg_owed_tolerance(void)
{
	return RG_OWED_NS * (1 + RG_OPTION(cpus));
}

/* How much heavier the members of a group are, in parts of RG_OFF_PARTS; 0 unless it is owed. */
RG_INLINE u64 rg_owed_parts(struct rg_group *group)
{
	if (!rg_is_owed(group))
		return 0;
	return rg_parts_past(-group->surplus_ns, rg_owed_tolerance(), rg_owed_tolerance());
}

/*
 * What a member's part of its group's weight becomes while the group is owed (surplus.h): more and
 * more, at last all of it. By the square, because the least are lifted a thousandfold. A subgroup
 * is lifted as one: its members keep to their weights. Verified by itself: loops ask for it.
 */
RG_SUBPROGRAM u64 rg_owed_part(u32 id, u64 own, u64 sum, u64 part)
{
	u64 parts = rg_owed_parts(rg_group_at(id));

	parts = parts * parts >> RG_OFF_SHIFT;
	return rg_div(part * (own + (rg_less(sum, own) * parts >> RG_OFF_SHIFT)), own);
}

/* What a member weighs whose group has received too much: less and less, at last almost nothing. */
RG_INLINE u64 rg_surplus_weight_in(struct rg_group *group, u64 weight)
{
	u64 tolerance_ns = group->tolerance_ns;
	u64 parts = rg_parts_past(group->surplus_ns, tolerance_ns, tolerance_ns);

	return weight - ((weight * parts >> RG_OFF_SHIFT) * 15 >> 4);
}

/* The same of all groups of a thread. Only batch threads pay for their group by their weight. */
RG_INLINE u64 rg_surplus_weight(struct rg_thread *thread, u64 weight)
{
	u32 at = thread->batch ? thread->group : 0;

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		if (!rg_is_owed(group))
			weight = rg_surplus_weight_in(group, weight);
		at = group->parent;
	}
	return weight;
}

/*
 * Brings the effective weight of an active thread up to date: at least 1 / RG_WEIGHT_ONE. What a
 * group with CPUs of its own cannot have there others shall not wait for.
 */
RG_SUBPROGRAM bool rg_weight_refresh_row(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	bool is_free = thread->account.vtime == RG_VTIME_OF_ALL;
	u64 own = thread->counted;
	u64 weight = own * RG_WEIGHT_ONE;
	u32 at = RG_OPTION(balance) == RG_BALANCE_DWRR ? 0 : thread->group;

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;
		u64 sum;

		if (!at)
			break;
		group = rg_group_at(at);
		sum = rg_weight_sum_of(group->share.active, own);
		weight = rg_div(weight * rg_weight_of(group), sum);
		if (is_free && rg_is_owed(group))
			weight = rg_owed_part(at, own, sum, weight);
		own = rg_weight_of(group);
		at = group->parent;
	}
	if (!own)
		return 0;
	weight = rg_surplus_weight(thread, weight);
	thread->weight = weight ? weight : 1;
	thread->top -= thread->top >> RG_TOP_SHIFT;
	if (own > thread->top)
		thread->top = own;
	return 1;
}

RG_INLINE void rg_weight_refresh(struct rg_thread *thread)
{
	rg_weight_refresh_row(thread->slot);
}

/*
 * CPU time as virtual time. More than 68 s at once, of a CPU that has its tick off, count as 68 s.
 */
RG_INLINE u64 rg_virtual(u64 ran_ns, u64 weight)
{
	if (ran_ns > RG_VIRTUAL_MOST_NS)
		ran_ns = RG_VIRTUAL_MOST_NS;
	return rg_div(ran_ns * RG_NORMAL_WEIGHT * RG_WEIGHT_ONE, weight);
}

#endif
