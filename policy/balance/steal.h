/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Work waits in one queue while the CPUs of another idle.
 * Rule.    A CPU whose queue is empty takes from one that is not: first the one that it was woken
 *          for, then those of its node, then any, until a thread there may run on it. Pick decides
 *          which thread it takes. Under `gvts` so does one whose threads are all further ahead than
 *          caches may be apart: from a queue of which the least vruntime is so far behind.
 * Why.     What CTS leaves to CFS (section 3, first dimension), in the part that matters for the
 *          tail: no request waits beside an idle CPU. Threads that meet need little CPU time before
 *          they sleep again, so what a queue of them needs is within the tolerance of gvts.h.
 * Figure.  A service of a group that is due 0.8%, beside 24 threads that meet, on three caches:
 *          0.8%, 24.8% while a cache that ran it took nothing from the others.
 * Limits.  CPUs that are all busy never even out: queues may hold unequal numbers of spinning
 *          threads for ever. Of more than 8 other queues a CPU asks 8 at a time, in turn.
 */
#ifndef RG_BALANCE_STEAL_H
#define RG_BALANCE_STEAL_H

#include "../pick/pick.h"

#define RG_STEAL_ASKED 8

/* Whether a thread waits in a queue whose vruntime is less; RG_NEVER: any. */
RG_INLINE bool rg_is_waited_before(struct rg_queue *queue, u64 limit)
{
	return rg_precedes(queue->least, limit) || (limit == RG_NEVER && queue->unlisted);
}

/* Takes a thread of a lesser vruntime than `limit` from the next queues, near ones or others. */
RG_INLINE bool rg_steal_next(struct rg_cpu *here, s32 cpu, u32 queues, bool near, u64 limit)
{
	u32 node = rg_domain(cpu, RG_LEVEL_NODE);
	u32 own = rg_queue_of(cpu);

	RG_FOR(i, 1, RG_STEAL_ASKED + 1) {
		u32 id = rg_queue_after(own, here->asked + i, queues);
		struct rg_queue *queue = rg_queue(id);

		if (here->asked + i >= queues)
			break;
		if (!queue || !rg_is_waited_before(queue, limit))
			continue;
		if ((rg_domain(queue->cpu, RG_LEVEL_NODE) == node) == near &&
		    rg_pick_other(cpu, id))
			return 1;
	}
	return 0;
}

/* Takes a thread from the queue that the CPU was woken for. */
RG_INLINE bool rg_steal_hinted(struct rg_cpu *here, s32 cpu)
{
	rg_maybe hint = here->hint;
	u32 id = rg_number(hint);

	here->hint = 0;
	return hint && id != rg_queue_of(cpu) && rg_is_waited_in(id) && rg_pick_other(cpu, id);
}

/* Looks at the next few queues, near ones first; where that was not all, the CPU asks again. */
RG_INLINE bool rg_steal_round(struct rg_cpu *here, s32 cpu, u32 queues)
{
	if (rg_steal_next(here, cpu, queues, 1, RG_NEVER) ||
	    rg_steal_next(here, cpu, queues, 0, RG_NEVER)) {
		here->asked = 0;
		return 1;
	}
	here->asked += RG_STEAL_ASKED;
	if (here->asked + 1 < queues)
		rg_kick(cpu, RG_KICK_IDLE);
	else
		here->asked = 0;
	return 0;
}

/*
 * A CPU whose threads are all further ahead than one cache may be of another takes one that waits
 * elsewhere; `mine` is the vruntime of what it could go on with. Mostly the min_vruntime tells that
 * there is none.
 */
RG_SUBPROGRAM bool rg_steal_behind(s32 cpu, u64 mine)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(cpu));
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	u64 least, limit;

	if (!shared || !queue || !own)
		return 0;
	least = rg_earliest(mine, rg_earliest(queue->least, own->least));
	limit = least - RG_HELD_BACK_NS;
	if (least == RG_NEVER || !rg_before(shared->cpusets[0].vtime.min_vruntime, limit) ||
	    !(rg_steal_next(here, cpu, shared->queues, 1, limit) ||
	      rg_steal_next(here, cpu, shared->queues, 0, limit)))
		return 0;
	rg_add(&shared->pulls, 1);
	return 1;
}

/* The same, of `thread` or none; where one queue serves all CPUs there is no other. */
RG_INLINE bool rg_steal_ahead(s32 cpu, struct rg_thread *thread)
{
	struct rg_shared *shared = rg_shared();

	if (!shared || shared->queues < 2 || RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE)
		return 0;
	return rg_steal_behind(cpu, thread ? thread->account.vruntime : RG_NEVER);
}

RG_INLINE void rg_steal(s32 cpu)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(cpu);

	if (!shared || !here || shared->queues < 2)
		return;
	if (rg_steal_hinted(here, cpu) ||
	    (RG_OPTION(balance) != RG_BALANCE_NONE && rg_steal_round(here, cpu, shared->queues)))
		rg_add(&shared->pulls, 1);
}

#endif
