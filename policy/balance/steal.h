/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Work waits in one queue while the CPUs of another idle.
 * Rule.    A CPU whose queue is empty takes from one that is not: the one that it was woken for,
 *          else one of its node, else any; whom it takes is the pick's decision.
 * Why.     What CTS leaves to CFS (section 3, first dimension), in the part that matters for the
 *          tail: no request waits beside an idle CPU.
 * Figure.  docs/policies.md.
 * Limits.  CPUs that are all busy never even out: queues may hold unequal numbers of spinning
 *          threads for ever. Of more than 8 other queues a CPU asks 8 at a time, in turn.
 */
#ifndef RG_BALANCE_STEAL_H
#define RG_BALANCE_STEAL_H

#include "../pick/pick.h"

#define RG_STEAL_ASKED 8

RG_INLINE bool rg_has_waiting(u32 id)
{
	struct rg_queue *queue = rg_queue(id);

	return queue && queue->created && queue->least != RG_NEVER;
}

/* A queue where somebody waits, near if possible; itself: none. */
RG_INLINE u32 rg_steal_choice(struct rg_cpu *here, s32 cpu, u32 own, u32 queues)
{
	u32 node = rg_domain(cpu, RG_LEVEL_NODE);
	u32 choice = own;

	RG_FOR(i, 1, RG_STEAL_ASKED + 1) {
		u32 id = rg_queue_after(own, here->asked + i, queues);
		struct rg_queue *queue = rg_queue(id);

		if (here->asked + i >= queues) {
			here->asked = 0;
			return choice;
		}
		if (!queue || !rg_has_waiting(id))
			continue;
		if (choice == own || rg_domain(queue->cpu, RG_LEVEL_NODE) == node)
			choice = id;
		if (rg_domain(queue->cpu, RG_LEVEL_NODE) == node)
			return choice;
	}
	here->asked += RG_STEAL_ASKED;
	return choice;
}

RG_INLINE void rg_steal(s32 cpu)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(cpu);
	u32 own = rg_queue_of(cpu);
	u32 choice;

	if (!shared || !here || shared->queues < 2)
		return;
	choice = here->hint ? here->hint - 1 : own;
	here->hint = 0;
	if (choice == own || !rg_has_waiting(choice))
		choice = rg_steal_choice(here, cpu, own, shared->queues);
	if (choice != own && rg_pick_other(cpu, choice))
		rg_add(&shared->pulls, 1);
}

#endif
