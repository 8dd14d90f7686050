/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A group that has used up its quota may not run, and its threads shall cost the others
 *          nothing meanwhile.
 * Rule.    A thread that wants a CPU is held if one of its groups has no turn for it (budget.h): it
 *          waits in a queue of that group, by the moment since when, which no CPU asks, and counts
 *          as asleep. The group's timer, at the beginning of a period or when an active thread
 *          leaves something, lets go as many as may have a turn; they enter their queue as if they
 *          woke, but for those that were cut off (vruntime.h). A thread that runs asks at the end
 *          of its turn whether it may have another, and is held if not. Not held are threads that
 *          end, and those that were held for RG_HELD_MOST_NS, whatever is left: the debt grows.
 *          A thread whose turn is over gives way to those that are held. Of these brief threads
 *          come first (expect.h).
 * Why.     One queue of held threads serves every balance, pick and order, and other queues hold no
 *          thread that may not run. First come, first served, since of a hundred threads that share
 *          a hundredth of a CPU each must have its turn, before a watchdog misses it.
 * Figure.  docs/reference/policies.md.
 * Limits.  Quotas of 8 levels, as weights. While a group's budget is small, fewer of its threads
 *          are active than there are CPUs for. A thread may be held while it holds a lock of the
 *          kernel.
 */
#ifndef RG_QUOTA_H
#define RG_QUOTA_H

#include "budget.h"
#include "weight.h"

#define RG_HELD_MOST_NS 10000000000ULL /* a third of what sched_ext's watchdog allows */
#define RG_QUOTA_MOST_NS (1ULL << 41) /* what 2,000 CPUs use in the longest period */
#define RG_SWEEP_NS 100000000ULL /* between two looks for threads that end among the held */
#define RG_RETRY_NS 200000ULL
#define RG_LETTING_GO (1ULL << 32) /* of rg_thread.held: a timer has it */
#define RG_CATCH_UP 7 /* an eighth is the batch threads' part: expect.h */
#define RG_AWAITED (1 << 20) /* how often that is looked at */

/* How a thread counts among the active ones of its groups: not, or so, and as brief on a level. */
#define RG_SPENDS 1
#define RG_SPENDS_BRIEFLY(level) (2U << (level))

/* Where a thread shall wait that a timer looks at, if no queue is meant. */
#define RG_HELD_STILL (~1U)
#define RG_HELD_SKIPPED (~0U)

/*
 * Whether a thread may be brief: it has not run for much longer since it woke than it did before.
 * Of an event loop that was held, all that came meanwhile is one burst: so it may run for 7 times
 * as long as it had to wait. One that never slept may be the next spinner.
 */
RG_INLINE bool rg_spends_briefly(struct rg_thread *thread)
{
	u64 mean_ns = thread->burst_mean_ns;
	u64 waited_ns = rg_less(rg_less(rg_now(), thread->wants_at), thread->ran_ns);

	return mean_ns && thread->ran_ns < RG_TURN_NS + 2 * mean_ns + RG_CATCH_UP * waited_ns;
}

/* The class of a thread's bursts, RG_CLASSES: it never slept. */
RG_SUBPROGRAM u32 rg_burst_class(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u64 burst_ns = thread->burst_usual_ns;
	u32 class = 0;

	if (!burst_ns)
		return RG_CLASSES;
	if (burst_ns < thread->ran_ns >> 3)
		burst_ns = thread->ran_ns >> 3;
	burst_ns >>= RG_CLASS_SHIFT;
	RG_FOR(i, 0, RG_CLASSES - 1) {
		if (!(burst_ns >> i))
			break;
		class = i + 1;
	}
	return class;
}

/* Whether a thread is brief, of those for whom a group keeps what they will use (expect.h). */
RG_SUBPROGRAM bool rg_comes_first(u32 slot, u32 at)
{
	struct rg_thread *thread = rg_thread_at(slot);

	return rg_spends_briefly(thread) &&
	       rg_burst_class(slot) < rg_group_at(at)->budget.classes;
}

/* Whether it need not leave theirs to those: also a batch thread that is owed its turn. */
RG_INLINE bool rg_goes_before(struct rg_thread *thread, u32 at)
{
	return rg_opaque(thread->owed || rg_comes_first(thread->slot, at));
}

/* Whether any group has a quota. */
RG_INLINE bool rg_has_quotas(void)
{
	struct rg_shared *shared = RG_OPTION(quotas) ? rg_shared() : 0;

	return shared && shared->limited;
}

/*
 * The group's timer comes at this moment, or earlier; whether it does. Not at once after the last,
 * since a timer that is always due leaves a CPU no time. One that is long overdue is started anew.
 */
RG_INLINE bool rg_quota_timer(u32 at, struct rg_budget *budget, u64 due_at)
{
	u64 now = rg_budget_now(budget);

	if (due_at < budget->came_at + RG_TURN_LEAST_NS)
		due_at = budget->came_at + RG_TURN_LEAST_NS;
	if (due_at >= budget->due_at && rg_less(now, budget->due_at) < RG_SWEEP_NS)
		return 1;
	budget->due_at = due_at;
	if (rg_group_timer(at, rg_less(due_at, now)))
		return 1;
	budget->due_at = RG_NEVER;
	return 0;
}

/* As rg_budget_settle, of a group. The verifier follows it once, and not for each level. */
RG_SUBPROGRAM bool rg_quota_settle(u32 at, u64 ran_ns)
{
	rg_budget_settle(&rg_group_at(at)->budget, ran_ns);
	return 1;
}

/* A thread has run for so long: its groups take that off. */
RG_SUBPROGRAM bool rg_quota_charge(u32 slot, u64 ran_ns)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = thread->group;
	u32 class = rg_burst_class(slot);

	if (ran_ns) {
		thread->held_at = 0;
		thread->owed = 0;
	}
	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		if (group->budget.limited) {
			rg_expect_note(&group->budget, ran_ns, class,
				       rg_opaque(rg_comes_first(slot, at)));
			rg_quota_settle(at, ran_ns);
		}
		at = group->parent;
	}
	return 1;
}

/* As rg_budget_admits. */
RG_SUBPROGRAM bool rg_quota_admits(u32 at, u64 active, u64 brief, bool batch)
{
	return rg_budget_admits(&rg_group_at(at)->budget, active, brief, batch);
}

/* As rg_budget_allows, brought up to date. */
RG_SUBPROGRAM u64 rg_quota_allows(u32 slot, u32 at)
{
	bool batch = !rg_goes_before(rg_thread_at(slot), at);

	rg_quota_settle(at, 0);
	return rg_budget_allows(&rg_group_at(at)->budget, batch);
}

/* Whether the first of the threads that a group holds may have a turn. */
RG_INLINE bool rg_quota_admits_first(u32 at, struct rg_budget *budget)
{
	return budget->held &&
	       rg_quota_admits(at, budget->active, budget->brief, !budget->held_brief);
}

/* A thread becomes active (1) in its groups, or ceases to be (-1), which may let another go. */
RG_SUBPROGRAM bool rg_quota_count(u32 slot, s32 by)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = thread->group;
	u64 now = rg_now();

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_budget *budget;

		if (!at)
			break;
		budget = &rg_group_at(at)->budget;
		if (by > 0 && budget->limited && rg_opaque(rg_comes_first(slot, at)))
			thread->spends |= RG_SPENDS_BRIEFLY(i);
		if (thread->spends & RG_SPENDS_BRIEFLY(i))
			rg_add(&budget->brief, by);
		rg_add(&budget->active, by);
		if (by < 0 && rg_quota_admits_first(at, budget))
			rg_quota_timer(at, budget, now);
		at = rg_group_at(at)->parent;
	}
	return 1;
}

RG_INLINE void rg_quota_join(struct rg_thread *thread)
{
	if (!rg_has_quotas() || !thread->group || thread->spends)
		return;
	thread->spends = RG_SPENDS;
	rg_quota_count(thread->slot, 1);
}

RG_INLINE void rg_quota_leave(struct rg_thread *thread)
{
	if (!RG_OPTION(quotas) || !thread->spends)
		return;
	rg_quota_count(thread->slot, -1);
	thread->spends = 0;
}

/*
 * Whether a group on that level has no turn for a thread. One that had a turn gives way to those
 * that are held, but no brief one to batch threads.
 */
RG_SUBPROGRAM bool rg_quota_refuses(u32 slot, u32 at, u32 level)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_budget *budget = &rg_group_at(at)->budget;
	bool before = rg_goes_before(thread, at);
	u32 spends = thread->spends;

	rg_quota_settle(at, 0);
	if (spends && (before ? budget->held_brief : budget->held))
		return 1;
	return !rg_quota_admits(at, budget->active - !!spends,
				budget->brief - !!(spends & RG_SPENDS_BRIEFLY(level)), !before);
}

/* The innermost group that has no turn for the thread; 0: all have. */
RG_SUBPROGRAM u32 rg_quota_holder(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = thread->group;
	u64 now = rg_now();

	if (thread->held_at && rg_less(now, thread->held_at) > RG_HELD_MOST_NS)
		return 0;
	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		if (group->budget.limited && rg_opaque(rg_quota_refuses(slot, at, i)))
			return at;
		at = group->parent;
	}
	return 0;
}

/* The same, where there may be one. One that became active before there were quotas counts now. */
RG_INLINE u32 rg_held_by(struct task_struct *t, struct rg_thread *thread)
{
	if (!rg_has_quotas() || !thread->group)
		return 0;
	if (thread->counted)
		rg_quota_join(thread);
	return rg_is_ending(t) ? 0 : rg_quota_holder(thread->slot);
}

/* A group holds a thread more or less; how many now. */
RG_INLINE u32 rg_held_count(struct rg_budget *budget, struct rg_thread *thread, s32 by)
{
	rg_add(&budget->held_brief, thread->held_brief ? by : 0);
	return rg_add(&budget->held, by);
}

/*
 * A thread is about to enter the queue of those that a group holds, by the moment since when it is
 * held; 0: it may not, since no timer would let it go. It counts before the timer is looked at, for
 * one that is due now looks at the count last.
 */
RG_SUBPROGRAM bool rg_held_begin(u32 slot, u32 at)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_budget *budget = &rg_group_at(at)->budget;
	u64 now = rg_now();

	if (!thread->held_at)
		thread->held_at = now;
	thread->held_brief = rg_comes_first(slot, at);
	rg_budget_turn(budget, rg_held_count(budget, thread, 1));
	if (!rg_quota_timer(at, budget, rg_budget_look(budget))) {
		rg_held_count(budget, thread, -1);
		return 0;
	}
	rg_swap(&thread->held, (u64)rg_some(at));
	return 1;
}

/* The key among those that are held: brief threads come before batch ones. */
RG_INLINE u64 rg_held_key(struct rg_thread *thread)
{
	return thread->held_at + (thread->held_brief ? 0 : RG_HELD_MOST_NS);
}

/* What holds the thread changes, unless another CPU has changed it; whether it did. */
RG_INLINE bool rg_held_change(struct rg_thread *thread, u64 from, u64 to)
{
	if (rg_compare_and_swap(&thread->held, from, to) != from)
		return 0;
	if (from != RG_LETTING_GO)
		rg_held_count(&rg_group_at(rg_number(from))->budget, thread, -1);
	return 1;
}

/* A thread that was held is enqueued anew, or ends. A timer that lets it go at this moment does. */
RG_SUBPROGRAM bool rg_held_end(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);

	RG_FOR(i, 0, RG_AWAITED) {
		u64 held = rg_compare_and_swap(&thread->held, 0, 0);

		if (!held || (held != RG_LETTING_GO && rg_held_change(thread, held, 0)))
			return 1;
	}
	return 0;
}

/* The group's timer is due. Whether it looks at all threads, for those that end. */
RG_INLINE bool rg_quota_due(u32 at)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	u64 due_at = rg_swap(&budget->due_at, RG_NEVER);
	u64 now;

	if (due_at != RG_NEVER)
		budget->came_at = due_at;
	now = rg_budget_now(budget);
	if (rg_less(now, budget->swept_at) < RG_SWEEP_NS)
		return 0;
	budget->swept_at = now;
	return 1;
}

/* Its timer has let go what it could; `retry`: some thread was not yet where it belongs. */
RG_SUBPROGRAM bool rg_quota_again(u32 at, bool retry)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	u32 held = rg_add(&budget->held, 0);
	u64 now = rg_budget_now(budget);
	u64 due_at = now + RG_SWEEP_NS;

	rg_budget_turn(budget, held);
	if (!held && !retry)
		return 0;
	if (budget->limited) {
		rg_quota_settle(at, 0);
		if (rg_budget_look(budget) < due_at)
			due_at = rg_budget_look(budget);
	}
	if (retry || !budget->limited || rg_quota_admits_first(at, budget) ||
	    due_at < now + RG_RETRY_NS)
		due_at = now + RG_RETRY_NS;
	rg_quota_timer(at, budget, due_at);
	return 1;
}

/*
 * What a thread may run before it is asked again: the least turn of its groups, and next to nothing
 * where one is overdrawn. So little have threads that waited when the quota came, or that were held
 * for long.
 */
RG_SUBPROGRAM u64 rg_quota_turn(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 at = thread->group;
	u64 turn_ns = rg_opaque(RG_TURN_NS);

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;
		u64 allowed_ns = RG_TURN_NS;

		if (!at)
			break;
		group = rg_group_at(at);
		if (group->budget.limited)
			allowed_ns = rg_quota_allows(slot, at);
		if (allowed_ns < turn_ns)
			turn_ns = allowed_ns;
		at = group->parent;
	}
	return turn_ns;
}

/* A CPU is about to run a thread, whose turn may be over before a tick. */
RG_INLINE void rg_turn_begin(s32 at)
{
	struct rg_cpu *cpu = rg_has_quotas() ? rg_cpu(at) : 0;
	struct rg_thread *thread;
	u64 turn_ns;

	if (!cpu)
		return;
	thread = rg_thread_at(cpu->thread);
	cpu->turn = 0;
	if (!cpu->pool || !thread->counted)
		return;
	rg_quota_join(thread);
	turn_ns = rg_quota_turn(cpu->thread);
	if (turn_ns >= RG_TURN_NS)
		return;
	cpu->turn = rg_some(cpu->thread);
	rg_cpu_timer(at, turn_ns);
}

/* A group has another quota; RG_NEVER: none. One of all CPUs limits nothing. */
RG_INLINE void rg_quota_limit(u32 at, u64 quota_ns, u64 period_ns, u64 burst_ns)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	struct rg_shared *shared = rg_shared();
	u32 limited = rg_div(quota_ns, RG_OPTION(cpus)) < period_ns;
	u64 now = rg_now();

	if (!shared)
		return;
	rg_add(&shared->limited, limited - budget->limited);
	budget->limited = limited;
	budget->quota_ns = quota_ns < RG_QUOTA_MOST_NS ? quota_ns : RG_QUOTA_MOST_NS;
	budget->period_ns = period_ns;
	budget->burst_ns = burst_ns < RG_QUOTA_MOST_NS ? burst_ns : RG_QUOTA_MOST_NS;
	rg_budget_open(budget, now);
	if (budget->held)
		rg_quota_timer(at, budget, now);
}

#endif
