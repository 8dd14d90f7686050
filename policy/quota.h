/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A group that has used up its quota may not run, and its threads shall cost the others
 *          nothing meanwhile.
 * Rule.    A thread that wants a CPU is held if one of its groups has no turn for it (budget.h): it
 *          waits apart, in no queue, and counts as asleep. Each group has a list of the threads
 *          that it holds, first come, first served. Its timer, at the beginning of a period or when
 *          an active thread leaves something, lets go as many as may have a turn; they enter
 *          their queue as if they woke. A thread that runs asks at each tick whether it may have
 *          another turn, and joins the end of the list if not.
 * Why.     One list of held threads serves every balance, pick and order, and a queue holds no
 *          thread that may not run. First come, first served, since of a hundred threads that share
 *          a hundredth of a CPU each must have its turn.
 * Figure.  docs/reference/policies.md.
 * Limits.  Quotas of 8 levels, as weights. While a group's budget is small, fewer of its threads
 *          are active than there are CPUs for. A thread that is told to end waits for its turn.
 */
#ifndef RG_QUOTA_H
#define RG_QUOTA_H

#include "budget.h"
#include "weight.h"

/* Whether any group has a quota. */
RG_INLINE bool rg_has_quotas(void)
{
	struct rg_shared *shared = RG_OPTION(quotas) ? rg_shared() : 0;

	return shared && shared->limited;
}

/* The group's timer comes at this moment, or earlier. */
RG_INLINE void rg_quota_timer(u32 at, struct rg_budget *budget, u64 due_at)
{
	if (due_at >= budget->due_at)
		return;
	budget->due_at = due_at;
	rg_group_timer(at, due_at);
}

/* The groups of a thread take off what it has run. */
RG_SUBPROGRAM bool rg_quota_charge(u32 slot, u64 ran_ns)
{
	u32 at = rg_thread_at(slot)->group;
	u64 now = rg_now();

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		if (group->budget.limited)
			rg_budget_settle(&group->budget, now, ran_ns);
		at = group->parent;
	}
	return 1;
}

/* A thread becomes active (1) in its groups, or ceases to be (-1), which may let another go. */
RG_SUBPROGRAM bool rg_quota_count(u32 slot, s32 by)
{
	u32 at = rg_thread_at(slot)->group;
	u64 now = rg_now();

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;
		u32 active;

		if (!at)
			break;
		group = rg_group_at(at);
		active = rg_add(&group->budget.active, by);
		if (by < 0 && group->budget.first && rg_budget_admits(&group->budget, active))
			rg_quota_timer(at, &group->budget, now);
		at = group->parent;
	}
	return 1;
}

RG_INLINE void rg_quota_join(struct rg_thread *thread)
{
	if (!rg_has_quotas() || !thread->group || thread->spends)
		return;
	thread->spends = 1;
	rg_quota_count(thread->slot, 1);
}

RG_INLINE void rg_quota_leave(struct rg_thread *thread)
{
	if (!RG_OPTION(quotas) || !thread->spends)
		return;
	thread->spends = 0;
	rg_quota_count(thread->slot, -1);
}

/* The innermost group that has no turn for the thread; 0: all have. */
RG_SUBPROGRAM u32 rg_quota_holder(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = thread->group;
	u64 now = rg_now();

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_budget *budget;

		if (!at)
			break;
		budget = &rg_group_at(at)->budget;
		if (budget->limited) {
			rg_budget_settle(budget, now, 0);
			if (!rg_budget_admits(budget, budget->active - thread->spends))
				return at;
		}
		at = rg_group_at(at)->parent;
	}
	return 0;
}

/* The same, where there may be one. One that became active before there were quotas counts now. */
RG_INLINE u32 rg_held_by(struct rg_thread *thread)
{
	if (!rg_has_quotas() || !thread->group)
		return 0;
	if (thread->counted)
		rg_quota_join(thread);
	return rg_quota_holder(thread->slot);
}

/* The thread joins the end of a group's list. */
RG_SUBPROGRAM bool rg_held_push(u32 slot, u32 at)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_budget *budget = &rg_group_at(at)->budget;
	struct rg_lock *lock = rg_lock_of(at);

	if (!lock)
		return 0;
	rg_acquire(lock);
	thread->held = rg_some(at);
	thread->next = 0;
	thread->prev = budget->last;
	if (budget->last)
		rg_thread_at(budget->last)->next = slot;
	else
		budget->first = slot;
	budget->last = slot;
	rg_release(lock);
	rg_quota_timer(at, budget, rg_budget_next(budget));
	return 1;
}

/* Under the lock. */
RG_INLINE void rg_held_unlink(struct rg_budget *budget, struct rg_thread *thread)
{
	if (thread->prev)
		rg_thread_at(thread->prev)->next = thread->next;
	else
		budget->first = thread->next;
	if (thread->next)
		rg_thread_at(thread->next)->prev = thread->prev;
	else
		budget->last = thread->prev;
	thread->held = 0;
}

/* A thread that is held leaves its list: another group has it now, or it ends. */
RG_SUBPROGRAM bool rg_held_leave(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = rg_number(thread->held);
	struct rg_lock *lock = rg_lock_of(at);

	if (!lock)
		return 0;
	rg_acquire(lock);
	if (thread->held == rg_some(at))
		rg_held_unlink(&rg_group_at(at)->budget, thread);
	rg_release(lock);
	return 1;
}

/* The first thread of a list leaves it, by slot; 0: there is none. */
RG_SUBPROGRAM u32 rg_held_pop(u32 at)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	struct rg_lock *lock = rg_lock_of(at);
	u32 slot;

	if (!lock)
		return 0;
	rg_acquire(lock);
	slot = budget->first;
	if (slot)
		rg_held_unlink(budget, rg_thread_at(slot));
	rg_release(lock);
	return slot;
}

/* A group's timer is due: the next thread to let go, by slot; 0: no more, until it is due again. */
RG_INLINE u32 rg_quota_due(u32 at)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;

	budget->due_at = RG_NEVER;
	if (!budget->first)
		return 0;
	if (budget->limited) {
		rg_budget_settle(budget, rg_now(), 0);
		if (!rg_budget_admits(budget, budget->active)) {
			rg_quota_timer(at, budget, rg_budget_next(budget));
			return 0;
		}
	}
	return rg_held_pop(at);
}

/* A group has another quota; RG_NEVER: none. */
RG_INLINE void rg_quota_limit(u32 at, u64 quota_ns, u64 period_ns, u64 burst_ns)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	struct rg_shared *shared = rg_shared();
	u32 limited = quota_ns != RG_NEVER;
	u64 now = rg_now();

	if (!shared)
		return;
	rg_add(&shared->limited, limited - budget->limited);
	budget->limited = limited;
	budget->quota_ns = quota_ns;
	budget->period_ns = period_ns;
	budget->burst_ns = burst_ns;
	rg_budget_open(budget, now);
	if (budget->first)
		rg_quota_timer(at, budget, now);
}

#endif
