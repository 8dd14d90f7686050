/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. How does a scheduler stay fair without virtual time?
 * Rule.    Xen's credits (xen/common/sched_credit.c; Cherkasova, Gupta, Vahdat 2007; GVTS section
 *          6.2). Every 30 ms the CPU time of 30 ms on all CPUs is given out as credit, by weight:
 *          to groups, and inside a group to its active threads. Running burns it. A thread earns
 *          from the moment on at which a tick, one in 10 ms, finds it running, and until it holds
 *          30 ms. A sleeper keeps half of that. A debt ends at 30 ms. A thread earns no more than
 *          it could use: a weight counts no more than brings each active thread a CPU.
 * Why.     The rival with accurate fairness and limited scalability (GVTS Table 1). Xen walks all
 *          active threads under one lock. Here the account says what a unit of weight has earned,
 *          and a thread collects when it is looked at. A thread that hardly runs does not earn:
 *          else the kernel's own threads, which have the greatest weight and run for 20 us a time,
 *          would take the credit that tells the others' weights apart.
 * Figure.  docs/reference/policies.md.
 * Limits.  Groups are flat, as in Xen: all below a child of the root belong to it. What a sleeping
 *          thread earns is taken off what is given out after it wakes.
 */
#ifndef RG_BALANCE_CREDITS_H
#define RG_BALANCE_CREDITS_H

#include "../weight.h"

#define RG_CREDITS_NS 30000000ULL
#define RG_CREDITS_TICK_NS 10000000ULL
#define RG_CREDIT_ZERO (64 * RG_CREDITS_NS)
#define RG_EARNED_BITS 23 /* of the fraction of what a unit of weight has earned */

/* The child of the root that holds the thread; 0: the thread is one itself. */
RG_INLINE struct rg_group *rg_credits_group(struct rg_thread *thread)
{
	struct rg_group *group = 0;
	u32 at = thread->group;

	RG_FOR(i, 0, RG_DEPTH) {
		if (!at)
			break;
		group = rg_group_at(at);
		at = group->parent;
	}
	return group;
}

/*
 * What a child of the root with so many active threads may count: no more than brings them a CPU
 * each, since they could not use it; the others share the rest. While there is a CPU for each
 * thread there is nothing to share.
 */
RG_INLINE u64 rg_credits_feasible(struct rg_shared *shared, u64 weight, u64 others, u32 threads)
{
	u32 cpus = RG_OPTION(cpus);
	u64 most;

	if (shared->active <= cpus || threads >= cpus)
		return weight;
	most = rg_div(others * threads, cpus - threads);
	return most < weight ? most : weight;
}

/* A child of the root counts anew; without threads not at all. */
RG_INLINE void rg_credits_count(u64 *credited, u64 weight, u32 threads)
{
	struct rg_shared *shared = rg_shared();
	u64 now = 0;

	if (!shared)
		return;
	if (threads)
		now = rg_credits_feasible(shared, weight * RG_WEIGHT_ONE,
					  rg_less(shared->sharing, *credited), threads);
	rg_add(&shared->sharing, now - rg_swap(credited, now));
}

/* By how much of what is given out the thread's credit grows, in 1/RG_WEIGHT_ONE. */
RG_INLINE u64 rg_credits_weight(struct task_struct *t, struct rg_thread *thread)
{
	struct rg_group *group = rg_credits_group(thread);
	u64 weight = rg_weight(t);

	if (group) {
		rg_credits_count(&group->credited, rg_weight_of(group), group->threads);
		return rg_div(weight * group->credited, rg_weight_sum_of(group->members, weight));
	}
	if (!thread->counted)
		return weight * RG_WEIGHT_ONE;
	rg_credits_count(&thread->credited, weight, 1);
	return thread->credited;
}

/* A thread of this weight becomes active, or ceases to be: then it is so much below 0. */
RG_INLINE void rg_credits_change(struct rg_thread *thread, u64 weight, u32 threads)
{
	struct rg_group *group = rg_credits_group(thread);
	struct rg_shared *shared = rg_shared();
	u64 credit = thread->credit - RG_CREDIT_ZERO;

	if (!shared)
		return;
	rg_add(&shared->active, (s32)threads);
	rg_add(&shared->balance, threads == 1 ? credit : -credit);
	if (!group) {
		rg_credits_count(&thread->credited, weight, threads == 1);
		return;
	}
	rg_add(&group->members, weight);
	rg_credits_count(&group->credited, rg_weight_of(group), rg_add(&group->threads, threads));
}

/* Gives out the credits of a period that has ended: the first CPU that finds so does. */
RG_INLINE void rg_credits_give(struct rg_shared *shared)
{
	u64 now = rg_now();
	u64 due = shared->credits_at;
	u64 total = RG_OPTION(cpus) * RG_CREDITS_NS;

	if (now < due || rg_compare_and_swap(&shared->credits_at, due, now + RG_CREDITS_NS) != due)
		return;
	if (shared->balance > RG_NEVER >> 1)
		total -= shared->balance;
	total = rg_less(total, rg_swap(&shared->advanced, 0));
	rg_add(&shared->balance, total);
	rg_add(&shared->earned, rg_div(total << RG_EARNED_BITS, shared->sharing));
}

/* Bounds a credit; what is lost by that is lost to the balance, too. */
RG_INLINE u64 rg_credits_bound(struct rg_thread *thread, u64 credit)
{
	if (credit > RG_CREDIT_ZERO + RG_CREDITS_NS) {
		thread->earns = 0;
		return RG_CREDIT_ZERO + RG_CREDITS_NS;
	}
	if (credit < RG_CREDIT_ZERO - RG_CREDITS_NS)
		return RG_CREDIT_ZERO - RG_CREDITS_NS;
	return credit;
}

/* The thread collects what it has earned since it was last settled. */
RG_SUBPROGRAM bool rg_credits_settle(struct task_struct *t RG_TRUSTED)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();
	u64 weight, change, bounded;

	if (!thread || !shared)
		return 0;
	bounded = thread->credit;
	rg_credits_give(shared);
	change = shared->earned - rg_swap(&thread->earned, shared->earned);
	if (!change)
		return 0;
	weight = rg_credits_weight(t, thread);
	if (weight && change > rg_div(1ULL << 62, weight))
		change = rg_div(1ULL << 62, weight);
	change = change * weight >> RG_EARNED_BITS;
	if (thread->earns)
		bounded = rg_credits_bound(thread, thread->credit + change);
	if (thread->counted)
		rg_add(&shared->balance, bounded - thread->credit - change);
	else
		rg_add(&shared->advanced, bounded - thread->credit);
	thread->credit = bounded;
	return 1;
}

RG_INLINE void rg_credits_burn(struct task_struct *t, struct rg_thread *thread, u64 ran_ns)
{
	struct rg_shared *shared = rg_shared();

	rg_credits_settle(t);
	if (ran_ns > thread->credit)
		ran_ns = thread->credit;
	thread->credit -= ran_ns;
	if (shared)
		rg_add(&shared->balance, -ran_ns);
}

/* Whether it has had more than it earned. A thread that does not earn owes nothing. */
RG_INLINE bool rg_credits_owes(struct rg_thread *thread)
{
	return thread->earns && thread->credit < RG_CREDIT_ZERO;
}

/* A new thread has no credit and no debt, and no tick has met it. */
RG_INLINE void rg_credits_open(struct rg_thread *thread)
{
	struct rg_shared *shared = rg_shared();

	thread->credit = RG_CREDIT_ZERO;
	thread->earned = shared ? shared->earned : 0;
}

/* A thread wakes, before it counts. One that has slept to the bound has half of it. */
RG_INLINE void rg_credits_wake(struct task_struct *t, struct rg_thread *thread)
{
	rg_credits_settle(t);
	if (thread->credit == RG_CREDIT_ZERO + RG_CREDITS_NS)
		thread->credit -= RG_CREDITS_NS >> 1;
	thread->boosted = !rg_credits_owes(thread);
}

/* A tick meets the thread: one in 10 ms is the account's. It ends a boost; the thread earns. */
RG_INLINE void rg_credits_tick(struct rg_cpu *cpu, struct rg_thread *thread)
{
	u64 ticks = rg_div(rg_now(), RG_CREDITS_TICK_NS);

	if (ticks == cpu->ticks)
		return;
	cpu->ticks = ticks;
	thread->boosted = 0;
	thread->earns = 1;
}

#endif
