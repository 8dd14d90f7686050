/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Work waits in one queue while the CPUs of another idle.
 * Rule.    A CPU whose queue is empty takes from one that is not: first the one that it was woken
 *          for, then those of its node, then any, until a thread there may run on it. Pick decides
 *          which thread it takes.
 * Why.     What CTS leaves to CFS (section 3, first dimension), in the part that matters for the
 *          tail: no request waits beside an idle CPU.
 * Figure.  docs/reference/policies.md.
 * Limits.  CPUs that are all busy never even out: queues may hold unequal numbers of spinning
 *          threads for ever. Of more than 8 other queues a CPU asks 8 at a time, in turn.
 */
#ifndef RG_BALANCE_STEAL_H
#define RG_BALANCE_STEAL_H

#include "../pick/pick.h"

#define RG_STEAL_ASKED 8

/*
 * Takes a thread from the next few queues, of this node or of the others; of a lesser vruntime than
 * `limit`, RG_NEVER: any.
 */
RG_INLINE bool rg_steal_next(struct rg_cpu *here, s32 cpu, u32 queues, bool near, u64 limit)
{
	u32 node = rg_domain(cpu, RG_LEVEL_NODE);
	u32 own = rg_queue_of(cpu);

	RG_FOR(i, 1, RG_STEAL_ASKED + 1) {
		u32 id = rg_queue_after(own, here->asked + i, queues);
		struct rg_queue *queue = rg_queue(id);

		if (here->asked + i >= queues)
			break;
		if (!queue || !rg_is_waited_in(id) ||
		    (limit != RG_NEVER && !rg_precedes(rg_least_for(cpu, id), limit)))
			continue;
		if ((rg_domain(queue->cpu, RG_LEVEL_NODE) == node) == near &&
		    rg_pick_other(cpu, id))
			return 1;
	}
	return 0;
}

/* Wakes an idle CPU for the threads of a queue; -1: there is none. Answers whether there is. */
RG_INLINE bool rg_wake_for(s32 idle, rg_maybe queue)
{
	struct rg_cpu *cpu = idle < 0 ? 0 : rg_cpu(idle);

	if (!cpu)
		return 0;
	cpu->hint = queue;
	rg_kick(idle, RG_KICK_IDLE);
	return 1;
}

/* Takes a thread from the queue that the CPU was told of, with a `limit` as above. */
RG_INLINE bool rg_steal_hinted(struct rg_cpu *here, s32 cpu, u64 limit)
{
	rg_maybe hint = here->hint;
	u32 id = rg_number(hint);

	here->hint = 0;
	return hint && id != rg_queue_of(cpu) && rg_is_waited_in(id) &&
	       (limit == RG_NEVER || rg_precedes(rg_least_for(cpu, id), limit)) &&
	       rg_pick_other(cpu, id);
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

/* Whether the CPU has taken a thread from another queue. */
RG_INLINE bool rg_steal(s32 cpu)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(cpu);

	if (!shared || !here || shared->queues < 2)
		return 0;
	if (!rg_steal_hinted(here, cpu, RG_NEVER) &&
	    (RG_OPTION(balance) == RG_BALANCE_NONE || !rg_steal_round(here, cpu, shared->queues)))
		return 0;
	rg_add(&shared->pulls, 1);
	return 1;
}

#endif
