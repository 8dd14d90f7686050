/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Work waits in one queue while the CPUs of another idle.
 * Rule.    A CPU whose queue is empty takes from the nearest queue that is not: those of its cache
 *          first, then of its node, then of the machine; whom it takes is the pick's decision.
 * Why.     What CTS leaves to CFS (section 3, first dimension), in the part that matters for the
 *          tail: no request waits beside an idle CPU.
 * Figure.  docs/policies.md.
 * Limits.  CPUs that are all busy never even out: queues may hold unequal numbers of spinning
 *          threads for ever. Each step asks every CPU of the domain.
 */
#ifndef RG_BALANCE_STEAL_H
#define RG_BALANCE_STEAL_H

#include "../pick/pick.h"

/* Takes from some other queue of the domain on this level. */
RG_INLINE bool rg_steal_within(s32 cpu, u32 level)
{
	u32 own = rg_queue_of(cpu);

	RG_FOR(i, 1, RG_MAX_CPUS) {
		s32 other = rg_cpu_in(cpu, level, i);
		u32 id;

		if (other < 0)
			break;
		id = rg_queue_of(other);
		if (id == own || !rg_queue_length(id))
			continue;
		if (rg_pick_other(cpu, id))
			return 1;
	}
	return 0;
}

RG_INLINE void rg_steal(s32 cpu)
{
	struct rg_shared *shared = rg_shared();

	RG_FOR(level, RG_CHOSEN(scope) + 1, RG_LEVEL_MACHINE + 1) {
		if (!rg_steal_within(cpu, level))
			continue;
		if (shared)
			rg_add(&shared->pulls, 1);
		break;
	}
}

#endif
