/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. 20 threads do not divide over 16 queues: a thread that shares a CPU with another gets
 *          half of what a thread alone gets, and no placement of threads mends it for long.
 * Rule.    A CPU that has no thread of its own queue behind the target of its domain (target.h)
 *          looks in the domain for a queue in which a thread waits behind it, and pulls one. If
 *          there is none it raises the target and climbs to the next domain (GVTS section 3.1). A
 *          pull evens the time that two queues still need to the target. None is made while what
 *          the queues of the domain need is below a tolerance (GVTS section 3.3). From a queue of
 *          several CPUs a thread is pulled only if the two queues then reach the next target at
 *          nearer times than without. A thread that slept while the least target rose is placed
 *          half an interval before it, as far as it was idle (GVTS section 4). With one
 *          min_vruntime a CPU whose threads are all further ahead than caches may be apart takes
 *          from a queue that is so far behind, however little that needs. Where a set of some CPUs
 *          waits there for this one, 10 ms are far.
 * Why.     Virtual time is global and no migration changes it, so a thread that got less is behind
 *          until it runs, wherever that is. Near CPUs even out often and cheaply, far ones seldom.
 *          The tolerance is for all queues of a look together: queue by queue, as in the paper, lag
 *          with groups was twice as large for two thirds of the pulls. What a pull from a cache
 *          does lasts for an interval: when each CPU that passed the target pulled by what was
 *          behind it alone, two caches of ten threads each swung about each other by 60 ms on ten
 *          pulls a second. Threads that meet sleep again soon, so what a queue of them needs is
 *          within any tolerance. What a queue needs says nothing of a set: its threads cannot go
 *          where the queue has time, and virtual times of sets that are raised (converge.h) are
 *          never as far apart as caches may be.
 * Figure.  docs/reference/policies.md. A service of a group that is due 0.8%, beside 24 threads
 *          that meet, on three caches: 0.8%, 24.8% while a cache that ran it took nothing from
 *          others. Sets over two caches: docs/evidence/production-node.md.
 * Limits.  A look asks 16 CPUs at most. In a larger domain it goes on where the last one ended, and
 *          the target waits until it has been round.
 */
#ifndef RG_BALANCE_GVTS_H
#define RG_BALANCE_GVTS_H

#include "../pick/pick.h"
#include "dwrr.h"
#include "need.h"
#include "steal.h"

#define RG_LOOK 16
#define RG_SETS_APART_NS 10000000 /* of virtual time: how far sets of some CPUs may be */
#define RG_TOLERANCE_PERCENT 30 /* of the interval: GVTS section 4 */
#define RG_BUSY (RG_UTILISATION_ONE - (RG_UTILISATION_ONE >> 5)) /* 31/32 */
#define RG_IDLE (RG_UTILISATION_ONE >> 4)                        /* 1/16 */

/*
 * Brings a thread that needs no more than half of what its queue does, so that both queues then
 * need alike; else the one that needs least.
 */
RG_SUBPROGRAM bool rg_pull_thread(s32 cpu, u32 id, u64 target)
{
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_need *need = here ? &here->needs[0] : 0;
	struct task_struct *t;
	u32 seen = 0;

	if (!need)
		return 0;
	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);
		u64 own = thread ? rg_need_waiting(thread, target) : 0;
		bool fits = own && own < need->total_ns &&
			    (2 * own <= need->total_ns || rg_thread_id(t) == need->last);

		if (fits && rg_may_run_on(t, cpu) && RG_MOVE(t)) {
			rg_set_next(cpu, t, thread);
			return 1;
		}
		if (++seen == RG_SAMPLE)
			break;
	}
	return 0;
}

/*
 * Whether two queues reach a virtual time at nearer moments once the thread of the least vruntime
 * has moved from the one that is asked to the CPU's own.
 */
RG_INLINE bool rg_pull_evens(struct rg_cpu *here, struct rg_queue *queue, u64 next)
{
	struct rg_need *from = &here->needs[0], *to = &here->needs[1];
	u64 time = rg_less(rg_need_time(from, from->total_ns), rg_need_time(to, to->total_ns));
	u64 moved = rg_need_of(queue->least, rg_thread_at(queue->first)->weight, RG_UTILISATION_ONE,
			       next);

	return rg_need_time(from, moved) + rg_need_time(to, moved) < 2 * time;
}

/*
 * Pulls from the queue that another CPU is the first of, if it lags by more than is tolerated.
 * Answers how much more the next queue may lag, RG_NEVER after a pull.
 */
RG_SUBPROGRAM u64 rg_pull_from(s32 cpu, s32 other, u64 target, u64 interval, u64 tolerated_ns)
{
	u32 id = rg_queue_of(other);
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u64 next = target + interval;
	struct rg_need *need;

	if (id == rg_queue_of(cpu) || !here || !queue || queue->cpu != other ||
	    !rg_precedes(queue->least, target))
		return tolerated_ns;
	if (RG_OPTION(balance) == RG_BALANCE_DWRR)
		return rg_dwrr_take(cpu, id, target) ? RG_NEVER : tolerated_ns;
	rg_need_note(cpu, 0, other, target);
	need = &here->needs[0];
	if (need->total_ns < tolerated_ns)
		return tolerated_ns - need->total_ns;
	if (RG_OPTION(pick) == RG_PICK_THREAD)
		return rg_pull_thread(cpu, id, target) ? RG_NEVER : tolerated_ns;
	rg_need_note(cpu, 0, other, next);
	rg_need_note(cpu, 1, cpu, next);
	if (!rg_pull_evens(here, queue, next))
		return tolerated_ns;
	return rg_pick_other(cpu, id) ? RG_NEVER : tolerated_ns;
}

/* The lesser of a vruntime and of the least one that waits in the CPU's queue. */
RG_INLINE u64 rg_gvts_least(s32 cpu, u64 vruntime)
{
	struct rg_queue *queue = cpu < 0 ? 0 : rg_queue(rg_queue_of(cpu));

	return queue ? rg_earliest(vruntime, queue->least) : vruntime;
}

/*
 * Looks for a lagging queue in the domain and pulls. `round` says whether the whole domain has been
 * looked at since a queue was last found to lag; `least` falls to the least vruntime that waits
 * there.
 */
RG_INLINE bool rg_look(s32 cpu, u32 level, struct rg_target *domain, u64 target, u64 *least,
		       bool *round)
{
	u64 interval = rg_interval(level);
	u64 tolerated_ns = rg_div(interval * RG_TOLERANCE_PERCENT, 100);

	RG_FOR(i, 0, RG_LOOK) {
		s32 other;

		if (domain->clear >= domain->cpus)
			break;
		if (domain->cursor >= domain->cpus)
			domain->cursor = 0;
		other = rg_cpu_in(domain->cpu, level, domain->cursor);
		if (other >= 0)
			tolerated_ns = rg_pull_from(cpu, other, target, interval, tolerated_ns);
		if (tolerated_ns == RG_NEVER) {
			domain->clear = 0;
			return 1;
		}
		*least = rg_gvts_least(other, *least);
		domain->cursor++;
		domain->clear++;
	}
	*round = domain->clear >= domain->cpus;
	return 0;
}

/*
 * In dispatch, before the CPU's own queue is asked: whether a lagging thread came from another.
 * Idle CPUs (no prev, no thread waits) are rg_steal's. Where there is one queue, targets only place
 * waking threads.
 */
RG_INLINE bool rg_gvts_before(s32 cpu, struct rg_thread *prev)
{
	struct rg_shared *shared = rg_shared();
	u64 least;

	if (!shared || (shared->queues < 2 && RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_TARGET))
		return 0;
	least = rg_gvts_least(cpu, prev ? prev->account.vruntime : RG_NEVER);
	RG_FOR(level, 0, RG_LEVELS) {
		struct rg_target *domain = rg_target(cpu, level);
		bool round = 0;
		u64 seen, reached = least;

		if (!domain)
			continue;
		seen = domain->at;
		if (least == RG_NEVER || rg_before(least, seen))
			return 0;
		if (rg_look(cpu, level, domain, seen, &reached, &round)) {
			rg_add(&shared->pulls, 1);
			return 1;
		}
		if (!round)
			return 0;
		rg_target_raise(cpu, level, seen, reached);
	}
	return 0;
}

/* The least vruntime that waits in the CPU's queue for this one, which may not run all sets. */
RG_INLINE u64 rg_gvts_least_here(s32 cpu)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(cpu));

	if (queue && queue->waiting >> 1)
		return rg_least_for(cpu, rg_queue_of(cpu));
	return queue ? queue->least : RG_NEVER;
}

/*
 * Whether a thread came from the queue that this CPU was told of, if it is behind all that this CPU
 * has, or from one that is further behind that than one cache may be behind another; `mine` is the
 * vruntime of what it could go on with. Mostly the min_vruntime tells that there is none, but not
 * of sets of CPUs.
 */
RG_SUBPROGRAM bool rg_gvts_pull_behind(s32 cpu, u64 mine)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	u64 least, limit;

	if (!shared || !own)
		return 0;
	least = rg_earliest(rg_earliest(mine, rg_gvts_least_here(cpu)), own->least);
	if (rg_steal_hinted(here, cpu, least))
		return 1;
	limit = least - RG_HELD_BACK_NS;
	if (here->span.beyond >> 1)
		limit = least == RG_NEVER ? RG_NEVER : least - RG_SETS_APART_NS;
	else if (least == RG_NEVER || !rg_before(shared->cpusets[0].vtime.min_vruntime, limit))
		return 0;
	if (!rg_steal_next(here, cpu, shared->queues, 1, limit) &&
	    !rg_steal_next(here, cpu, shared->queues, 0, limit))
		return 0;
	rg_add(&shared->pulls, 1);
	return 1;
}

/* The same in dispatch, where there is another queue. */
RG_INLINE bool rg_gvts_far_behind(s32 cpu, struct rg_thread *prev)
{
	struct rg_shared *shared = rg_shared();

	if (!shared || shared->queues < 2 || RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE)
		return 0;
	return rg_gvts_pull_behind(cpu, prev ? prev->account.vruntime : RG_NEVER);
}

/*
 * Places the vruntime of a waking thread. One that was busy almost without a break keeps what it is
 * owed; one that was hardly ever busy moves up as a whole; between, in part (as GVTS's source).
 */
RG_INLINE void rg_gvts_place(struct rg_account *account, struct rg_thread *thread)
{
	struct rg_shared *shared = rg_shared();
	u32 lowest = rg_target_lowest();
	u64 behind;

	if (!shared || thread->asleep == shared->least_target)
		return;
	behind = rg_lead(shared->least_target - (rg_interval(lowest) >> 1), account->vruntime);
	if (thread->utilised > RG_BUSY)
		return;
	if (thread->utilised >= RG_IDLE)
		behind = (behind >> RG_UTILISATION_BITS) * (RG_UTILISATION_ONE - thread->utilised);
	account->vruntime += behind;
}

/* The thread blocks. */
RG_INLINE void rg_gvts_block(struct rg_thread *thread, u64 now)
{
	struct rg_shared *shared = rg_shared();

	rg_utilisation_block(thread, now);
	if (shared)
		thread->asleep = shared->least_target;
}

#endif
